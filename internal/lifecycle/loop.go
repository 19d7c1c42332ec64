// Package lifecycle gives every background loop the same life: started once, stopped by its ctx, waited for.
package lifecycle

import (
	"context"
	"sync"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
)

// Loop is one goroutine with an owner. Its zero value with Run set is ready. Start, Stop and Done may be called in any
// order, any number of times, from any goroutine: a loop stopped before its start never starts.
type Loop struct {
	Run   func(ctx context.Context)     // returns soon after ctx ends
	Panic func(value any, stack string) // is told what a panic was; nil drops it
	// how long to wait before Run is called again after a panic or Goexit; nil ends the loop
	Restart func(panics int) (after time.Duration)

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
	go l.live(ctx, done, 0)
}

// live runs the loop after that time until it has ended. What Run calls may be code of a program, and end the goroutine
// (runtime.Goexit): then another one goes on.
func (l *Loop) live(ctx context.Context, done chan struct{}, after time.Duration) {
	ended := false
	defer func() {
		if ended || l.Restart == nil || ctx.Err() != nil {
			close(done)
			return
		}
		go l.live(ctx, done, l.Restart(1))
	}()
	if after == 0 || backoff.Pause(ctx, after) {
		l.keepRunning(ctx)
	}
	ended = true
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
		if !backoff.Pause(ctx, l.Restart(panics)) {
			return
		}
	}
}

// panics runs the loop once and tells whether it panicked.
func (l *Loop) panics(ctx context.Context) (panicked bool) {
	defer func() {
		if value := recover(); value != nil {
			panicked = true
			if l.Panic != nil {
				l.Panic(value, excerpt.PanicStack())
			}
		}
	}()
	l.Run(ctx)
	return false
}
