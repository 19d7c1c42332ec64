// Package backoff is how long the framework waits before it tries something again, and how it waits. It knows nothing
// of what is tried: see package retry for what an error says about another attempt.
package backoff

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"
)

// For is how long to wait after so many failures in a row: from 50 ms to 2 s, with jitter, so that the workers of a
// fleet and the callers of a program do not come back all at once.
func For(failures int) time.Duration {
	ceiling := min(50*time.Millisecond<<min(failures-1, 10), 2*time.Second)
	return ceiling/2 + rand.N(ceiling/2)
}

// Pause waits, and returns false when ctx ended before.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// Failures counts failures in a row, and waits after each. Zero is none, so what goes well sets it to zero. It is for
// one goroutine.
type Failures int

// Next counts one more, and says how long to wait after it.
func (f *Failures) Next() time.Duration {
	*f++
	return For(int(*f))
}

// Pause counts one more and waits. It returns false when ctx ended before.
func (f *Failures) Pause(ctx context.Context) bool { return Pause(ctx, f.Next()) }

// MaxRereads is how often something is read again that others change at the same time.
const MaxRereads = 50

// Rereads counts the tries of one who changes what others change too. All give way, each for longer the more often it
// was too late, so that each gets its turn.
func Rereads(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := range MaxRereads {
			if n > 2 {
				Pause(ctx, rand.N(time.Duration(n)*time.Millisecond)) // what follows sees whether ctx has ended
			}
			if !yield(n) {
				return
			}
		}
	}
}
