package work

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// drainInterval is how often Drain looks while other workers still run jobs.
const drainInterval = 50 * time.Millisecond

// Drain waits until nothing is due, waits or runs in the queues that this pool serves, here or in another worker. Jobs
// that are scheduled for later do not count. It is meant for tests and for programs that do a fixed amount of work.
func (p *WorkerPool) Drain(ctx context.Context) error {
	p.mu.Lock()
	state := p.state
	p.mu.Unlock()
	if state == poolNew {
		return ErrNotStarted
	}
	for {
		busy, err := p.busy(ctx)
		if err == nil && !busy {
			busy, err = p.busy(ctx) // a job that was given back during the first look went the other way
		}
		if err != nil {
			return fmt.Errorf("cannot tell whether jobs are left: %w", err)
		}
		if !busy {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("jobs are left: %w", context.Cause(ctx))
		case <-p.stopped:
			return fmt.Errorf("jobs are left: %w", ErrStopped)
		case <-time.After(drainInterval):
		}
	}
}

// busy tells whether jobs are left. It asks in the direction in which jobs move, so none can slip past it: a job that
// was due is found in its queue, one that waited is found in process.
func (p *WorkerPool) busy(ctx context.Context) (bool, error) {
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
		due, err := p.store.Due(ctx, shelf, rdb.DueCall{})
		if err != nil {
			return false, err
		}
		for _, waiting := range due.Page {
			if p.served[waiting.Queue] != nil {
				return true, nil
			}
		}
	}
	names := p.workers[0].names
	n, err := p.store.Load(ctx, names)
	return n > 0, err
}
