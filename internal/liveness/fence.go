package liveness

import (
	"sync"
	"time"
)

// Fence ends what a worker runs once Redis may have given its jobs to others without its knowing: see
// WorkerOptions.FenceAfter. It counts from the moment at which the last heartbeat that was answered had been sent: what
// Redis grants with it ends no earlier than that. It may be called concurrently; a nil one never falls.
type Fence struct {
	after time.Duration // 0 is never
	fall  func() int
	tell  func(silence time.Duration, jobs int)

	mu    sync.Mutex
	heard time.Time   // when the last heartbeat that was answered had been sent; zero before the first
	timer *time.Timer // nil before the first
	down  bool
	cut   int // runs that it has ended and nobody was told of
}

// NewFence makes one that falls after such a silence, or never where that is 0. fall ends what runs, and returns how
// many runs that are; whoever asks IsDown may be the one that calls it. tell is called in a goroutine of its own.
func NewFence(after time.Duration, fall func() int, tell func(silence time.Duration, jobs int)) *Fence {
	return &Fence{after: after, fall: fall, tell: tell}
}

// Answered notes that a heartbeat was answered that had been sent then.
func (f *Fence) Answered(sent time.Time) {
	if f.after == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !sent.After(f.heard) {
		return
	}
	f.heard = sent
	left := f.after - time.Since(sent)
	f.down = f.down && left <= 0 // the answer may come too late: this process was paused in between
	if f.timer == nil {
		f.timer = time.AfterFunc(left, f.ring)
		return
	}
	f.timer.Reset(left)
}

// IsDown tells whether nothing may run. It looks at the clock itself: after a pause of the process, whoever asks first
// ends what runs, and the timer need not have rung.
func (f *Fence) IsDown() bool {
	if f == nil || f.after == 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.down && f.timer != nil && time.Since(f.heard) >= f.after {
		f.down = true
		f.cut += f.fall()
	}
	return f.down
}

// ring is called when the time is over, unless an answer came in between. Only it tells others: whoever asks IsDown may
// be a handler, which is not to run the observers.
func (f *Fence) ring() {
	if !f.IsDown() {
		return
	}
	f.mu.Lock()
	silence, jobs := time.Since(f.heard), f.cut
	f.cut = 0
	f.mu.Unlock()
	f.tell(silence, jobs)
}

// Stop ends the timer.
func (f *Fence) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
	}
}

// Age makes the last answer older, as if the process had been paused for so long without its timers: tests have no
// other way to let time pass.
func (f *Fence) Age(by time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard = f.heard.Add(-by)
}
