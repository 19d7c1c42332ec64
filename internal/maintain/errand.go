package maintain

import (
	"context"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/healthreport"
)

// errand is what is done as often as somebody says that there may be something to do. Who says it several times before
// it has begun has said it once.
type errand struct {
	health healthreport.Reporter
	wakeup chan struct{}
}

// newErrand is one before its first step, by the name that its trouble is told with.
func newErrand(name string, emit func(event.Event)) errand {
	return errand{health: healthreport.Reporter{Component: name, Emit: emit}, wakeup: make(chan struct{}, 1)}
}

// Told says that there may be something to do. It may be called concurrently.
func (e *errand) Told() {
	select {
	case e.wakeup <- struct{}{}:
	default:
	}
}

// each has it done each time that it is told, and again after a pause where that fails, until ctx ends.
func (e *errand) each(ctx context.Context, do func(context.Context) error) {
	var failures backoff.Failures
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wakeup:
		}
		err := do(ctx)
		if ctx.Err() != nil {
			return // a stop cut it off: no trouble
		}
		e.health.Report(err)
		if err == nil {
			failures = 0
			continue
		}
		e.Told()
		failures.Pause(ctx)
	}
}
