package work

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/joblog"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rights"
	"github.com/265d0351/work/internal/subscription"
	"github.com/265d0351/work/internal/workgroup"
	"github.com/265d0351/work/objects"
)

// newWorker makes a worker of which Redis does not know yet, and starts no goroutine: see join and begin. Only the
// first worker of a pool has the daemons. Its life ends by kill alone, not with a ctx of the program, so that handlers
// may end in peace when that is cancelled.
//
// It holds more than it runs: as many claims as goroutines, at least 64, may have ended and wait for the settler, so
// that a slow Redis does not stop the fetcher at once.
func newWorker(s *site, g *group, of host) *worker {
	p, concurrency := s.engine, g.concurrency
	prefetch := max(0, p.options.Prefetch)
	held := min(maxHeld, concurrency+prefetch+max(concurrency, 64))
	life, end := context.WithCancelCause(objects.NewContext(context.Background(), s.objects.cache))
	untilStop, beginStop := context.WithCancelCause(life)
	w := &worker{
		engine: p, site: s, group: g, host: of, driver: p.driver, store: s.store, events: p.events, clock: s.clock,
		first:       g.first,
		concurrency: concurrency,
		life:        life, kill: func() { end(ErrShutdown) },
		untilStop: untilStop, beginStop: func() { beginStop(ErrShutdown) },
		slots:        g.places.Slots(held),
		beatSooner:   workgroup.NewWakeup(),
		layout:       healthreport.Reporter{Component: "layout", Emit: p.events.emit},
		stats:        history.NewCounter(s.clock),
		beats:        liveness.BeatsOf(p.options.HeartbeatLife),
		outcomes:     workgroup.NewOutbox(func(r *run) **run { return &r.older }),
		beatRequests: make(chan chan<- struct{}),
		cancelHints:  make(chan struct{}, 1),
	}
	w.ahead.Goroutines, w.ahead.Most = concurrency, mostAhead(w)
	w.fence = liveness.NewFence(p.options.FenceAfter, w.cutOff, w.tellCutOff)
	w.statsReporter = &history.Reporter{Counter: w.stats, Store: w.store, Clock: w.clock, Lane: ids.Random(16),
		Health: (&healthreport.Reporter{Component: "history", Emit: w.tell}).Report}
	w.runners, w.gatherers = g.runners, newGatherers(w)
	w.logs = joblog.NewFlusher(w.store, w.clock, w.tell)
	w.logging = w.loop(joblog.Component, w.logs.Run)
	w.logs.Start = func() { w.logging.Start(w.life) }
	w.queues = newQueues(s, life)
	w.rights = rights.NewWatch(w.store.Namespace(), p.events.emit, w.queues.wakeup.Wake)
	w.made, w.answerer = time.Now(), w.newAnswerer()
	w.fetching = w.loop("fetcher", newFetcher(w).run)
	settler := newSettler(w)
	w.settling, w.closeSettler = w.loop("settler", settler.run), settler.close
	w.looked = make(chan struct{})
	w.haveLooked = sync.OnceFunc(func() { close(w.looked) })
	beats := &heartbeater{worker: w, health: healthreport.Reporter{Component: "heartbeater", Emit: w.events.emit}}
	w.beating = w.loop("heartbeater", w.afterFirstLook(beats.run))
	if g.first {
		w.daemons = newDaemons(w)
	}
	return w
}

// join makes the worker known to Redis. After an error Redis may know it all the same: whoever called it has it leave,
// or a reaper finds it dead once its heartbeat has lapsed.
func (w *worker) join(ctx context.Context) error {
	if err := w.site.rights.Once(ctx); err != nil {
		return err
	}
	c := newSession(w.store, w.life)
	c.shared = &w.site.numbers
	w.current.Store(c)
	return w.register(ctx, c, "")
}

// begin starts the goroutines of a worker that has joined. They end by worker.stop, which waits for them in the order
// in which nothing is lost.
func (w *worker) begin() {
	w.beating.Start(w.life)
	w.settling.Start(w.life)
	w.fetching.Start(w.life)
	if w.daemons != nil {
		w.daemons.start(w.life)
	}
}

// announce tells that the worker has begun.
func (w *worker) announce() {
	w.events.emit(event.WorkerStarted{
		Worker: w.session().rdb.ID, Concurrency: w.concurrency, Queues: namesOf(w.queues.listing.Listed()),
		Partition: w.site.partition,
	})
}

// register writes the worker into Redis: at the start, under a new id after it was taken for dead (former is the old
// one), and again where Redis has lost its data. If the reply is lost the worker may be registered all the same.
func (w *worker) register(ctx context.Context, c *session, former string) error {
	names := w.namesOf(c)
	w.queues.listing.Expect(names)
	defer w.queues.listing.Recheck(names) // whatever came of it: what is served may have changed meanwhile
	sent, begun := w.clock.Local(), time.Now()
	c.info = w.info(len(names))
	c.ran.Untold() // Redis may have lost it
	w.load.Untold()
	at, epoch, err := c.rdb.Register(ctx, rdb.Registration{
		Life: w.beats.Life, Epoch: ids.Random(16), Former: former, Info: c.info, Queues: names,
	})
	if err != nil {
		return err
	}
	w.queues.listing.Registered(c.rdb.ID, names)
	w.clock.Learn(at, sent, w.clock.Local())
	c.setEpoch(epoch)
	w.heard(begun)
	w.signs.Registered()
	return nil
}

// namesOf are the names of the jobs of queues, each once and in order, as the queues are.
func namesOf(queues []string) []string {
	names := make([]string, len(queues))
	for i, queue := range queues {
		names[i] = needs.Name(queue)
	}
	return slices.Compact(names)
}

// info is what an operator wants to know of a worker, which serves so many names.
func (w *worker) info(names int) map[string]string {
	host, _ := os.Hostname() // unknown is shown as empty
	info := map[string]string{
		"host": host, "pid": strconv.Itoa(os.Getpid()), "go": runtime.Version(), "version": programVersion(),
		"started": strconv.FormatInt(w.clock.Now().UnixMilli(), 10), "concurrency": strconv.Itoa(w.concurrency),
		"service": w.engine.service(), "schedules": w.site.declared().IDs(), "serves": strconv.Itoa(names),
		"prefetch": strconv.Itoa(w.prefetch()), "life": strconv.FormatInt(w.beats.Life.Milliseconds(), 10),
		rdb.InfoGroup: w.group.id,
	}
	if labels := w.engine.options.Labels; len(labels) > 0 {
		info[rdb.InfoLabels] = strings.Join(labels, ",")
	}
	if quotas := subscription.Describe(w.engine.quotas()); quotas != "" {
		info[rdb.InfoQuotas], info[rdb.InfoPool] = quotas, w.engine.incarnation
	}
	if desired := w.desired.Now(); desired != "" { // Redis has forgotten it, or knows it of a former identity
		info["wanted"] = string(desired)
		if desired == rdb.CommandNow {
			info["wanted"], info["now"] = string(rdb.CommandStop), "1"
		}
	}
	return info
}

// prefetch is how many more jobs than it runs the worker may hold.
func (w *worker) prefetch() int {
	if w.claimsAhead.Load() {
		return mostAhead(w)
	}
	return max(0, w.engine.options.Prefetch)
}

// programVersion is that of the main module.
func programVersion() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		return build.Main.Version
	}
	return "unknown"
}

// rejoin goes on under a new identity after a reaper took this one away. Running jobs are told: they run elsewhere.
//
// The new identity is registered before anything ends. Where Redis refuses it the worker keeps the old one, and the
// next heartbeat finds it fenced again. Outcomes of the old one still go to Redis: one counts where the job was not
// taken yet. A worker that is stopping takes no new identity; its jobs are told all the same.
func (w *worker) rejoin(old *session) error {
	w.rejoining.Lock()
	defer w.rejoining.Unlock()
	if w.session() != old {
		return nil // another goroutine did it
	}
	ctx, cancel := context.WithTimeout(w.life, fetchTimeout)
	defer cancel()
	if w.stopping() {
		if old.context().Err() == nil {
			w.retractDeath(ctx, old)
		}
		old.end(ErrFenced)
		return nil
	}
	next := newSession(w.store, w.life)
	next.shared = old.shared
	if err := w.register(ctx, next, old.rdb.ID); err != nil {
		return fmt.Errorf("this worker was declared dead and cannot register again: %w", err)
	}
	_ = w.site.declareMissing(ctx) // before anything of its names begins; a heartbeat tries again
	w.mu.Lock()
	w.former = append(w.former, old)
	w.mu.Unlock()
	w.current.Store(next)
	jobs := len(old.runs())
	old.end(ErrFenced)
	w.flushGathered()
	w.retractDeath(ctx, old)
	time.AfterFunc(w.engine.times.Stuck, func() {
		for _, r := range old.runs() {
			r.reportStuck(ErrFenced)
		}
	})
	w.daemons.forgotten()
	w.events.emit(event.WorkerFenced{Worker: old.rdb.ID, Next: next.rdb.ID, Jobs: jobs})
	return nil
}

// reregister makes the worker known again to a Redis that has lost its data. Its jobs run on. Redis keeps one epoch for
// its data, chosen by the first who registers: where it is the known one, only this worker was lost, and nobody else
// need be told. Otherwise limits, schedules and what is held have to be brought there again.
func (w *worker) reregister(ctx context.Context, c *session) error {
	before := c.knownEpoch()
	c.rdb.Acknowledged(0)
	if err := w.register(ctx, c, ""); err != nil {
		return err
	}
	if c.knownEpoch() != before {
		w.site.undeclared.Store(true)
		w.site.unsaid.Store(true)
		w.surveyAgain()
		w.daemons.forgotten()
		w.handleDataLoss(c)
	}
	return nil
}

// show adds what tests want of a worker to what they want of its pool, from the first worker on.
func (w *worker) show(parts *inside.Parts) {
	if len(parts.Workers) == 0 {
		parts.Slots, parts.Waiter, parts.Spared = w.slots, w.queues.waiter, w.skippingBeat.Load()
		parts.Register = func(ctx context.Context) error { return w.register(ctx, w.session(), "") }
		parts.Forget = func() { w.session().forgotten.Store(math.MaxInt64) }
		if w.daemons != nil {
			parts.Leased, parts.Periodics = w.daemons.leased.Load(), w.daemons.periodic
		}
	}
	parts.Workers, parts.Stopping = append(parts.Workers, w.session().rdb.ID), w.stopping()
}
