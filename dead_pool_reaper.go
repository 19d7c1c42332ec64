package work

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/deadworker"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/liveness"
)

// deadPoolReaper finds workers that died and puts their jobs back. A worker is dead when it was overdue in two looks a
// second apart and a script, which checks that it has no heartbeat and that the reaper itself was there all the time,
// took it out of the registered ones.
//
// Were every worker to look after all others, a fleet would cost Redis the square of its size. So two look: the one
// that has the lease on maintenance, and its deputy, since the first may be the one that died. When both die their
// places lapse with their heartbeats, and the next heartbeats of others take them. A worker that has a place and does
// not get to look gives it back. What a reaper left half done anyone can go on with.
type deadPoolReaper struct {
	worker  *worker
	health  healthreport.Reporter
	missing map[string]time.Time // since when a worker is overdue, as far as this one has seen

	distrustedAt atomic.Int64 // when it was last in doubt about deadlines; Unix nanoseconds
	watches      atomic.Bool  // it has one of the places
	// what was given back just now, of each queue: more of the same process may be found dead in the next look
	given   deadworker.Given
	givenAt time.Time // when that was

	gotPlace chan struct{} // has room for one: it has got a place
	looked   atomic.Int64  // when it last saw who is overdue, or got its place; Unix nanoseconds
}

const (
	lookInterval = time.Second
	distrustTime = 10 * time.Second // after Redis' clock was set back, deadlines that are far away are not believed
	lookOverdue  = 5 * time.Second  // a reaper that did not get to look for so long gives its place to another worker
	maxOverdue   = 10_000           // workers, in one look

	deadWorkersAtOnce = 50 // dead workers that are taken apart together
)

func newDeadPoolReaper(w *worker) *deadPoolReaper {
	return &deadPoolReaper{worker: w, health: healthreport.Reporter{Component: "reaper", Emit: w.tell},
		gotPlace: make(chan struct{}, 1)}
}

// setWatching notes whether this worker looks after the others.
func (d *deadPoolReaper) setWatching(watches bool) {
	if !watches {
		d.watches.Store(false)
		return
	}
	if d.watches.Load() {
		return
	}
	d.looked.Store(time.Now().UnixNano())
	d.distrustDeadlines() // who knows what was before
	d.watches.Store(true)
	select {
	case d.gotPlace <- struct{}{}:
	default:
	}
}

// distrustDeadlines is called when Redis' clock was set back: whoever beat before that and died has a deadline that is
// too far away.
func (d *deadPoolReaper) distrustDeadlines() { d.distrustedAt.Store(time.Now().UnixNano()) }

// maxDeadlineAhead is how far away a deadline may be. It is not known here how long each worker's heartbeat lasts, only
// by declareDead: to ask about all that last longer than usual is too much for each look.
func (d *deadPoolReaper) maxDeadlineAhead(now time.Time) time.Duration {
	if now.Sub(time.Unix(0, d.distrustedAt.Load())) < distrustTime {
		return liveness.Life
	}
	return liveness.MaxLife
}

// mayWatch tells whether this worker should have one of the places, or keep it.
func (d *deadPoolReaper) mayWatch(now time.Time) bool {
	return !d.watches.Load() || now.Sub(time.Unix(0, d.looked.Load())) < lookOverdue
}

// run is the loop of the reaper. Without one of the two places it only waits for one, and forgets whom it missed, since
// others have looked meanwhile. Its rests are spread at random, so that those who watch do not look in step.
func (d *deadPoolReaper) run(ctx context.Context) {
	for ctx.Err() == nil {
		if !d.watches.Load() {
			d.missing = nil
			select {
			case <-ctx.Done():
			case <-d.gotPlace:
			}
			continue
		}
		err := d.look(ctx)
		if ctx.Err() == nil {
			d.health.Report(err)
		}
		if len(d.missing) > 0 {
			backoff.Pause(ctx, lookInterval+rand.N(lookInterval/20))
			continue
		}
		backoff.Pause(ctx, lookInterval*9/10+rand.N(lookInterval/5))
	}
}

// look looks once, and reaps what it finds dead.
func (d *deadPoolReaper) look(life context.Context) error {
	ctx, cancel := context.WithTimeout(life, settleTimeout)
	defer cancel()
	late, err := d.worker.store.OverdueWorkers(ctx, d.maxDeadlineAhead(time.Now()), maxOverdue)
	if err != nil {
		return err
	}
	suspects := late.Overdue
	if late.Listed != late.Registered { // workers of another version, or Redis has lost something
		unlisted, err := d.worker.store.Unlisted(ctx)
		if err != nil {
			return err
		}
		suspects = append(suspects, unlisted...)
	}
	found, err := d.declareDead(ctx, suspects)
	if err != nil {
		return err
	}
	d.looked.Store(time.Now().UnixNano())
	if found == 0 && late.Dead == 0 {
		return nil
	}
	_, dead, err := d.worker.store.Workers(ctx)
	if err != nil {
		return err
	}
	var failed error
	for lot := range slices.Chunk(dead, deadWorkersAtOnce) {
		failed = excerpt.Join(failed, d.putBackSome(life, lot))
	}
	return failed
}

// putBackSome has a time of its own: were it one for all that died, a fleet of thousands that dies at once would never
// be taken apart. The order among them is kept, since what was given back just before is remembered.
func (d *deadPoolReaper) putBackSome(life context.Context, dead []string) error {
	ctx, cancel := context.WithTimeout(life, settleTimeout)
	defer cancel()
	defer func() { d.looked.Store(time.Now().UnixNano()) }()
	_, err := d.putBackJobs(ctx, dead...)
	return err
}

// declareDead asks about those that were overdue for a second, and tells how many are dead.
func (d *deadPoolReaper) declareDead(ctx context.Context, suspects []string) (int, error) {
	missing, now := make(map[string]time.Time, len(suspects)), time.Now()
	var due []string
	for _, id := range suspects {
		since, seen := d.missing[id]
		if !seen {
			since = now
		}
		missing[id] = since
		if now.Sub(since) >= lookInterval {
			due = append(due, id)
		}
	}
	d.missing = missing
	if len(due) == 0 {
		return 0, nil
	}
	dead, err := d.worker.session().rdb.DeclareDead(ctx, liveness.Life, due...)
	for _, id := range dead {
		delete(d.missing, id)
	}
	return len(dead), err
}

// putBackJobs puts the jobs of dead workers back in steps, and removes what is left of them. The workers of a process
// die together, so what they held goes back as if one had held it all: in the order in which it was fetched. A queue
// whose key is broken keeps its jobs, and the others do not wait for it. It returns the workers of whom something is
// left, and why.
func (d *deadPoolReaper) putBackJobs(ctx context.Context, ids ...string) (left []string, err error) {
	if time.Since(d.givenAt) > 2*liveness.Life {
		d.given = deadworker.Given{}
	}
	d.givenAt = time.Now()
	for open := ids; len(open) > 0; {
		dead := make([]*deadworker.Dead, len(open))
		for i, id := range open {
			dead[i] = &deadworker.Dead{Worker: d.worker.store.Worker(id)}
		}
		deadworker.PutBack(ctx, dead, d.given)
		open = nil
		for _, c := range dead {
			if c.Jobs > 0 {
				d.worker.events.emit(event.WorkerReaped{Worker: c.ID, Jobs: c.Jobs})
			}
			gone := false
			if c.Err == nil {
				gone, c.Err = c.Forget(ctx)
			}
			switch {
			case c.Err != nil:
				left, err = append(left, c.ID), excerpt.Join(err, fmt.Errorf("dead worker %s: %w", c.ID, c.Err))
			case !gone:
				open = append(open, c.ID)
			}
		}
	}
	return left, err
}
