package work

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/stopped"
	"github.com/265d0351/work/internal/workgroup"
)

// What tests outside of the package see and set, beside what a program can. Where a method looks at one worker, it is
// the first one of the pool.

const (
	DoubtFor        = distrustTime
	DrainInterval   = drainInterval
	FleetOf         = fleetOf
	LookInterval    = lookInterval
	LookOverdue     = lookOverdue
	MaxPerWorker    = maxPerWorker
	MaxResultBytes  = maxResultBytes
	NextCalledTwice = nextCalledTwice
	NextEntries     = nextEntries
	NextNilContext  = nextNilContext
	NextNotCalled   = nextNotCalled
	NextTooLate     = nextTooLate
	NextUnfinished  = nextUnfinished
)

var (
	AsInvalid          = asInvalid
	ErrFencedMeanwhile = errFencedMeanwhile
	ErrHookLate        = errHookLate
	ErrListed          = errListed
)

// Stopping tells whether the last of the workers that the pool began with has heard of the stop.
func (p *WorkerPool) Stopping() bool { return p.workers[len(p.workers)-1].stopping() }

// Life ends when the first of the workers that the pool began with may do nothing any more.
func (p *WorkerPool) Life() context.Context { return p.workers[0].life }

// OnStore makes an Enqueuer that uses a store.
func OnStore(store *rdb.Store, opts ...EnqueuerOption) *Enqueuer {
	var settings enqueuerSettings
	for _, opt := range opts {
		opt(&settings)
	}
	return newEnqueuer(partition.NewDirectory(store.Driver(), store.Namespace()), settings)
}

// Checking is an option by which args may be refused, as the Enqueuer of a pool does.
func Checking(check func(name string, args []byte) error) EnqueuerOption {
	return func(s *enqueuerSettings) { s.check = check }
}

// WrapIn puts middleware around an Enqueuer that nobody uses yet.
func (e *Enqueuer) WrapIn(middlewares []EnqueueMiddleware) {
	e.core.middlewares = middlewares
	e.compose()
}

// EnqueueOne enqueues one Entry as Enqueue does.
func (e *Enqueuer) EnqueueOne(ctx context.Context, entry Entry) (Receipt, error) {
	return e.enqueue(ctx, entry)
}

// StopDaemons ends what the first worker of the pool does for all.
func (p *WorkerPool) StopDaemons() { p.workers[0].daemons.stop() }

// WhatIsLeft is what a drain of a pool that has not started would say, in a store.
func (p *WorkerPool) WhatIsLeft(store *rdb.Store) string {
	p.home.store, p.directory = store, partition.NewDirectory(store.Driver(), store.Namespace())
	p.serving.Open(slices.Collect(maps.Keys(p.registered)), func(string) bool { return true })
	return p.describeLeftover()
}

// CloseConnection undoes what the start of a pool began with.
func (p *WorkerPool) CloseConnection() { p.closeConnection() }

// MoreWork has the pool take another worker, as if there were work for it.
func (p *WorkerPool) MoreWork() { p.scaler.Call() }

// Signs are what the worker's loops say of themselves.
func (p *WorkerPool) Signs() *liveness.Signs { return &p.workers[0].signs }

func (p *WorkerPool) HealthyBy(ctx context.Context) error { return p.healthyBy(ctx) }
func (p *WorkerPool) Deadly() []HealthProblem             { return p.deadly() }

// Loop is one more loop of the worker.
func (p *WorkerPool) Loop(name string, run func(ctx context.Context)) *lifecycle.Loop {
	return p.workers[0].loop(name, run)
}

// NewReaper makes a reaper of the worker's that has seen nothing.
func (p *WorkerPool) NewReaper() *deadPoolReaper { return newDeadPoolReaper(p.workers[0]) }

// Salvage takes dead workers apart.
func (d *deadPoolReaper) Salvage(ctx context.Context, ids ...string) (left []string, err error) {
	return d.putBackJobs(ctx, ids...)
}

// Given is how many jobs of a queue it remembers that it has put back.
func (d *deadPoolReaper) Given(queue string) int { return len(d.given[queue]) }

// StoreOne is EnqueueOne without its middleware.
func (e *Enqueuer) StoreOne(ctx context.Context, entry Entry) (Receipt, error) {
	return e.store(ctx, entry)
}

// Suspecting has the reaper believe that it has seen workers overdue since then.
func (d *deadPoolReaper) Suspecting(since map[string]time.Time) *deadPoolReaper {
	d.missing = since
	return d
}

// Suspects tells whether it has seen the worker overdue.
func (d *deadPoolReaper) Suspects(id string) bool { _, seen := d.missing[id]; return seen }

func (d *deadPoolReaper) Look(ctx context.Context) error { return d.look(ctx) }
func (d *deadPoolReaper) Told(watches bool)              { d.setWatching(watches) }

// Lease is for how long its worker asks for a place among those that look.
func (d *deadPoolReaper) Lease(now time.Time) time.Duration { return (&daemons{reaper: d}).lease(now) }

// StrangeReaper is the reaper of a worker that nobody has registered.
func (p *WorkerPool) StrangeReaper(ctx context.Context, store *rdb.Store) *deadPoolReaper {
	w := &worker{store: store, events: p.events}
	w.current.Store(newSession(store, ctx))
	return &deadPoolReaper{worker: w}
}

// LoneWorker is the only worker of a pool, which Redis knows and whose goroutines have not begun.
type LoneWorker struct {
	pool *WorkerPool
	w    *worker
}

// LoneWorker makes it. The pool is not started besides.
func (p *WorkerPool) LoneWorker(ctx context.Context, concurrency int) (LoneWorker, error) {
	if err := p.prepare(); err != nil {
		return LoneWorker{}, err
	}
	w := newWorker(p.home, newGroup(&p.engine, concurrency, true), p)
	return LoneWorker{p, w}, w.join(ctx)
}

func (l LoneWorker) Begin()                          { l.w.begin() }
func (l LoneWorker) Leave(ctx context.Context) error { return l.w.leave(ctx, stopped.Stopped) }

// Halt has the worker know of a stop that has not begun to wait for anything.
func (l LoneWorker) Halt() { l.w.stopRequested.Store(true) }

// Strand has a processor that never takes up what it was given.
func (l LoneWorker) Strand() { l.w.slots.Occupy(1) }

// Unbegun is how many jobs it has put away since it halted.
func (l LoneWorker) Unbegun() int {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return len(l.w.unbegun)
}

// Stop stops it, giving handlers so much time.
func (l LoneWorker) Stop(patience time.Duration) error {
	defer l.w.group.close()
	return l.w.stop(l.pool.deadline, patience).orNil()
}

// FetchAndRelease fetches jobs of a queue and gives all of them back in one settlement, the newest decided first, of
// which the oldest few have begun. It returns how many are not settled.
func (l LoneWorker) FetchAndRelease(ctx context.Context, queue string, jobs, begun int) (left int, err error) {
	l.w.runners = workgroup.NewPool[run](jobs, func() {}) // nobody takes them
	if err := newFetcher(l.w).fetch([]rdb.Share{{Queue: queue, Jobs: jobs}}); err != nil {
		return 0, err
	}
	settler := newSettler(l.w)
	for i := range jobs {
		r := l.w.runners.Take(false)
		if i < begun {
			r.begun.Store(time.Now().UnixNano())
		}
		r.decision = decision{verb: verbRelease}
		settler.pending = append(settler.pending, r)
	}
	slices.Reverse(settler.pending)
	err = settler.send(ctx)
	return len(settler.pending), err
}

// Fetched has the first worker of the pool hold a job as if a fetch had brought it. It returns what is closed once the
// job is called off, and what has a processor take it up.
func (p *WorkerPool) Fetched(name string, job rdb.FetchedJob) (calledOff <-chan struct{}, process func()) {
	w, r := p.workers[0], &run{}
	r.fill(w, w.session(), w.engine.registrationOf(name), &job)
	w.session().hold([]*run{r})
	w.slots.Hold(1)
	w.slots.Occupy(1)
	return r.attempt.Done(), func() { (&processor{group: w.group}).process(r) }
}

// PrepareOne makes a request of an Entry, which is not sent.
func (e *Enqueuer) PrepareOne(entry *Entry) error { _, err := e.prepare(entry); return err }

// CompileAlone compiles a handler for a pool without a context; run runs it with these args.
func CompileAlone(fn any) (h *handler.Handler, run func(ctx context.Context, args string) error, err error) {
	c, err := handler.NewCompiler[*Job, NextFunc](nil)
	if err != nil {
		return nil, nil, err
	}
	if h, err = c.Handler(fn); err != nil {
		return nil, nil, err
	}
	return h, func(ctx context.Context, args string) error {
		_, _, err := runnerOf(h)(ctx, c.UserContext(), &Job{Args: []byte(args)})
		return err
	}, nil
}
