package work

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// deadPoolReaper finds workers that died and puts their jobs back. A worker is dead when its heartbeat was missing in
// two looks a second apart and a script, which checks that the reaper itself was there all the time, took it out of
// the registered ones. Every worker reaps: whoever comes first, and anyone can go on where another one stopped.
type deadPoolReaper struct {
	worker  *worker
	health  health
	self    string   // the id of this worker at the last look
	known   []string // registered workers, as last read
	dead    []string
	looks   int
	missing map[string]time.Time // since when a worker has no heartbeat, as far as this one has seen
}

const (
	lookInterval = time.Second
	steadyFor    = beatLife
	knownEvery   = 3 // so many looks, registered workers are read
	deadEvery    = 9 // and dead ones, if none is missing
)

func (d *deadPoolReaper) run(ctx context.Context) {
	d.missing = map[string]time.Time{}
	for ctx.Err() == nil {
		err := d.look(ctx)
		if ctx.Err() == nil {
			d.health.report(err)
		}
		if len(d.missing) > 0 {
			pause(ctx, lookInterval+rand.N(lookInterval/20))
			continue
		}
		pause(ctx, lookInterval*9/10+rand.N(lookInterval/5))
	}
}

// look looks once, and reaps what it finds dead.
func (d *deadPoolReaper) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := d.read(ctx); err != nil {
		return err
	}
	d.looks++
	if err := d.condemn(ctx); err != nil {
		return err
	}
	var left []string
	var failed error
	for _, id := range d.dead {
		if err := d.salvage(ctx, id); err != nil {
			left, failed = append(left, id), errors.Join(failed, fmt.Errorf("dead worker %s: %w", id, err))
		}
	}
	d.dead = left
	return failed
}

// read reads who is registered and who is dead, as seldom as will do: a new worker is known before its first heartbeat
// can have lapsed, and a death is seen with all that it left half done. Requests of idle workers add up.
func (d *deadPoolReaper) read(ctx context.Context) (err error) {
	self := d.worker.claimant().rdb.ID
	switch {
	case len(d.missing) > 0 || d.looks%deadEvery == 0 || self != d.self: // whoever goes on under a new id left a dead one
		d.known, d.dead, err = d.worker.store.Workers(ctx)
	case d.looks%knownEvery == 0:
		d.known, err = d.worker.store.Registered(ctx)
	}
	if err == nil {
		d.self = self
	}
	return err
}

// condemn asks about those whose heartbeat was missing for a second.
func (d *deadPoolReaper) condemn(ctx context.Context) error {
	if len(d.known) == 0 {
		return nil
	}
	alive, err := d.worker.store.Alive(ctx, d.known)
	if err != nil {
		return err
	}
	missing := map[string]time.Time{}
	for id, beats := range alive {
		if beats {
			continue
		}
		since, seen := d.missing[id]
		if !seen {
			since = time.Now()
		}
		missing[id] = since
		if time.Since(since) < lookInterval {
			continue
		}
		dead, err := d.worker.claimant().rdb.Condemn(ctx, id, steadyFor)
		if err != nil {
			return err
		}
		if dead {
			delete(missing, id)
			d.dead = append(d.dead, id)
		}
	}
	d.missing = missing
	return nil
}

// salvage puts the jobs of a dead worker back in steps, and removes what is left of it. A queue whose key is broken keeps
// its jobs here, and the others do not wait for it.
func (d *deadPoolReaper) salvage(ctx context.Context, id string) error {
	corpse := d.worker.store.Worker(id)
	for {
		queues, err := corpse.Queues(ctx)
		if err != nil {
			return err
		}
		jobs := 0
		for _, queue := range queues {
			n, failed := emptyInProcess(ctx, corpse, queue, id)
			jobs, err = jobs+n, errors.Join(err, failed)
		}
		if jobs > 0 {
			d.worker.events.emit(WorkerReaped{Worker: id, Jobs: jobs})
		}
		if err != nil {
			return err
		}
		_, gone, err := corpse.Forget(ctx, queues)
		if err != nil || gone {
			return err
		}
	}
}

// emptyInProcess gives all claims of a worker on one queue back, newest lot first, so that the oldest is in front.
func emptyInProcess(ctx context.Context, of *rdb.Worker, queue, died string) (int, error) {
	jobs := 0
	for {
		elements, err := of.InProcess(ctx, queue)
		if err != nil || len(elements) == 0 {
			return jobs, err
		}
		settled, err := of.Settle(ctx, []rdb.Call{of.Release(rdb.Released{Queue: queue, Elements: elements, Died: died})})
		if err != nil {
			return jobs, err
		}
		if settled[0].Err != nil {
			return jobs, settled[0].Err
		}
		jobs += len(elements) - len(settled[0].Gone)
	}
}
