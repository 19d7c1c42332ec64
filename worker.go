package work

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/objects"
)

// worker is what Redis knows as one worker: an identity, a heartbeat, a fetcher, a settler and processors. A pool has
// one, or several when its concurrency is larger than one should hold.
type worker struct {
	pool   *WorkerPool
	driver rdb.Driver
	store  *rdb.Store
	events *stream
	clock  *redisClock
	first  bool // of its pool: it has the daemons

	concurrency   int
	duties        duties
	registrations map[string]*registration // all of the pool, served or not
	stuckAfter    time.Duration
	vitals        vitals
	fence         fence
	owed          []absolution // the heartbeater's
	beats         beats

	life context.Context // of everything; ends with ErrShutdown when a stop is over, or gives up
	kill func()

	current    atomic.Pointer[claimant]
	rejoining  sync.Mutex
	mu         sync.Mutex
	former     []*claimant    // identities that were taken away, while something of theirs is held
	unbegun    []*run         // fetched before a stop and not begun when it came
	cutShort   []event.JobRef // runs that a stop gave back although their handlers returned
	halting    atomic.Bool
	retiring   atomic.Bool // it leaves if it holds nothing at the recruiter's next look
	slots      *slots
	crew       *crew
	outcomes   *outbox     // to the settler
	roomy      roomyQueues // from the settler to the fetcher
	nudged     *nudge      // to the fetcher
	looks      *nudge      // from the heartbeater to the fetcher: a queue has jobs
	waits      atomic.Bool // the fetcher waits, and wants to know of that
	disturbed  atomic.Bool // a heartbeat failed: the fetcher's connection may be dead too
	trust      trust
	wanted     atomic.Value         // rdb.Wish: what somebody wants of it
	ledger     *ledger              // history that Redis is not told yet
	scribe     *scribe              // brings the logs of jobs to Redis
	doubts     chan chan<- struct{} // to the heartbeater: see doubt
	hints      chan struct{}        // to the heartbeater: see hint
	spared     atomic.Bool          // a heartbeat is left out: see heartbeater.spares
	sooner     *nudge               // to the heartbeater: it holds a job, so none is left out any more
	missed     atomic.Bool          // an order came while a heartbeat was under way: the next one is not left out
	processors sync.WaitGroup
	restoring  sync.WaitGroup // of what runs, after a loss of data

	fetching, settling, beating *lifecycle.Loop
	daemons                     *daemons
}

// maxPerWorker is how many processors one worker has at the most, and maxHeld how many claims: taking one out of a list
// costs Redis the more the longer the list is.
const (
	maxPerWorker = 256
	maxHeld      = 512
)

func newWorker(p *WorkerPool, concurrency int, first bool) *worker {
	prefetch := p.options.Prefetch
	held := min(maxHeld, concurrency+prefetch+max(concurrency, 64))
	life, end := context.WithCancelCause(objects.NewContext(context.Background(), p.objects.cache))
	w := &worker{
		pool: p, driver: p.driver, store: p.store, events: p.events, clock: p.clock, first: first,
		concurrency: concurrency, registrations: p.registered,
		stuckAfter: p.stuckAfter, life: life, kill: func() { end(ErrShutdown) },
		slots:  newSlots(concurrency+prefetch, held),
		nudged: newNudge(), looks: newNudge(), sooner: newNudge(),
		ledger:   newLedger(p.clock, p.options.NoHistory),
		beats:    beatsOf(p.options.HeartbeatLife),
		outcomes: newOutbox(), doubts: make(chan chan<- struct{}), hints: make(chan struct{}, 1),
	}
	w.fence.after, w.fence.fall, w.fence.tell = p.options.FenceAfter, w.cutOff, w.tellCutOff
	w.crew = newCrew(concurrency, w.startProcessor)
	w.scribe = newScribe(w)
	names, _ := p.roster.now()
	priorities := make(map[string]int, len(names))
	for _, name := range names {
		priorities[name] = p.registered[name].options.Priority
	}
	w.fetching = w.loop("fetcher", newFetcher(w, priorities).run)
	w.settling = w.loop("settler", newSettler(w).run)
	w.beating = w.loop("heartbeater",
		(&heartbeater{worker: w, health: health{component: "heartbeater", events: w.events}}).run)
	if first {
		w.daemons = newDaemons(w)
	}
	return w
}

// loop makes a background loop that is reported and started again when it panics.
func (w *worker) loop(component string, run func(context.Context)) *lifecycle.Loop {
	return &lifecycle.Loop{
		Run: w.vitals.watched(component, run),
		Panic: func(value any, stack []byte) {
			w.events.emit(event.LoopPanicked{Component: component, Value: value, Stack: string(stack)})
		},
		Restart: backoff.For,
	}
}

func (w *worker) claimant() *claimant { return w.current.Load() }

// claimants returns the identity of the worker and those that it had before, as long as something of theirs is held.
func (w *worker) claimants() []*claimant {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.former = slices.DeleteFunc(w.former, func(c *claimant) bool { return len(c.runs()) == 0 })
	return append([]*claimant{w.claimant()}, w.former...)
}

// remember keeps a former identity of which something is held.
func (w *worker) remember(c *claimant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.former, c) {
		w.former = append(w.former, c)
	}
}

func (w *worker) stopping() bool { return w.halting.Load() }

// join makes the worker known to Redis.
func (w *worker) join(ctx context.Context) error {
	c := newClaimant(w.store, w.life)
	c.shared = &w.pool.numbers
	w.current.Store(c)
	return w.register(ctx, c, "")
}

// begin starts the goroutines of a worker that has joined.
func (w *worker) begin() {
	w.beating.Start(w.life)
	w.settling.Start(w.life)
	w.fetching.Start(w.life)
	if w.daemons != nil {
		w.daemons.start(w.life)
	}
}

func (w *worker) startProcessor() {
	w.processors.Add(1)
	go (&processor{worker: w}).loop()
}

// announce tells that the worker has begun.
func (w *worker) announce() {
	w.events.emit(event.WorkerStarted{
		Worker: w.claimant().rdb.ID, Concurrency: w.concurrency, Queues: w.duties.listed(),
	})
}

func (w *worker) register(ctx context.Context, c *claimant, former string) error {
	names := w.namesOf(c)
	w.duties.expect(names)
	defer w.duties.recheck(names) // whatever came of it: the roster may have changed meanwhile
	sent, begun := w.clock.ours(), time.Now()
	at, epoch, err := c.rdb.Register(ctx, rdb.Registration{
		Life: w.beats.life, Epoch: randomHex(16), Former: former, Info: w.info(len(names)), Queues: names,
	})
	if err != nil {
		return err
	}
	w.duties.registered(c, names)
	w.clock.saw(at, sent, w.clock.ours())
	c.setEpoch(epoch)
	w.heard(begun)
	w.vitals.registered()
	return nil
}

// info is what an operator wants to know of a worker, which serves so many names.
func (w *worker) info(names int) map[string]string {
	host, _ := os.Hostname() // unknown is shown as empty
	version := "unknown"
	if build, ok := debug.ReadBuildInfo(); ok {
		version = build.Main.Version
	}
	info := map[string]string{
		"host": host, "pid": strconv.Itoa(os.Getpid()), "go": runtime.Version(), "version": version,
		"started": strconv.FormatInt(w.clock.now().UnixMilli(), 10), "concurrency": strconv.Itoa(w.concurrency),
		"service": w.pool.service(), "schedules": w.pool.declaredIDs(), "serves": strconv.Itoa(names),
		"prefetch": strconv.Itoa(w.pool.options.Prefetch), "life": strconv.FormatInt(w.beats.life.Milliseconds(), 10),
	}
	if quotas := w.pool.quotas(); quotas != "" {
		info[rdb.InfoQuotas], info[rdb.InfoPool] = quotas, w.pool.incarnation
	}
	if wish := w.wish(); wish != "" { // Redis has forgotten it, or knows it of a former identity
		info["wanted"] = string(wish)
	}
	return info
}

// rejoin goes on under a new identity after a reaper took this one away. Running jobs are told: they run elsewhere.
func (w *worker) rejoin(old *claimant) error {
	w.rejoining.Lock()
	defer w.rejoining.Unlock()
	if w.claimant() != old {
		return nil // another goroutine did it
	}
	ctx, cancel := context.WithTimeout(w.life, fetchTimeout)
	defer cancel()
	if w.stopping() {
		if old.context().Err() == nil {
			w.absolve(ctx, old)
		}
		old.end(ErrFenced)
		return nil
	}
	next := newClaimant(w.store, w.life)
	next.shared = old.shared
	if err := w.register(ctx, next, old.rdb.ID); err != nil {
		return fmt.Errorf("this worker was declared dead and cannot register again: %w", err)
	}
	w.mu.Lock()
	w.former = append(w.former, old)
	w.mu.Unlock()
	w.current.Store(next)
	jobs := len(old.runs())
	old.end(ErrFenced)
	w.absolve(ctx, old)
	time.AfterFunc(w.stuckAfter, func() {
		for _, r := range old.runs() {
			r.reportStuck(ErrFenced)
		}
	})
	w.daemons.forgotten()
	w.events.emit(event.WorkerFenced{Worker: old.rdb.ID, Next: next.rdb.ID, Jobs: jobs})
	return nil
}

// reregister makes the worker known again to a Redis that has lost its data. Its jobs run on.
func (w *worker) reregister(ctx context.Context, c *claimant) error {
	before := c.knownEpoch()
	if err := w.register(ctx, c, ""); err != nil {
		return err
	}
	if c.knownEpoch() != before {
		w.pool.undeclared.Store(true)
		w.mistrust()
		w.daemons.forgotten()
		w.mourn(c)
	}
	return nil
}

// tooManyCrashes tells whether enough workers died with a job to bury it.
func (w *worker) tooManyCrashes(crashes *crash.Record) error {
	if !crashes.Damning(w.pool.options.MaxCrashes) {
		return nil
	}
	workers := crashes.Workers()
	return fmt.Errorf("%d workers died while they held it: %s", len(workers), excerpt.List(workers, ", "))
}

// giveBack releases claims that nobody holds to the front of their queues.
func (w *worker) giveBack(ctx context.Context, c *claimant, byQueue map[string][]string, died string) error {
	jobs := 0
	for queue, elements := range byQueue {
		for end := len(elements); end > 0; end -= rdb.MaxBatch { // newest lot first: the oldest must end up in front
			lot := elements[max(0, end-rdb.MaxBatch):end]
			settled, err := c.rdb.Settle(ctx,
				[]rdb.Call{c.rdb.Release(rdb.Released{Queue: queue, Elements: lot, Died: died})})
			if err != nil {
				return err
			}
			if settled[0].Err != nil {
				return settled[0].Err
			}
			jobs += len(lot) - len(settled[0].Gone)
		}
	}
	if jobs > 0 {
		w.events.emit(event.JobsReturned{Worker: c.rdb.ID, Jobs: jobs})
	}
	return nil
}
