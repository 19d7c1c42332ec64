package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// drainInterval is how often Drain looks in the long run. It begins with less: short jobs are over soon.
const drainInterval = 50 * time.Millisecond

// Drain waits until nothing is due, waits or runs in the queues that this pool serves, here or in another worker. Jobs
// that are scheduled for later, and retries that are not due yet, do not count. It is meant for tests and for programs
// that do a fixed amount of work. Before Start it returns ErrNotStarted, once the pool has stopped ErrStopped.
func (p *WorkerPool) Drain(ctx context.Context) error {
	p.mu.Lock()
	started := p.state != poolNew && p.state != poolStarting && p.served != nil
	p.mu.Unlock()
	if !started && !p.hasStopped() {
		return ErrNotStarted
	}
	for interval := time.Millisecond; ; interval = min(2*interval, drainInterval) {
		busy, err := p.looksBusy(ctx)
		switch {
		case p.hasStopped(), errors.Is(err, rdb.ErrClosed) && p.stateNow() == poolStopping: // its connections end a little before it
			return ErrStopped
		case ctx.Err() != nil:
			return fmt.Errorf("jobs may be left: %w", context.Cause(ctx))
		case err != nil:
			return fmt.Errorf("cannot tell whether jobs are left: %w", err)
		case !busy:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("jobs are left: %w", context.Cause(ctx))
		case <-p.stopped:
			return fmt.Errorf("jobs are left: %w", ErrStopped)
		case <-time.After(interval):
		}
	}
}

func (p *WorkerPool) hasStopped() bool {
	select {
	case <-p.stopped:
		return true
	default:
		return false
	}
}

// looksBusy tells whether jobs are left. It asks in the direction in which jobs move, so none can slip past it: a job
// that was due is found in its queue, one that waited is found in process. One that was given back during the first
// look went the other way: the second look finds it.
func (p *WorkerPool) looksBusy(ctx context.Context) (bool, error) {
	if p.hasStopped() {
		return false, nil
	}
	for range 2 {
		if busy, err := p.hasWork(ctx); busy || err != nil {
			return busy, err
		}
	}
	return false, nil
}

func (p *WorkerPool) hasWork(ctx context.Context) (bool, error) {
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
		if due, err := p.hasDue(ctx, shelf); due || err != nil {
			return due, err
		}
	}
	served, _ := p.roster.now()
	n, err := p.store.Load(ctx, served)
	return n > 0, err
}

// hasDue tells whether a job of a served queue is due on a shelf, past those of all others.
func (p *WorkerPool) hasDue(ctx context.Context, shelf rdb.Shelf) (bool, error) {
	for skip := 0; ; {
		due, err := p.store.Due(ctx, shelf, rdb.DueCall{Skip: skip})
		if err != nil || len(due.Page) == 0 {
			return false, err
		}
		for _, waiting := range due.Page {
			if r := p.registered[waiting.Queue]; r != nil && !r.away.Load() {
				return true, nil
			}
		}
		skip += len(due.Page)
	}
}
