package work

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/lifecycle"
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
	incarnation string // by which others see which workers are of one pool

	mu       sync.Mutex
	state    poolState
	opened   bool
	openErr  error
	driver   rdb.Driver
	owned    bool // the driver was opened here, so it is closed here
	store    *rdb.Store
	objects  *poolObjects
	enqueuer *Enqueuer
	events   *stream
	clock    *redisClock
	belongs  string                   // the service, from the start on
	served   map[string]*registration // at the start; what is served now is in the roster
	roster   roster
	workers  []*worker

	recruiter  *recruiter
	recruiting *lifecycle.Loop
	staffing   time.Duration // how often the recruiter looks who is idle
	dismissal  time.Duration // after which an idle worker leaves

	abort      context.CancelFunc // ends the start under way
	detach     func() bool        // from the ctx of Start
	hurried    *haste             // makes the stop wait for next to nothing
	closed     bool               // the connection, or about to be
	stopped    chan struct{}      // closed when the stop has ended
	stopErr    error
	stopsSince time.Time // when the stop began
	stuckAfter time.Duration
	hookTime   time.Duration // that OnDeath may take
	parkTime   time.Duration
	suspect    atomic.Pointer[run] // the one that this pool runs, of those that workers have died with
	tidying    time.Duration       // how often the janitor works
	dueRest    time.Duration       // how long those who move what is due rest at the most
	undeclared atomic.Bool         // Redis may have forgotten the limits
	periodics  []periodic          // what Periodic was asked for

	firstBeat   atomic.Int64  // ns
	numbers     atomic.Int64  // of fetches
	returns     returns       // what was given back
	fleet       int           // so many workers are a large fleet: see heartbeater.spares
	surveyRound time.Duration // in which each worker asks about all names that it serves
}

type poolState int

const (
	poolNew      poolState = iota
	poolStarting           // the set-up is right, its workers are being registered
	poolStarted
	poolStopping
)

// registration is a job name with what runs it.
type registration struct {
	name    string
	site    string // where it was registered
	handler *handler
	options JobOptions
	invoke  runner          // the handler inside all middleware
	labels  context.Context // carries the profiler's label of its jobs
	quota   *quota          // nil where the pool may run any number of them
	away    *atomic.Bool    // it is not served: nothing of it begins; nil before the start
}

// NewWorkerPool makes a pool of so many processors. prototype is a struct, a pointer to a struct, or nil: each job gets
// a shallow copy of it as its context, so what is set in it is shared by all jobs. Mistakes are returned by Start.
func NewWorkerPool(prototype any, concurrency int, opts WorkerOptions) *WorkerPool {
	p := &WorkerPool{
		concurrency: concurrency, options: opts.withDefaults(),
		registered: map[string]*registration{}, stopped: make(chan struct{}), stuckAfter: 5 * time.Second,
		hookTime: deathHookTime, parkTime: 5 * time.Second,
		tidying: janitorInterval, dueRest: longestRest, staffing: recruitLook, dismissal: recruitIdle,
		surveyRound: surveyRound, fleet: fleetOf, incarnation: randomHex(8),
	}
	p.hurried = newHaste()
	p.returns.sending = make(chan struct{}, 1)
	p.returns.life = returnsLife + max(0, p.options.ShutdownTimeout)
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
	site := caller()
	if p.tooLate("Middleware", site) {
		return p
	}
	compiled, err := compileMiddleware(p.prototype, fn)
	if err != nil {
		p.note(fmt.Errorf("middleware added at %s: %w", site, err))
		return p
	}
	p.middlewares = append(p.middlewares, compiled)
	return p
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
	if p.tooLate("the registration of job "+quoted(name), site) {
		return p
	}
	job := fmt.Sprintf("job %s (registered at %s)", quoted(name), site)
	if before := p.registered[name]; before != nil {
		p.note(&InvalidError{
			What: job, Value: "registered already, at " + before.site, Remedy: "give each handler a name of its own",
		})
		return p
	}
	if err := validateName(name); err != nil {
		p.note(fmt.Errorf("%s: %w", job, err))
	}
	for _, err := range opts.validate() {
		p.note(fmt.Errorf("%s: %w", job, err))
	}
	if err := opts.Limit.check(name); err != nil {
		p.note(fmt.Errorf("%s: %w", job, err))
	}
	compiled, err := compileHandler(p.prototype, fn)
	if err != nil {
		p.note(fmt.Errorf("%s: %w", job, err))
	}
	if err == nil && opts.Unique != nil {
		if err := compiled.checkUnique(name, opts.Unique); err != nil {
			p.note(fmt.Errorf("%s: JobOptions.Unique: %w", job, err))
		}
	}
	p.registered[name] = &registration{name: name, site: site, handler: compiled, options: opts.withDefaults(),
		labels: pprof.WithLabels(context.Background(), pprof.Labels("job", name))}
	return p
}

// tooLate tells whether the pool is started, so that the call of a set-up method has no effect. No Start would return
// that mistake: it goes to the log.
func (p *WorkerPool) tooLate(what, site string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == poolNew {
		return false
	}
	p.options.Logger.Error("work: "+what+" came after the worker pool was started or stopped: it has no effect", "at",
		site)
	return true
}

// caller returns the file and line of the code that called into this package.
func caller() string {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return "an unknown place"
	}
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}
