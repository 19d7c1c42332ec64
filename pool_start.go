package work

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/retry"
	"github.com/265d0351/work/internal/subscription"
)

// Start registers the pool in Redis and starts to run jobs. It returns a *SetupError with every mistake of the set-up,
// or why Redis could not be used; then nothing is left running, and Start may be called again. When ctx ends later, a
// graceful stop begins. A Stop during the start ends it: it then returns ErrStopped.
func (p *WorkerPool) Start(ctx context.Context) error {
	joining, err := p.beginStart(ctx)
	if err != nil {
		return err
	}
	g, workers, err := p.join(joining)
	if err == nil && p.begin(ctx, g, workers) {
		for _, w := range workers {
			w.announce()
		}
		return nil
	}
	for _, w := range workers {
		w.discard(true)
	}
	if p.endFailedStart() {
		return ErrStopped
	}
	return err
}

// beginStart checks the set-up. The ctx that it returns ends when a stop comes in between.
func (p *WorkerPool) beginStart(ctx context.Context) (context.Context, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case poolNew:
	case poolStopping:
		return nil, ErrStopped
	default:
		return nil, ErrStarted
	}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	p.state = poolStarting
	ctx, p.abort = context.WithTimeout(ctx, p.times.Start)
	return ctx, nil
}

// prepare checks the set-up, chooses the served names and wraps their handlers.
func (p *WorkerPool) prepare() error {
	mistakes := slices.Clone(p.mistakes)
	if err := p.open(); err != nil {
		mistakes = append(mistakes, fmt.Errorf("WorkerOptions.Redis or Connection: %w", err))
	}
	served, err := p.choose()
	mistakes = append(mistakes, err...)
	mistakes = append(mistakes, p.checkPeriodics()...)
	mistakes = append(mistakes, p.collectShared()...)
	if len(mistakes) > 0 {
		return &SetupError{Mistakes: mistakes}
	}
	for _, registration := range p.registered { // any of them may be served later
		registration.quota = subscription.NewQuota(registration.options.MaxRunning)
		if queue := registration.options.Queue; queue != "" {
			registration.quota = p.shared.Of(queue).quota
		}
		run := runnerOf
		if registration.handler.Together() {
			run = runnerOfBatch
		}
		registration.invoke = chain(p.middlewares, run(registration.handler))
	}
	p.served, p.belongs = served, p.options.Service
	if p.belongs == "" {
		p.belongs = serviceOf(served)
	}
	p.serving.SetLabels(p.options.Labels)
	p.serving.Open(slices.Collect(maps.Keys(p.registered)), func(name string) bool { return served[name] != nil })
	for name, registration := range p.registered { // a Clone begins with a copy of the registration
		registration.withdrawn = p.serving.Withdrawn(name)
	}
	return nil
}

// choose returns the registrations that are served: all, or those of Only.
func (p *WorkerPool) choose() (map[string]*registration, []error) {
	if len(p.registered) == 0 {
		return nil, []error{&InvalidError{
			What: "the number of registered jobs", Value: "0", Remedy: "register at least one with Job",
		}}
	}
	if len(p.options.Only) == 0 {
		return maps.Clone(p.registered), nil
	}
	served := map[string]*registration{}
	known := sync.OnceValue(p.registeredNames)
	var mistakes []error
	for _, name := range slices.Compact(slices.Sorted(slices.Values(p.options.Only))) {
		registration := p.registered[name]
		if registration == nil {
			mistakes = append(mistakes, unregistered("a name in WorkerOptions.Only", excerpt.Brief(name), "", known))
			continue
		}
		served[name] = registration
	}
	return served, mistakes
}

// open opens Redis once, for the workers and for Enqueuer. It dials nothing.
func (p *WorkerPool) open() error {
	if p.opened {
		return p.openErr
	}
	p.opened = true
	p.driver, p.owned, p.openErr = openConnection(p.options.Redis, p.options.Connection)
	if p.openErr == nil {
		p.directory = partition.NewDirectory(p.driver, p.options.Namespace)
		p.directory.TellFlows(tellingFlows(p.events.emit))
		p.openErr = p.home.open()
	}
	return p.openErr
}

// join makes the first worker of the pool known to Redis, in each partition: a start that fails has run nothing.
func (p *WorkerPool) join(ctx context.Context) (*group, []*worker, error) {
	defer p.abort()
	if err := p.learnMap(ctx); err != nil {
		return nil, nil, fmt.Errorf("the worker pool cannot start: %w", err)
	}
	if err := p.declareShared(ctx, slices.Collect(maps.Keys(p.served))); err != nil {
		return nil, nil, fmt.Errorf("the worker pool cannot start: %w", err)
	}
	p.followShared(p.directory.Map())
	p.scaler, p.members, p.binding = newScaler(p), newMemberships(p), newBinding(p)
	p.binding.start(ctx, slices.Sorted(maps.Keys(p.served)))
	g := newGroup(&p.engine, min(p.concurrency, maxPerWorker), true)
	workers, err := p.joinAll(ctx, g, p.directory.Map().Served())
	p.binding.followUp(slices.Sorted(maps.Keys(p.served)))
	return g, workers, err
}

// joinPatiently joins a worker. Where Redis refuses that for a time (it is a replica that may be promoted, it loads its
// data) it is told once, and tried until the time of the start is over: programs start while servers do. A server that
// is a wrong one for good ends the start at once.
func (p *WorkerPool) joinPatiently(ctx context.Context, w *worker) error {
	health := healthreport.Reporter{Component: "start", Emit: p.events.emit}
	lasting := func(err error) bool { return !redisconn.Passes(err) }
	return retry.Steps{Final: lasting}.UntilAnswered(ctx, func(ctx context.Context) error {
		err := w.join(ctx)
		if err == nil || !lasting(err) {
			health.Report(err)
		}
		return err
	})
}

// begin starts the workers, unless a stop came in between.
func (p *WorkerPool) begin(ctx context.Context, g *group, workers []*worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != poolStarting {
		return false
	}
	g.workers = workers
	p.groups, p.workers = []*group{g}, workers
	for _, w := range workers {
		w.begin()
	}
	p.scaling = p.scalingLoop()
	p.scaling.Start(context.Background()) // until the stop
	p.joining = restarting("partitions", p.events, p.members.run)
	p.joining.Start(context.Background()) // until the stop
	p.idling = restarting("idle watch", p.events, (&idleWatch{pool: p}).run)
	if p.options.IdleTimeout > 0 {
		p.idling.Start(context.Background()) // until the stop
	}
	p.state = poolStarted
	p.serving.Tell()
	// whoever waits in Stop gets the error
	p.detach = context.AfterFunc(ctx, func() { _ = p.Stop(context.Background()) })
	return true
}

// discard ends a worker that has run nothing, and removes it from Redis where that may know it. What fails here a
// reaper does in a few seconds.
func (w *worker) discard(known bool) {
	if known {
		ctx, cancel := context.WithTimeout(context.Background(), w.engine.times.Undo)
		defer cancel()
		_ = w.leave(ctx, "") // there is an error of its own
	}
	w.kill()
	w.fence.Stop() // it would tell of a worker that never was
	w.slots.Part()
}

// endFailedStart makes the pool ready for another start. It returns true when it was stopped meanwhile: then that stop
// is over.
func (p *WorkerPool) endFailedStart() bool {
	p.mu.Lock()
	stopped := p.state == poolStopping
	if !stopped {
		p.state = poolNew
	}
	p.mu.Unlock()
	p.serving.Tell()
	if stopped {
		p.closeConnection()
		close(p.stopped)
	}
	return stopped
}
