package work

import (
	"context"
	"fmt"
	"runtime/pprof"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/workgroup"
)

// newGroup makes a group without workers.
func newGroup(e *engine, concurrency int, first bool) *group {
	g := &group{id: ids.Random(8), concurrency: concurrency, first: first, events: e.events,
		places: workgroup.NewPlaces(concurrency + max(0, e.options.Prefetch))}
	g.runners = workgroup.NewPool[run](concurrency, g.startProcessor)
	return g
}

// startProcessor is called by the pool of runners, when a job waits and all goroutines are busy, up to the concurrency.
// The stop waits for processors, so it counts before the goroutine begins.
func (g *group) startProcessor() {
	g.processors.Add(1)
	go (&processor{group: g}).loop()
}

// processor is one goroutine that runs one job at a time.
type processor struct {
	group   *group
	current *run // that has begun; nil between jobs
	calls   bool // the handler of the current one was called
}

// loop runs jobs until it is told to leave. A handler may end this very goroutine (runtime.Goexit): then its job ends
// with an error and another goroutine takes over.
func (p *processor) loop() {
	returned := false
	defer func() {
		if returned {
			p.group.processors.Done()
			return
		}
		var err error = &GoexitError{}
		if value := recover(); value != nil { // not of the job's code, which call guards: a bug of ours
			stack := excerpt.PanicStack()
			err = &PanicError{Value: value, Stack: stack}
			defer p.group.events.emit(event.LoopPanicked{Component: "processor", Value: value, Stack: stack})
		}
		p.replace(err)
	}()
	if p.current != nil {
		p.runCurrent() // on behalf of a goroutine that was ended before it called the handler
	}
	for r := p.group.runners.Take(true); r != nil; r = p.group.runners.Take(false) {
		p.process(r)
	}
	returned = true
}

// replace starts another goroutine in place of this one, which is ending, and ends its job; one whose handler was not
// called goes on there. The start is deferred: the job's end calls code of the program once more (Backoff, observers),
// and that may call Goexit again.
func (p *processor) replace(err error) {
	next := &processor{group: p.group}
	defer func() { go next.loop() }()
	switch {
	case p.current == nil:
	case !p.calls:
		next.current = p.current
	default:
		p.end(nil, false, err)
	}
}

// process runs one job to its end, unless a gate keeps it from beginning.
func (p *processor) process(r *run) {
	if b := r.together.Load(); b != nil {
		p.processTogether(b)
		return
	}
	if !r.notBefore.IsZero() { // a rate lets it begin then; a stop gives it back then
		backoff.Pause(r.worker.life, time.Until(r.notBefore))
	}
	if p.admit(r) {
		p.begin(r)
		p.runCurrent()
	}
}

// admit asks the gates whether the run may begin. Where one of them says no, or code of the program ends this goroutine
// there, the run leaves its places in the quota and among the processors; one about which nobody has decided is tried
// again later.
func (p *processor) admit(r *run) (begins bool) {
	decided := false
	defer func() {
		if begins {
			return
		}
		defer r.worker.slots.Vacate()
		defer r.worker.slots.TakeUp()
		defer r.leave()
		if !decided {
			r.worker.handOver(r, deferral())
		}
	}()
	begins = r.worker.admit(r)
	decided = true
	return begins && r.markBegun()
}

// markBegun notes that the run begins. It returns false where its outcome is decided: a stop or a fence that waited no
// longer for the last gate has requeued its job. Whoever decides looks afterwards whether it has begun, so one of the
// two sees the other.
func (r *run) markBegun() bool {
	r.begun.Store(time.Now().UnixNano())
	if r.settled.Load() {
		r.begun.Store(0)
		return false
	}
	return true
}

// begin gives the run its ctx, which ends with the job, with its timeout, or with the worker.
func (p *processor) begin(r *run) {
	p.current, p.calls = r, false
	r.worker.noteBegun()
	r.ctx = &r.attempt
	if limit, cause := r.timeLimit(r.worker.clock); limit > 0 {
		r.limit = limit
		ctx, stopTimer := context.WithTimeoutCause(r.ctx, limit, cause)
		over := time.AfterFunc(limit, func() { r.overtime(func() { r.reportStuck(cause) }) })
		r.ctx, r.stopTimers = ctx, func() { over.Stop(); stopTimer() }
	}
	if r.worker.events.perJob() { // last: an observer may end this goroutine, and another one runs the job
		r.worker.events.emitHere(event.JobStarted{JobRef: r.ref(), Waited: r.waited()})
	}
}

// runCurrent runs the job that has begun.
func (p *processor) runCurrent() {
	p.calls = true
	p.end(p.call(p.current))
}

// waited is how long ago the run was due, as far as its record says.
func (r *run) waited() time.Duration {
	if r.job.RunAt.IsZero() {
		return 0
	}
	return max(0, r.worker.clock.Now().Sub(r.job.RunAt))
}

// call runs middleware and handler, and turns a panic into an error.
func (p *processor) call(r *run) (result any, hasResult bool, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = recovered(value)
		}
	}()
	pprof.SetGoroutineLabels(r.registration.labels)
	defer pprof.SetGoroutineLabels(context.Background())
	ctx := r.ctx
	if b := r.together.Load(); b != nil {
		ctx = b.ctx
	} else if err := r.openArgs(); err != nil {
		return nil, false, err
	}
	return r.registration.invoke(ctx, r.worker.engine.handlers.UserContext(), r.job)
}

func (p *processor) end(result any, hasResult bool, err error) {
	r := p.current
	if b := r.together.Load(); b != nil {
		p.endTogether(b, err)
		return
	}
	elapsed := time.Since(r.begunAt())
	// calls code of the program: if that ends this goroutine, replace ends the job
	d := r.decide(result, hasResult, err, r.worker.clock.Now())
	p.current = nil
	if absence := r.absence.Load(); absence != nil {
		absence.Close() // a goroutine of the handler may wait on
	}
	defer r.vacate()
	defer r.leave()
	defer r.endContext()
	r.worker.handOverAfter(r, d, elapsed)
}

// endContext ends the ctx of the attempt, and its timers.
func (r *run) endContext() {
	if r.stopTimers != nil {
		r.stopTimers()
	}
	r.attempt.End(nil)
}

// A handler that waits for other jobs leaves its processor to them, or to any other job, until it goes on: were all
// processors taken by handlers that wait, what these wait for would never begin. It counts neither as running nor
// against what may be fetched then. Its claim, the quota of its pool and the limits of its name know nothing of that.

// await is awaiting for the handler of this run. The wait ends with the stop of the worker, which fetches nothing any
// more that it could be for; one that begins after that is given what is there.
func (r *run) await(ctx context.Context, wait func(context.Context) error, look func(context.Context) bool) error {
	if b := r.together.Load(); b != nil {
		r = b.lead() // all of them have one processor
	}
	absence := r.absenceOf()
	if absence == nil {
		return wait(ctx)
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.worker.untilStop, func() { cancel(ErrShutdown) })()
	if err := absence.Begin(); err != nil {
		if look != nil && look(ctx) {
			return nil
		}
		return Release(fmt.Errorf("job %s cannot wait for others: %w", excerpt.Brief(r.job.ID), err))
	}
	defer absence.End(within)
	err := wait(within)
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return Release(err)
	}
	return err
}

// absenceOf is the absence of the run, made if need be; nil where the attempt is over, whose goroutines leave nothing.
func (r *run) absenceOf() *workgroup.Absence {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	if r.absence.Load() == nil && !r.long.over {
		r.absence.Store(&workgroup.Absence{Leave: r.leaveProcessor, Return: r.returnToProcessor})
	}
	return r.absence.Load()
}

// leaveProcessor has another job run in the place of this one. It refuses where nothing more is begun, and where as
// many wait as may: each is a claim that Redis lists and a goroutine with all that its handler holds.
func (r *run) leaveProcessor() error {
	w := r.worker
	if w.stopping() {
		return ErrShutdown
	}
	if most := w.engine.times.Waiting; !w.slots.Leave(most) {
		return fmt.Errorf("%d handlers of this worker wait for other jobs already: its job is to be tried again later",
			most)
	}
	w.clear(r) // else the jobs that it waits for would be kept back, should they be suspects too
	w.runners.Away()
	return nil
}

// returnToProcessor takes a processor again, before the jobs that wait for one.
func (r *run) returnToProcessor(ctx context.Context) {
	r.worker.slots.Return()
	r.worker.runners.Return(ctx)
}
