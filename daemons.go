package work

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/resize"
	"github.com/265d0351/work/internal/schedule"
	"github.com/265d0351/work/internal/workgroup"
)

// daemons are the background work that a pool does for the whole namespace: moving what is due, reaping dead workers,
// cleaning up. Every pool has them; those that only one should do ask whether its heartbeat has brought the lease, and
// the reaper whether it has brought that or the place of the deputy.
type daemons struct {
	worker    *worker
	reaper    *deadPoolReaper
	scheduler *maintain.DueMover
	retrier   *maintain.DueMover
	periodic  *maintain.PeriodicEnqueuer
	flows     *maintain.FlowMover
	away      *maintain.AwayMover
	parts     *partsWatch
	leased    atomic.Bool // this pool has the lease, as the last heartbeat brought it
	loops     []*lifecycle.Loop
	answers   sync.WaitGroup // of the goroutine that answers what is held
	answering atomic.Bool    // there is one
}

// newDaemons makes those of a pool, for its first worker, and starts nothing. All are loops of that worker, watched by
// its signs of life.
func newDaemons(w *worker) *daemons {
	env := maintain.Env{Store: w.store, Emit: w.emitMaintenance, Now: w.clock.Now, Heartbeat: liveness.Interval,
		Homes: homes{w.site, w.host}}
	away := maintain.NewAwayMover(env)
	env.Away = away.Told
	pace := maintain.NewPace(w.engine.times.DueRest)
	d := &daemons{
		worker:    w,
		scheduler: maintain.NewDueMover(env, "scheduler", rdb.ShelfScheduled, pace),
		retrier:   maintain.NewDueMover(env, "retrier", rdb.ShelfRetry, pace),
		periodic:  maintain.NewPeriodicEnqueuer(env, w.site.declared, schedule.Job.Record),
		flows:     maintain.NewFlowMover(env),
		away:      away,
		reaper:    newDeadPoolReaper(w),
		parts:     &partsWatch{worker: w, missed: workgroup.NewWakeup()},
	}
	janitor := maintain.NewJanitor(env, maintain.JanitorOptions{
		Leased: d.leased.Load, Interval: w.engine.times.Tidy, MorgueLimit: w.engine.options.MorgueLimit,
		MorgueRetention: w.engine.options.MorgueRetention, Objects: w.site.objects.collector,
	})
	loop := func(component string, run func(context.Context)) *lifecycle.Loop {
		return w.loop(component, w.afterFirstLook(run))
	}
	d.loops = []*lifecycle.Loop{
		loop("scheduler", d.scheduler.Run),
		loop("retrier", d.retrier.Run),
		loop("flow mover", d.flows.Run),
		loop("mover of members away", d.away.Run),
		loop("periodic enqueuer", d.periodic.Run),
		loop("subscriber", d.listen),
		loop("reaper", d.reaper.run),
		loop("janitor", janitor.Run),
		loop("mover", d.finishMoves),
		loop("watch for jobs that need labels", d.parts.run),
	}
	return d
}

// emitMaintenance passes on an event of the maintenance. What it has found invalid is so for programs too.
func (w *worker) emitMaintenance(e event.Event) {
	if broken, is := e.(event.PeriodicBroken); is {
		broken.Err = asInvalid(broken.Err)
		e = broken
	}
	w.tell(e)
}

// tell passes on an event of a part that calls Redis beside jobs: a refusal may be the first sign that rights were
// taken.
func (w *worker) tell(e event.Event) {
	if trouble, is := e.(event.Trouble); is {
		w.rights.Doubt(trouble.Err)
	}
	w.events.emit(e)
}

// start is called when the worker has joined: schedules were declared before, so none is found that nobody knows.
func (d *daemons) start(ctx context.Context) {
	for _, loop := range d.loops {
		loop.Start(ctx)
	}
}

// stop asks all loops before it waits for the first, so that they end side by side. Whatever one leaves undone the pool
// that has the lease next does: no daemon holds anything in its memory that is not in Redis.
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
			d.worker.host.answerHeld(ctx, d.worker.site.partition, token)
		})
	}
}

// pulse passes on what a heartbeat brought back. It may be called on a worker without daemons.
func (d *daemons) pulse(p rdb.Pulse) {
	if d == nil {
		return
	}
	if had := d.leased.Swap(p.Leased); p.Leased && !had {
		d.flows.Told() // hints went to the worker that had it before, if there was one
	}
	d.reaper.setWatching(p.Leased || p.Deputy)
	d.periodic.Told(p)
	if !p.NextScheduled.IsZero() {
		d.scheduler.Told(p.NextScheduled.Sub(p.Time))
	}
	if !p.NextRetry.IsZero() {
		d.retrier.Told(p.NextRetry.Sub(p.Time))
	}
}

// lease is for how long the next heartbeat wants the lease, or the place of the deputy; 0 wants neither. It may be
// called on a worker without daemons.
func (d *daemons) lease(now time.Time) time.Duration {
	if d == nil || !d.reaper.mayWatch(now) {
		return 0
	}
	return rdb.LeaseLife
}

// clockSetBack takes back what Redis' clock gave to the dead when it was set back: the lease, the place of the deputy
// and heartbeats last until it shows the old time again. It may be called on a worker without daemons.
func (d *daemons) clockSetBack(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.reaper.distrustDeadlines()
	mender := rdb.Mender{Store: d.worker.store, Mend: true}
	for _, place := range []string{"lease", "deputy"} {
		if _, err := mender.LimitLife(ctx, place, rdb.LeaseLife, rdb.LeaseLife); err != nil {
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
		d.periodic.Forgotten()
	}
}

// listen waits for hints that something earlier than all else was scheduled. A lost hint costs at most a second: the
// heartbeat says the same.
func (d *daemons) listen(ctx context.Context) {
	health := healthreport.Reporter{Component: "subscriber", Emit: d.worker.tell}
	look := func() {
		if d.leased.Load() {
			d.scheduler.Told(0)
			d.retrier.Told(0)
		}
	}
	lookAtFlows := func() {
		if d.leased.Load() {
			d.flows.Told()
		}
	}
	var failures backoff.Failures
	for {
		ready := func() {
			failures = 0
			health.Report(nil)
			look()
			lookAtFlows()
			d.periodic.Hint()
			d.worker.host.hintCancel(d.worker.site.partition)
			d.parts.missed.Wake()
		}
		err := d.worker.driver.Subscribe(ctx, d.worker.store.Control(), ready, func(message []byte) {
			if id, is := rdb.CommandedWorker(message); is {
				d.worker.host.beatAtOnce(id)
				return
			}
			if token, is := rdb.AskedForHeld(message); is {
				d.answer(ctx, token)
				return
			}
			if d.parts.told(message) {
				return
			}
			switch string(message) {
			case rdb.ScheduleHint:
				d.periodic.Hint()
			case rdb.CancelHint:
				d.worker.host.hintCancel(d.worker.site.partition)
			case flowdb.Hint:
				lookAtFlows()
			default:
				look()
			}
		})
		if ctx.Err() != nil {
			return
		}
		health.Report(err)
		failures.Pause(ctx)
	}
}

// settleLooks is in how many rounds of a second the daemon that finishes moves looks once while nothing is known to be
// left: a mover may have died.
const settleLooks = 10

// unseenLooks is in how many rounds it is looked for members that are at home here, and of which nobody has heard for
// long: once in ten minutes.
const unseenLooks = 600

// trimLooks is in how many rounds names are forgotten that were resumed long ago: once an hour.
const trimLooks = 3600

// finishMoves goes on with what movers have left in this partition: jobs that workers held then, and what is there of a
// partition that is to go. It asks Redis nothing while there is one partition, and little while nothing is left. What
// fails is tried again in the next round: the map and Redis say what is to be done.
func (d *daemons) finishMoves(ctx context.Context) {
	directory, i := d.worker.engine.directory, d.worker.site.partition
	left, change := 0, resize.Stalled{After: d.worker.engine.times.Stalled}
	health := healthreport.Reporter{Component: "change of the partitions", Emit: d.worker.events.emit}
	for round := 0; backoff.Pause(ctx, time.Second); round++ {
		m := directory.Map()
		d.repeatPauses(ctx, m)
		if m.Single() || !d.leased.Load() {
			continue
		}
		if i == 0 { // where maps are decided
			if err := change.GoOn(ctx, directory); ctx.Err() == nil {
				health.Report(err)
			}
			if round%trimLooks == trimLooks-1 {
				_ = resize.TrimPauses(ctx, directory) // what is not forgotten now is in an hour
			}
		}
		under := m.Wanted != 0 || m.Tracking || m.State(i) == partition.Draining || len(m.Binding) > 0
		if round%unseenLooks == unseenLooks-1 {
			d.away.Look()
		}
		if left > 0 || under || round%settleLooks == 0 {
			now, err := resize.Settle(ctx, directory, i)
			if left = now; err != nil {
				left = 1
			}
		}
	}
}

// repeatPauses has a Redis that may have lost what it had know again what is paused: the other partitions know. It is
// done until all of them have answered.
func (d *daemons) repeatPauses(ctx context.Context, m *partition.Map) {
	if s := d.worker.site; !m.Single() && s.unsaid.Swap(false) {
		if resize.RepeatPauses(ctx, s.engine.directory, s.partition) != nil {
			s.unsaid.Store(true)
		}
	}
}
