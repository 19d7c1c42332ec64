// Package lifecycle gives every background loop the same life: started once, stopped by its ctx, waited for.
package lifecycle

import (
	"context"
	"runtime/debug"
	"sync"
	"time"
)

// Loop is one goroutine with an owner. Its zero value with Run set is ready. Start, Stop and Done may be called in any
// order, any number of times, from any goroutine: a loop stopped before its start never starts.
type Loop struct {
	Run     func(ctx context.Context)              // returns soon after ctx ends
	Panic   func(value any, stack []byte)          // is told what a panic was; nil drops it
	Restart func(panics int) (after time.Duration) // how long to wait before Run is called again after a panic; nil ends the loop

	mu      sync.Mutex
	stop    context.CancelFunc
	stopped bool
	done    chan struct{}
}

// Start runs the loop until Stop is called or ctx ends.
func (l *Loop) Start(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.stop != nil {
		return
	}
	ctx, l.stop = context.WithCancel(ctx)
	done := l.doneLocked()
	go func() {
		defer close(done)
		l.keepRunning(ctx)
	}()
}

// Stop asks the loop to end. It does not wait: see Done.
func (l *Loop) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	started := l.stop != nil
	if started {
		l.stop()
	} else if !l.stopped {
		close(l.doneLocked())
	}
	l.stopped = true
}

// Done is closed once the loop has ended, or will never start.
func (l *Loop) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doneLocked()
}

func (l *Loop) doneLocked() chan struct{} {
	if l.done == nil {
		l.done = make(chan struct{})
	}
	return l.done
}

func (l *Loop) keepRunning(ctx context.Context) {
	for panics := 1; l.panics(ctx) && l.Restart != nil; panics++ {
		timer := time.NewTimer(l.Restart(panics))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// panics runs the loop once and tells whether it panicked.
func (l *Loop) panics(ctx context.Context) (panicked bool) {
	defer func() {
		if value := recover(); value != nil {
			panicked = true
			if l.Panic != nil {
				l.Panic(value, debug.Stack())
			}
		}
	}()
	l.Run(ctx)
	return false
}
