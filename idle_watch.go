package work

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
)

// idleWatch stops a pool that had nothing to do for as long as WorkerOptions.IdleTimeout. Until that time is over it
// asks Redis nothing. Then it looks once whether a job waits, since a call may have been lost; where Redis does not
// answer it does not know, and the time begins anew.
//
// A job that comes after that look is in its queue, or the fetch under way has brought it: the stop gives it back, and
// passes on the call for it. Neither is lost.
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
		case i.pool.hasWorkInHand() || i.pool.delivered.Load() != i.delivered:
			i.begin()
		case idle < timeout:
		case i.pool.hasWorkToFetch(ctx):
			i.begin()
		default:
			i.pool.stopIdle(idle)
			return
		}
	}
}

// begin counts the time from now on.
func (i *idleWatch) begin() { i.since, i.delivered = time.Now(), i.pool.delivered.Load() }

// hasWorkInHand tells whether a worker holds a job, or does what an operator wants.
func (p *WorkerPool) hasWorkInHand() bool {
	for _, w := range p.current() {
		if w.slots.Held() > 0 || w.desired.Now() != "" {
			return true
		}
	}
	return false
}

// hasWorkToFetch tells whether a job waits in a served queue or is due, or whether nobody can tell. It looks in the
// direction in which jobs move.
func (p *WorkerPool) hasWorkToFetch(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for _, store := range p.stores() {
		for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
			if _, due, err := firstDue(ctx, store, dueJobs{shelf: shelf, serves: p.serves}); due || err != nil {
				return true
			}
		}
		queues, err := store.QueueHeads(ctx, p.servedNames())
		if err != nil || slices.ContainsFunc(queues, func(q rdb.QueueHead) bool { return q.Length > 0 }) {
			return true
		}
	}
	return false
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
