package work

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/jobnames"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/questions"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/unique"
	"github.com/265d0351/work/internal/workgroup"
)

// WorkerPool runs jobs. Set it up with Middleware and Job, which collect every mistake until Start returns them all;
// then Start and Stop it, or let Run do both. A pool is set up by one goroutine; all else may be called concurrently.
type WorkerPool struct {
	engine
	concurrency int
	middlewares []middleware
	mistakes    []error

	mu       sync.Mutex
	state    poolState
	opened   bool
	openErr  error
	owned    bool // the driver was opened here, so it is closed here
	enqueuer *Enqueuer
	groups   []*group
	workers  []*worker     // of all groups
	sites    map[int]*site // of partitions, but for the home

	members *memberships
	binding *binding
	joining *lifecycle.Loop // of those
	scaler  *workgroup.Scaler[*group]
	scaling *lifecycle.Loop
	idling  *lifecycle.Loop // begins where there is an IdleTimeout

	abort      context.CancelFunc      // ends the start under way
	detach     func() bool             // from the ctx of Start
	deadline   *lifecycle.StopDeadline // when a stop waits for next to nothing more
	closed     bool                    // the connection, or about to be
	stopped    chan struct{}           // closed when the stop has ended
	stopErr    error
	stopsSince time.Time // when the stop began
}

type poolState int

const (
	poolNew      poolState = iota
	poolStarting           // the set-up is right, its workers are being registered
	poolStarted
	poolStopping
)

// NewWorkerPool makes a pool of so many processors. prototype is a struct, a pointer to a struct, or nil: each job gets
// a shallow copy of it as its context, so what is set in it is shared by all jobs. Mistakes are returned by Start.
func NewWorkerPool(prototype any, concurrency int, opts WorkerOptions) *WorkerPool {
	p := &WorkerPool{
		concurrency: concurrency, sites: map[int]*site{}, stopped: make(chan struct{}),
		deadline: lifecycle.NewStopDeadline(),
	}
	p.engine.set(opts.withDefaults())
	var err error
	p.codecs, err = newCodecs("WorkerOptions.Codecs", p.options.Codecs)
	p.note(err)
	p.handlers, err = handler.NewCompiler[*Job, NextFunc](prototype)
	p.handlers.Batch = batchLooks
	p.note(signatureError(err))
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
	compiled, err := compileMiddleware(p.handlers, fn)
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

// register notes mistakes instead of returning them, so that calls can be chained: Start returns all of them. After the
// start it has no effect. Handlers are compiled here, once.
func (p *WorkerPool) register(name string, opts JobOptions, fn any, site string) *WorkerPool {
	if p.tooLate("the registration of job "+excerpt.Brief(name), site) {
		return p
	}
	job := fmt.Sprintf("job %s (registered at %s)", excerpt.Brief(name), site)
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
	if err := opts.checkLimits(name); err != nil {
		p.note(fmt.Errorf("%s: %w", job, err))
	}
	if err := opts.checkQueue(name); err != nil {
		p.note(fmt.Errorf("%s: %w", job, err))
	}
	compiled, err := p.handlers.Handler(fn)
	if err != nil {
		p.note(fmt.Errorf("%s: %w", job, signatureError(err)))
	}
	if err == nil {
		if err := opts.Together.suits(compiled.Together(), compiled.String()); err != nil {
			p.note(fmt.Errorf("%s: %w", job, err))
		}
		_, more := compiled.Args()
		args := unique.NewArgs(compiled.Types(), more)
		if opts.Unique, err = opts.Unique.taking(name, args); err != nil {
			p.note(fmt.Errorf("%s: JobOptions.Unique: %w", job, err))
		}
		if opts.StrictArgs {
			compiled = compiled.Strict()
		}
	}
	codecs, err := newCodecs("JobOptions.Codecs", opts.Codecs)
	if err != nil {
		p.note(fmt.Errorf("%s: %w", job, err))
	}
	p.registered[name] = &registration{name: name, site: site, handler: compiled, options: opts.withDefaults(),
		labels: pprof.WithLabels(context.Background(), pprof.Labels("job", name)), codecs: codecs.Or(p.codecs)}
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

// Clone returns another pool with the handlers, the concurrency, the middleware and the jobs of p, and options of its
// own: of p's only EnqueueNames and EnqueueAnyName are taken over, in addition, and its schedules are not. It is not
// started, and what becomes of one pool does not concern the other. It is meant for tests, which run a program's jobs
// on a Redis of theirs (see package worktest).
//
// What is registered with p later is not in the clone. Mistakes of p's set-up are mistakes of the clone, except those
// of p's options. It may be called whatever the state of p, but not while another goroutine sets p up.
func (p *WorkerPool) Clone(opts WorkerOptions) *WorkerPool {
	opts.EnqueueNames = slices.Concat(opts.EnqueueNames, p.options.EnqueueNames)
	opts.EnqueueAnyName = opts.EnqueueAnyName || p.options.EnqueueAnyName
	clone := NewWorkerPool(nil, p.concurrency, opts)
	clone.handlers = p.handlers
	clone.middlewares = append(clone.middlewares, p.middlewares...)
	clone.messages = maps.Clone(p.messages)
	known := map[string]bool{}
	for _, err := range append(p.options.validate(), clone.mistakes...) {
		known[err.Error()] = true
	}
	for _, err := range p.mistakes {
		if !known[err.Error()] {
			clone.mistakes = append(clone.mistakes, err)
		}
	}
	for name, r := range p.registered { // without what a start adds to them
		codecs, _ := newCodecs("JobOptions.Codecs", r.options.Codecs) // a mistake is among those of p
		clone.registered[name] = &registration{name: r.name, site: r.site, handler: r.handler, options: r.options,
			labels: r.labels, codecs: codecs.Or(clone.codecs)}
	}
	return clone
}

// Enqueuer returns an Enqueuer that shares the pool's connection. It refuses names that are not registered with the
// pool, unless WorkerOptions.EnqueueNames has them or EnqueueAnyName is set, and args that the registered handler could
// not take; WorkerOptions.EnqueueMiddleware is around it. It works before Start, and until Stop has ended.
// If the pool's Redis options are wrong, each of its calls returns that error. Its Close is the pool's matter: the
// program need not call it.
func (p *WorkerPool) Enqueuer() *Enqueuer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.enqueuer != nil {
		return p.enqueuer
	}
	err := ErrClosed
	if !p.closed {
		err = p.open()
	}
	parts := partition.NewDirectory(unopened{err}, p.options.Namespace)
	if err == nil {
		parts = p.directory
	}
	p.enqueuer = newEnqueuer(parts, enqueuerSettings{
		maxArgs: p.options.MaxArgsSize, largeArgs: p.options.LargeArgs, home: p.options.ObjectHome,
		own: p.namesToEnqueue(), check: p.checkArgs, unique: p.uniqueOf, middlewares: p.options.EnqueueMiddleware,
		emit: p.events.emit, chain: p.allCodecs(), codec: p.codecsOf,
	})
	p.enqueuer.settings.err = err
	if p.closed {
		_ = p.enqueuer.Close() // it has nothing to lose
	}
	return p.enqueuer
}

// namesToEnqueue are those that its Enqueuer accepts; nil is any.
func (p *WorkerPool) namesToEnqueue() *jobnames.Rule {
	if p.options.EnqueueAnyName {
		return nil
	}
	return jobnames.OfPool(func(name string) bool { return p.registered[name] != nil },
		func() []string { return slices.Collect(maps.Keys(p.registered)) }, p.options.EnqueueNames)
}

// uniqueOf are the options with which the jobs of that name are registered; nil where they are not unique.
func (p *WorkerPool) uniqueOf(name string) *UniqueOptions {
	if registration := p.registered[name]; registration != nil {
		return registration.options.Unique
	}
	return nil
}

// codecsOf are the codecs of the jobs of that name; nil where it is not registered.
func (p *WorkerPool) codecsOf(name string) *codec.Chain {
	if registration := p.registered[name]; registration != nil {
		return registration.codecs
	}
	return nil
}

// allCodecs are the pool's own, which also know what those of its jobs know: a handler may ask for any result.
func (p *WorkerPool) allCodecs() *codec.Chain {
	all := p.codecs
	for _, registration := range p.registered {
		all = all.Knowing(registration.codecs)
	}
	return all
}

// checkArgs tells whether the handler registered for that name could take the args. Names that are not registered here
// are somebody else's.
func (p *WorkerPool) checkArgs(name string, args []byte) error {
	registration := p.registered[name]
	if registration == nil || registration.handler == nil {
		return nil
	}
	return argumentError(registration.handler.CheckArgs(args, recovered), false)
}

// unopened is the driver of a pool whose Redis options are wrong. It refuses as a server does that will not change its
// mind: nobody tries again.
type unopened struct{ err error }

func (u unopened) refusal() error { return redisconn.Unusable(u.err) }

func (u unopened) Pipeline(context.Context, ...redisconn.Call) ([]redisconn.Reply, error) {
	return nil, u.refusal()
}
func (u unopened) Dial(context.Context) (redisconn.Conn, error) { return nil, u.refusal() }
func (u unopened) Close() error                                 { return nil }
func (u unopened) Subscribe(context.Context, string, func(), func([]byte)) error {
	return u.refusal()
}
func (u unopened) SubscribeAll(context.Context, []string, func(), func(string, []byte)) error {
	return u.refusal()
}
func (u unopened) SubscribePatterns(context.Context, []string, func(), func(string, []byte)) error {
	return u.refusal()
}

// init shows the packages beside this one what programs do not see.
func init() {
	inside.Pool = func(pool any) inside.Of { return pool.(*WorkerPool).inside() }
	inside.Enqueuer = func(enqueuer any) inside.Of {
		core := enqueuer.(*Enqueuer).core
		return inside.Of{Partitions: core.parts, Store: core.store, MorgueLimit: defaultMorgueLimit, Emit: core.tell,
			Passes: len(core.middlewares) > 0, Intake: core.intake,
			Parts: inside.Parts{Clock: core.clock, Waiters: core.waiters.In(0)}}
	}
	inside.Usual = func() inside.Defaults {
		return inside.Defaults{Pool: WorkerOptions{}.withDefaults(), Job: JobOptions{}.withDefaults(),
			Namespace: defaultNamespace, EnqueueTimeout: defaultEnqueueTimeout}
	}
	inside.AsInvalid = asInvalid
	inside.Prepare = func(entry, by any) (rdb.NewJob, error) { return prepareForLater(entry.(Entry), by) }
	inside.Pass = func(ctx context.Context, enqueuer, entries, store any) error {
		_, err := enqueuer.(*Enqueuer).through(ctx, slices.Clone(entries.([]Entry)), store.(EnqueueFunc))
		return err
	}
	inside.Accepts = func(ctx context.Context, enqueuer any, name string, args []byte) (refusal, err error) {
		return enqueuer.(*Enqueuer).accepts(ctx, name, args)
	}
	inside.CodecError = codecError
	inside.NewCodecs = func(what string, codecs any) (*codec.Chain, error) { return newCodecs(what, codecs.([]Codec)) }
	inside.Opened = func(enqueuer any, id string, stored []byte) ([]byte, error) {
		e := enqueuer.(*Enqueuer)
		open, err := e.settings.codecs.Open(codec.Result(id), stored)
		if err != nil {
			return nil, codecError("the result of job "+excerpt.Brief(id), err)
		}
		return open, nil
	}
	inside.Codecs = func(enqueuer any, name string) *codec.Chain {
		e := enqueuer.(*Enqueuer)
		return e.core.codecsOf(&Entry{Name: name}, e.settings.codecs)
	}
}

// inside opens the connection of the pool, if that is not done yet. After the pool's end there is none.
func (p *WorkerPool) inside() inside.Of {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := inside.Of{MorgueLimit: p.options.MorgueLimit}
	if p.closed {
		of.Unusable = ErrClosed
	} else if of.Unusable = p.open(); of.Unusable == nil {
		of.Partitions, of.Store = p.directory, p.home.store
	}
	of.Parts = p.parts()
	return of
}

// parts are those that tests want; p.mu is held.
func (p *WorkerPool) parts() inside.Parts {
	parts := inside.Parts{Times: &p.times, Clock: p.home.clock, Requeued: p.home.requeued, Serving: p.servedQueues(),
		Declared: p.home.declared, DeclareLimits: p.home.declareLimits}
	if p.home.objects != nil {
		parts.Cache = p.home.objects.cache
	}
	for _, w := range p.workers {
		w.show(&parts)
	}
	return parts
}

// OnMessage has this pool's workers answer messages of that name, which inspect.Inspector.Ask sends, with what fn
// returns: a value that is written as JSON, of up to 64 KiB, or an error, of which the one who asks gets the text. The
// payload is the JSON that was sent, nil for none. The ctx of fn ends when the one who asks no longer waits, or a stop
// begins. fn is called in a goroutine of its own, up to eight at a time in each worker, and a panic is such an error;
// one that does not heed its ctx keeps its place. Each message is handled once by each worker that it was sent to,
// unless that dies.
//
// Every pool answers "echo", with the payload, and "info", with a [PoolInfo]. It is called before Start.
func (p *WorkerPool) OnMessage(name string,
	fn func(ctx context.Context, payload json.RawMessage) (any, error)) *WorkerPool {
	site := caller()
	if p.tooLate("OnMessage", site) {
		return p
	}
	err := validateName(name)
	refused := ""
	switch {
	case fn == nil:
		refused = "without a function"
	case name == "echo" || name == "info":
		refused = "answered by every pool"
	case p.messages[name] != nil:
		refused = "registered already"
	}
	if refused != "" {
		err = &InvalidError{What: "message " + excerpt.Brief(name), Value: refused,
			Remedy: "give each message a name and a function of its own"}
	}
	if err != nil {
		p.note(fmt.Errorf("OnMessage at %s: %w", site, err))
		return p
	}
	if p.messages == nil {
		p.messages = map[string]questions.Handler{}
	}
	p.messages[name] = fn
	return p
}
