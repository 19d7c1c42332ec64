package work

import (
	"context"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
)

// processor is one goroutine that runs one job at a time.
type processor struct {
	worker  *worker
	current *run // nil between jobs
}

// loop runs jobs until it is told to leave. A handler may end this very goroutine (runtime.Goexit): then its job ends
// with an error and another goroutine takes over.
func (p *processor) loop() {
	returned := false
	defer func() {
		if returned {
			p.worker.processors.Done()
			return
		}
		var err error = &GoexitError{}
		if value := recover(); value != nil { // not of the job's code, which call guards: a bug of ours
			stack := excerpt.CutStack(string(debug.Stack()))
			err = &PanicError{Value: value, Stack: stack}
			defer p.worker.events.emit(event.LoopPanicked{Component: "processor", Value: value, Stack: stack})
		}
		p.replace(err)
	}()
	for r := p.worker.runners.Take(true); r != nil; r = p.worker.runners.Take(false) {
		p.process(r)
	}
	returned = true
}

// replace starts another goroutine in place of this one, which is ending, and ends its job. The start is deferred: the
// job's end calls code of the program once more (Backoff, observers), and that may call Goexit again.
func (p *processor) replace(err error) {
	defer func() { go (&processor{worker: p.worker}).loop() }()
	if p.current != nil {
		p.end(nil, false, err)
	}
}

// process runs one job to its end, unless a gate keeps it from beginning.
func (p *processor) process(r *run) {
	if !r.notBefore.IsZero() { // a rate lets it begin then; a stop gives it back then
		backoff.Pause(p.worker.life, time.Until(r.notBefore))
	}
	if !p.worker.admit(r) {
		r.leave()
		p.worker.slots.TakeUp()
		p.worker.slots.Vacate()
		return
	}
	p.current = r
	p.begin(r)
	result, hasResult, err := p.call(r)
	p.end(result, hasResult, err)
}

// begin gives the run its ctx, which ends with the job, with its timeout, or with the worker.
func (p *processor) begin(r *run) {
	r.begun.Store(time.Now().UnixNano())
	p.worker.noteBegun()
	r.ctx = &r.attempt
	if limit, cause := r.timeLimit(p.worker.clock); limit > 0 {
		ctx, stopTimer := context.WithTimeoutCause(r.ctx, limit, cause)
		stuck := time.AfterFunc(limit+p.worker.engine.times.Stuck, func() { r.reportStuck(cause) })
		r.ctx, r.stopTimers = ctx, func() { stuck.Stop(); stopTimer() }
	}
	if p.worker.events.perJob() {
		p.worker.events.emit(event.JobStarted{JobRef: r.ref(), Waited: p.waited(r)})
	}
}

// waited is how long ago the run was due, as far as its record says.
func (p *processor) waited(r *run) time.Duration {
	if r.job.RunAt.IsZero() {
		return 0
	}
	return max(0, p.worker.clock.Now().Sub(r.job.RunAt))
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
	if len(r.record.Objects) > 0 {
		if err := r.gatherObjects(); err != nil {
			return nil, false, err
		}
	}
	return r.registration.invoke(r.ctx, p.worker.engine.handlers.UserContext(), r.job)
}

func (p *processor) end(result any, hasResult bool, err error) {
	r := p.current
	elapsed := time.Since(r.begunAt())
	// calls code of the program: if that ends this goroutine, replace ends the job
	d := r.decide(result, hasResult, err, p.worker.clock.Now())
	p.current = nil
	defer p.worker.slots.Vacate()
	defer r.leave()
	defer r.endContext()
	p.worker.handOverAfter(r, d, elapsed)
}

// endContext ends the ctx of the attempt, and its timers.
func (r *run) endContext() {
	if r.stopTimers != nil {
		r.stopTimers()
	}
	r.attempt.End(nil)
}
