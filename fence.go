package work

import (
	"github.com/265d0351/work/event"
	"sync"
	"time"
)

// fence ends what a worker runs once Redis may have given its jobs to others without its knowing: see
// WorkerOptions.FenceAfter. It goes by the monotonic clock of this process, and counts from the moment at which the
// last heartbeat that was answered had been sent: what Redis grants with it ends no earlier than that.
type fence struct {
	after time.Duration // 0 is never
	fall  func() int    // ends what runs, and returns how many runs that are
	tell  func(silence time.Duration, jobs int)

	mu    sync.Mutex
	heard time.Time   // when the last heartbeat that was answered had been sent; zero before the first
	timer *time.Timer // nil before the first
	down  bool
	cut   int // runs that it has ended and nobody was told of
}

// answered notes that a heartbeat was answered that had been sent then.
func (f *fence) answered(sent time.Time) {
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

// isDown tells whether nothing may run. It looks at the clock itself: after a pause of the process, whoever asks first
// ends what runs, and the timer need not have rung.
func (f *fence) isDown() bool {
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

// ring is called when the time is over, unless an answer came in between. Only it tells others: whoever asks isDown may
// be a handler, which is not to run the observers.
func (f *fence) ring() {
	if !f.isDown() {
		return
	}
	f.mu.Lock()
	silence, jobs := time.Since(f.heard), f.cut
	f.cut = 0
	f.mu.Unlock()
	f.tell(silence, jobs)
}

// stop ends the timer.
func (f *fence) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
	}
}

// heard notes that Redis has answered a heartbeat, or a registration, that was sent then.
func (w *worker) heard(sent time.Time) {
	was := w.fence.isDown()
	w.fence.answered(sent)
	if was && !w.fence.isDown() {
		w.nudged.give() // the fetcher rests until now
	}
}

// cutOff ends the ctx of all that the worker runs under its present identity, which it keeps: perhaps nobody has taken
// it away. What runs later has a ctx of its own.
func (w *worker) cutOff() int {
	c := w.claimant()
	c.renew(ErrFenced)
	return len(c.runs())
}

// tellCutOff tells of it, and of the handlers that do not heed it.
func (w *worker) tellCutOff(silence time.Duration, jobs int) {
	held := w.claimant().runs()
	time.AfterFunc(w.stuckAfter, func() {
		for _, r := range held {
			if r.cutOff() {
				r.reportStuck(ErrFenced)
			}
		}
	})
	w.events.emit(event.WorkerCutOff{Worker: w.claimant().rdb.ID, Silence: silence, Jobs: jobs})
}

// turnAwayFenced gives a run back that has not begun when others may have its job, and tells whether it did.
func (w *worker) turnAwayFenced(r *run) bool {
	if !w.fence.isDown() && !r.cutOff() {
		return false
	}
	w.conclude(r, decision{verb: verbRelease})
	return true
}
