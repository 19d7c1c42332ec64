package work

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// NextDue is when the first of the jobs is due that are scheduled or to be retried, in the queues that this pool
// serves: those that [WorkerPool.Drain] does not wait for. It is by the clock of Redis, in the past for one that is due
// and has not been moved to its queue yet, and the zero time where there is none. It reads in pages of 500 past the
// jobs of other queues. Before Start it returns ErrNotStarted, once the pool has stopped ErrStopped. It may be called
// concurrently.
func (p *WorkerPool) NextDue(ctx context.Context) (time.Time, error) {
	p.mu.Lock()
	started := p.state != poolNew && p.state != poolStarting && p.served != nil
	p.mu.Unlock()
	switch {
	case p.hasStopped():
		return time.Time{}, ErrStopped
	case !started:
		return time.Time{}, ErrNotStarted
	}
	var first time.Time
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
		next, err := p.firstOn(ctx, shelf)
		if err != nil {
			return time.Time{}, fmt.Errorf("cannot tell when the next job is due: %w", err)
		}
		if first.IsZero() || !next.IsZero() && next.Before(first) {
			first = next
		}
	}
	return first, nil
}

// firstOn is when the first job of a served queue is due on a shelf.
func (p *WorkerPool) firstOn(ctx context.Context, shelf rdb.Shelf) (time.Time, error) {
	for skip := 0; ; {
		due, err := p.store.Due(ctx, shelf, rdb.DueCall{Skip: skip, Ahead: maxAhead})
		if err != nil || len(due.Page) == 0 {
			return time.Time{}, err
		}
		for _, waiting := range due.Page {
			if p.served[waiting.Queue] != nil {
				return waiting.Due, nil
			}
		}
		skip += len(due.Page)
	}
}
