package lazyctx

import (
	"context"
	"sync"
	"time"
)

// Bounded is a ctx with a deadline of its own, for a call that nearly always ends long before it. It has no timer and
// no channel until somebody asks for one: who goes by the deadline itself, as sockets can, and needs to know of an
// earlier end only, watches it. It is ready once its exported fields are set, and must not be copied.
type Bounded struct {
	Parent context.Context
	Until  time.Time    // that of the parent counts as well
	Cause  func() error // of an end by Until

	mu      sync.Mutex
	inner   context.Context // nil until somebody asks
	cancel  context.CancelFunc
	ended   bool
	watcher Watcher
	unwatch func() bool // of the parent; nil where that never ends
}

// Watcher is told when a ctx has ended before its deadline.
type Watcher interface{ Ended() }

// Watch has somebody told, once, when the ctx ends otherwise than by Until, and at once where it has. There is one
// watcher at a time.
func (b *Bounded) Watch(w Watcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		go w.Ended()
		return
	}
	b.watcher = w
	if b.Parent.Done() != nil {
		b.unwatch = context.AfterFunc(b.Parent, w.Ended)
	}
}

// Unwatch ends a watch. It returns false where the watcher was told, or is just being told.
func (b *Bounded) Unwatch() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	quiet := b.watcher != nil
	if b.unwatch != nil {
		quiet = b.unwatch() && quiet
	}
	b.watcher, b.unwatch = nil, nil
	return quiet
}

// End ends the ctx. It waits for nobody.
func (b *Bounded) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watcher != nil {
		go b.watcher.Ended()
	}
	b.ended, b.watcher = true, nil
	if b.inner != nil {
		b.cancel()
	}
}

// Deadline is Until, or that of the parent if it comes first.
func (b *Bounded) Deadline() (time.Time, bool) {
	if its, has := b.Parent.Deadline(); has && its.Before(b.Until) {
		return its, true
	}
	return b.Until, true
}

// Done returns a channel that is closed when the ctx ends.
func (b *Bounded) Done() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ask().Done()
}

// Err returns nil until the ctx has ended.
func (b *Bounded) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inner == nil && !b.ended && b.Parent.Err() == nil && time.Now().Before(b.Until) {
		return nil
	}
	err := b.ask().Err() // which has the cause as well
	if err == nil {
		err = b.Parent.Err() // inner is about to hear of it
	}
	if err == nil && !time.Now().Before(b.Until) {
		return context.DeadlineExceeded // its timer is about to say so
	}
	return err
}

// Value returns what the parent has.
func (b *Bounded) Value(key any) any {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inner != nil {
		return b.inner.Value(key)
	}
	return b.Parent.Value(key)
}

// ask makes the ctx that does what Done promises. mu is held.
func (b *Bounded) ask() context.Context {
	if b.inner == nil {
		b.inner, b.cancel = context.WithDeadlineCause(b.Parent, b.Until, b.Cause())
		if b.ended {
			b.cancel()
		}
	}
	return b.inner
}
