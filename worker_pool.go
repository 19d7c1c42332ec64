package work

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// WorkerPool runs jobs. Set it up with Middleware and Job, which collect every mistake until Start returns them all;
// then Start and Stop it, or let Run do both. A pool is set up by one goroutine; all else may be called concurrently.
type WorkerPool struct {
	prototype   prototype
	concurrency int
	options     WorkerOptions
	middlewares []middleware
	registered  map[string]*registration
	mistakes    []error

	mu       sync.Mutex
	state    poolState
	opened   bool
	openErr  error
	driver   rdb.Driver
	owned    bool // the driver was opened here, so it is closed here
	store    *rdb.Store
	enqueuer *Enqueuer
	events   *stream
	clock    *redisClock
	served   map[string]*registration
	workers  []*worker

	hurry      context.CancelFunc // makes the stop under way skip what it waits for
	hurried    context.Context
	stopped    chan struct{} // closed when the stop has ended
	stopErr    error
	detach     func() bool // from the ctx of Start
	stuckAfter time.Duration
}

type poolState int

const (
	poolNew poolState = iota
	poolStarted
	poolStopping
)

// registration is a job name with what runs it.
type registration struct {
	name    string
	site    string // where it was registered
	handler *handler
	options JobOptions
	invoke  runner // the handler inside all middleware
}

// NewWorkerPool makes a pool of so many processors. prototype is a struct, a pointer to a struct, or nil: each job gets
// a shallow copy of it as its context, so what is set in it is shared by all jobs. Mistakes are returned by Start.
func NewWorkerPool(prototype any, concurrency int, opts WorkerOptions) *WorkerPool {
	p := &WorkerPool{
		concurrency: concurrency, options: opts.withDefaults(),
		registered: map[string]*registration{}, stopped: make(chan struct{}), stuckAfter: 5 * time.Second,
	}
	p.hurried, p.hurry = context.WithCancel(context.Background())
	p.events = newStream(p.options.Logger, p.options.Observers)
	p.clock = &redisClock{}
	var err error
	p.prototype, err = newPrototype(prototype)
	p.note(err)
	if concurrency < 1 || concurrency > maxConcurrency {
		p.note(&InvalidError{
			What: "the concurrency of the worker pool", Value: fmt.Sprint(concurrency), Remedy: "give 1 to 100,000",
		})
	}
	p.mistakes = append(p.mistakes, p.options.validate()...)
	return p
}

func (p *WorkerPool) note(err error) {
	if err != nil {
		p.mistakes = append(p.mistakes, err)
	}
}

// Middleware wraps every job in fn, func([c *Context,] ctx context.Context, job *Job, next NextFunc) error. The first
// one given is the outermost. The ctx given to next is what the rest of the chain sees; not calling next decides the
// outcome by the error that is returned.
func (p *WorkerPool) Middleware(fn any) *WorkerPool {
	compiled, err := compileMiddleware(p.prototype, fn)
	p.note(err)
	if err == nil {
		p.middlewares = append(p.middlewares, compiled)
	}
	return p.notStarted("Middleware")
}

// Job registers a handler for jobs of that name, with default options.
func (p *WorkerPool) Job(name string, handler any) *WorkerPool {
	return p.register(name, JobOptions{}, handler, caller())
}

// JobWithOptions registers a handler for jobs of that name.
func (p *WorkerPool) JobWithOptions(name string, opts JobOptions, handler any) *WorkerPool {
	return p.register(name, opts, handler, caller())
}

func (p *WorkerPool) register(name string, opts JobOptions, fn any, site string) *WorkerPool {
	if err := validateName(name); err != nil {
		p.note(fmt.Errorf("%w (registered at %s)", err, site))
	}
	p.mistakes = append(p.mistakes, opts.validate(name)...)
	if before := p.registered[name]; before != nil {
		p.note(&InvalidError{
			What: "the job registered at " + site, Value: name,
			Remedy: "it was registered before, at " + before.site + "; give each handler a name of its own",
		})
		return p
	}
	compiled, err := compileHandler(p.prototype, fn)
	if err != nil {
		p.note(fmt.Errorf("job %q (registered at %s): %w", name, site, err))
	}
	p.registered[name] = &registration{name: name, site: site, handler: compiled, options: opts.withDefaults()}
	return p.notStarted("Job")
}

// notStarted notes a mistake that nobody would see if the pool runs already: it is told to the log.
func (p *WorkerPool) notStarted(method string) *WorkerPool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != poolNew {
		p.options.Logger.Error("work: " + method + " was called on a worker pool that is started: it has no effect")
	}
	return p
}

// caller returns the file and line of the code that called into this package.
func caller() string {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return "an unknown place"
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Start registers the pool in Redis and starts to run jobs. It returns a *SetupError with every mistake of the set-up,
// or why Redis could not be used; then nothing is left running. When ctx ends later, a graceful stop begins.
func (p *WorkerPool) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.state == poolStopping:
		return ErrStopped
	case p.state == poolStarted:
		return ErrStarted
	}
	if err := p.prepare(); err != nil {
		return err
	}
	if err := p.startWorkers(ctx); err != nil {
		return err
	}
	p.state = poolStarted
	p.detach = context.AfterFunc(ctx, func() { _ = p.Stop(context.Background()) }) // whoever waits in Stop gets the error
	return nil
}

// prepare checks the set-up, chooses the served names and wraps their handlers.
func (p *WorkerPool) prepare() error {
	mistakes := slices.Clone(p.mistakes)
	if err := p.open(); err != nil {
		mistakes = append(mistakes, err)
	}
	served, err := p.choose()
	if err != nil {
		mistakes = append(mistakes, err...)
	}
	if len(mistakes) > 0 {
		return &SetupError{Mistakes: mistakes}
	}
	for _, registration := range served {
		registration.invoke = chain(p.middlewares, registration.handler.run)
	}
	p.served = served
	return nil
}

// choose returns the registrations that are served: all, or those of Only.
func (p *WorkerPool) choose() (map[string]*registration, []error) {
	if len(p.options.Only) == 0 {
		if len(p.registered) == 0 {
			return nil, []error{&InvalidError{
				What: "the number of registered jobs", Value: "0", Remedy: "register at least one with Job",
			}}
		}
		return p.registered, nil
	}
	served := map[string]*registration{}
	var mistakes []error
	for _, name := range p.options.Only {
		registration := p.registered[name]
		if registration == nil {
			mistakes = append(mistakes, &InvalidError{
				What: "WorkerOptions.Only", Value: name,
				Remedy: fmt.Sprintf("no such job is registered; there are %q", slices.Sorted(maps.Keys(p.registered))),
			})
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
		p.store = rdb.NewStore(p.driver, p.options.Namespace)
	}
	return p.openErr
}

func (p *WorkerPool) startWorkers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*fetchTimeout)
	defer cancel()
	for left := p.concurrency; left > 0; {
		n := min(left, maxPerWorker)
		w := newWorker(p, n, len(p.workers) == 0)
		if err := w.start(ctx); err != nil {
			p.undo()
			return fmt.Errorf("the worker pool cannot start: %w", err)
		}
		p.workers = append(p.workers, w)
		left -= n
	}
	return nil
}

// undo stops the workers of a start that failed, so that it can be tried again.
func (p *WorkerPool) undo() {
	for _, w := range p.workers {
		_ = w.stop(p.hurried, 0) // it ran nothing yet, and the start has an error of its own
	}
	p.workers = nil
}
