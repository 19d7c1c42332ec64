package work

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/leftover"
	"github.com/265d0351/work/internal/rdb"
)

// idleWatch stops a pool that had nothing to do for as long as WorkerOptions.IdleTimeout. Until that time is over it
// asks Redis nothing. Then it looks once whether a job waits, since a call may have been lost; where Redis does not
// answer it does not know, and the time begins anew.
//
// A job that comes after that look is in its queue, or a later fetch has brought it: the stop gives it back, and passes
// on the call for it. Neither is lost.
type idleWatch struct {
	pool      *WorkerPool
	since     time.Time // nothing was held since then
	delivered int64     // jobs, up to then
}

// The share of the timeout after which it looks again, and how long that is at the most.
const (
	idleLookShare   = 10
	longestIdleLook = time.Second
)

func (i *idleWatch) run(ctx context.Context) {
	timeout := i.pool.options.IdleTimeout
	look := time.NewTicker(min(timeout/idleLookShare, longestIdleLook))
	defer look.Stop()
	for i.begin(); ; {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		switch idle := time.Since(i.since); {
		case i.isBusy():
			i.begin()
		case idle < timeout:
		case i.pool.hasWorkToFetch(ctx), i.isBusy(): // what has left its queue before that was looked at is in hand
			i.begin()
		default:
			i.pool.stopIdle(idle)
			return
		}
	}
}

// begin counts the time from now on.
func (i *idleWatch) begin() { i.since, i.delivered = time.Now(), i.pool.delivered.Load() }

// isBusy tells whether the pool has something in hand, has got something since the time began, or may be about to.
func (i *idleWatch) isBusy() bool {
	return i.pool.claiming.Load() > 0 || i.pool.delivered.Load() != i.delivered || i.pool.hasWorkInHand()
}

// hasWorkInHand tells whether a worker holds a job, or does what an operator wants.
func (p *WorkerPool) hasWorkInHand() bool {
	for _, w := range p.current() {
		if w.slots.Held() > 0 || w.desired.Now() != "" {
			return true
		}
	}
	return false
}

// hasWorkToFetch tells whether a job waits in a served queue, is due or on its way to another partition, or whether
// nobody can tell. It looks in the direction in which jobs move, and once more: one that went from a partition to one
// that was asked before is there by then.
func (p *WorkerPool) hasWorkToFetch(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for range 2 {
		for _, store := range p.stores() {
			if p.hasWorkToFetchFrom(ctx, store) {
				return true
			}
		}
		if p.directory.Map().Single() {
			break
		}
	}
	return false
}

func (p *WorkerPool) hasWorkToFetchFrom(ctx context.Context, store *rdb.Store) bool {
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
		_, due, err := leftover.FirstDue(ctx, store, leftover.Shelf{Shelf: shelf, Serves: p.serves})
		if due || err != nil {
			return true
		}
	}
	queues, err := store.QueueHeads(ctx, p.serving.Meant())
	if err != nil || slices.ContainsFunc(queues, func(q rdb.QueueHead) bool { return q.Length > 0 }) {
		return true
	}
	moves, err := p.movesFrom(ctx, store)
	return moves || err != nil
}

// stopIdle tells of the stop and begins it.
func (p *WorkerPool) stopIdle(idle time.Duration) {
	told := event.PoolIdle{Idle: idle}
	if workers := p.current(); len(workers) > 0 {
		told.Worker = workers[0].session().rdb.ID
	}
	p.events.emit(told)
	p.idled.Store(p.stateNow() == poolStarted)
	p.beginStop(context.Background(), stopTimeAfterCtx)
}
