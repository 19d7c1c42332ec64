package work

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/rdb"
)

// daemons are the background work that a pool does for the whole namespace: moving what is due, reaping dead workers,
// cleaning up. Every pool has them; those that only one should do ask whether its heartbeat has brought the lease, and
// the reaper whether it has brought that or the place of the deputy.
type daemons struct {
	worker    *worker
	reaper    *deadPoolReaper
	scheduler *dueMover
	retrier   *dueMover
	periodic  *periodicEnqueuer
	leased    atomic.Bool
	loops     []*lifecycle.Loop
	answers   sync.WaitGroup
	answering atomic.Bool
}

func newDaemons(w *worker) *daemons {
	p := &pace{most: w.pool.dueRest}
	d := &daemons{
		worker:    w,
		scheduler: newDueMover("scheduler", rdb.ShelfScheduled, w, p),
		retrier:   newDueMover("retrier", rdb.ShelfRetry, w, p),
		periodic:  newPeriodicEnqueuer(w),
		reaper:    newDeadPoolReaper(w),
	}
	janitor := &janitor{
		worker: w, health: health{component: "janitor", events: w.events}, leased: d.leased.Load,
		interval: w.pool.tidying,
	}
	d.loops = []*lifecycle.Loop{
		w.loop("scheduler", d.scheduler.run),
		w.loop("retrier", d.retrier.run),
		w.loop("periodic enqueuer", d.periodic.run),
		w.loop("subscriber", d.listen),
		w.loop("reaper", d.reaper.run),
		w.loop("janitor", janitor.run),
	}
	return d
}

func (d *daemons) start(ctx context.Context) {
	for _, loop := range d.loops {
		loop.Start(ctx)
	}
}

func (d *daemons) stop() {
	for _, loop := range d.loops {
		loop.Stop()
	}
	for _, loop := range d.loops {
		<-loop.Done()
	}
	d.answers.Wait()
}

// answer says what the workers of the pool hold, beside the loop that heard the question. One that comes meanwhile
// comes again.
func (d *daemons) answer(ctx context.Context, token string) {
	if d.answering.CompareAndSwap(false, true) {
		d.answers.Go(func() {
			defer d.answering.Store(false)
			d.worker.pool.answerHeld(ctx, token)
		})
	}
}

// pulse passes on what a heartbeat brought back. It may be called on a worker without daemons.
func (d *daemons) pulse(p rdb.Pulse) {
	if d == nil {
		return
	}
	d.leased.Store(p.Leased)
	d.reaper.told(p.Leased || p.Deputy)
	d.periodic.told(p)
	if !p.NextScheduled.IsZero() {
		d.scheduler.told(p.NextScheduled.Sub(p.Time))
	}
	if !p.NextRetry.IsZero() {
		d.retrier.told(p.NextRetry.Sub(p.Time))
	}
}

// lease is for how long the next heartbeat wants the lease, or the place of the deputy; 0 wants neither. It may be
// called on a worker without daemons.
func (d *daemons) lease(now time.Time) time.Duration {
	if d == nil || !d.reaper.fit(now) {
		return 0
	}
	return leaseLife
}

// clockSetBack takes back what Redis' clock gave to the dead when it was set back: the lease, the place of the deputy
// and heartbeats last until it shows the old time again. It may be called on a worker without daemons.
func (d *daemons) clockSetBack(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.reaper.doubt()
	mender := rdb.Mender{Store: d.worker.store, Mend: true}
	for _, place := range []string{"lease", "deputy"} {
		if _, err := mender.Lapse(ctx, place, leaseLife, leaseLife); err != nil {
			return err
		}
	}
	return nil
}

// watches tells whether this worker looks after the others. It may be called on a worker without daemons.
func (d *daemons) watches() bool { return d != nil && d.reaper.watches.Load() }

// forgotten is called when Redis may no longer know what the pool has told it. It may be called on a worker without
// daemons.
func (d *daemons) forgotten() {
	if d != nil {
		d.periodic.forgotten()
	}
}

// listen waits for hints that something earlier than all else was scheduled. A lost hint costs at most a second: the
// heartbeat says the same.
func (d *daemons) listen(ctx context.Context) {
	health := health{component: "subscriber", events: d.worker.events}
	look := func() {
		if d.leased.Load() {
			d.scheduler.told(0)
			d.retrier.told(0)
		}
	}
	for failures := 1; ; failures++ {
		ready := func() { failures = 0; health.report(nil); look(); d.periodic.hint(); d.worker.pool.hint() }
		err := d.worker.driver.Subscribe(ctx, d.worker.store.Control(), ready, func(message []byte) {
			if id, is := rdb.Hinted(message); is {
				d.worker.pool.wished(id)
				return
			}
			if token, is := rdb.AskedForHeld(message); is {
				d.answer(ctx, token)
				return
			}
			switch string(message) {
			case rdb.ScheduleHint:
				d.periodic.hint()
			case rdb.CancelHint:
				d.worker.pool.hint()
			default:
				look()
			}
		})
		if ctx.Err() != nil {
			return
		}
		health.report(err)
		backoff.Pause(ctx, backoff.For(max(1, failures)))
	}
}
