package work

import (
	"context"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"runtime/debug"
	"runtime/pprof"
	"time"
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
			stack := cutStack(string(debug.Stack()))
			err = &PanicError{Value: value, Stack: stack}
			defer p.worker.events.emit(event.LoopPanicked{Component: "processor", Value: value, Stack: stack})
		}
		p.replace(err)
	}()
	for r := p.worker.crew.take(true); r != nil; r = p.worker.crew.take(false) {
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

func (p *processor) process(r *run) {
	if !r.notBefore.IsZero() { // a rate lets it begin then; a stop gives it back then
		backoff.Pause(p.worker.life, time.Until(r.notBefore))
	}
	if !r.assign() { // its name was withdrawn, and it was given back
		p.worker.slots.takeUp()
		p.worker.slots.vacate()
		return
	}
	if p.worker.stopping() || r.registration.away.Load() {
		p.worker.turnOut(r)
		p.worker.slots.takeUp()
		r.leave()
		p.worker.slots.vacate()
		return
	}
	if p.worker.turnBack(r) || p.worker.turnAwayFenced(r) || p.worker.turnAwayLate(r) || !p.worker.accuse(r) ||
		!p.worker.unlock(r) {
		p.worker.slots.takeUp()
		r.leave()
		p.worker.slots.vacate()
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
	p.worker.takeUp()
	r.ctx = &r.attempt
	if limit, cause := r.allowance(p.worker.clock); limit > 0 {
		ctx, stopTimer := context.WithTimeoutCause(r.ctx, limit, cause)
		stuck := time.AfterFunc(limit+p.worker.stuckAfter, func() { r.reportStuck(cause) })
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
	return max(0, p.worker.clock.now().Sub(r.job.RunAt))
}

// call runs middleware and handler, and turns a panic into an error.
func (p *processor) call(r *run) (result any, hasResult bool, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: cutStack(string(debug.Stack()))}
		}
	}()
	pprof.SetGoroutineLabels(r.registration.labels)
	defer pprof.SetGoroutineLabels(context.Background())
	if len(r.record.Objects) > 0 {
		if err := r.gatherObjects(); err != nil {
			return nil, false, err
		}
	}
	return r.registration.invoke(r.ctx, p.worker.pool.prototype.instance(), r.job)
}

func (p *processor) end(result any, hasResult bool, err error) {
	r := p.current
	elapsed := time.Since(r.begunAt())
	// calls code of the program: if that ends this goroutine, replace ends the job
	d := r.decide(result, hasResult, err, p.worker.clock.now())
	p.current = nil
	defer p.worker.slots.vacate()
	defer r.leave()
	defer r.endContext()
	p.worker.concludeAfter(r, d, elapsed)
}

// endContext ends the ctx of the attempt, and its timers.
func (r *run) endContext() {
	if r.stopTimers != nil {
		r.stopTimers()
	}
	r.attempt.end(nil)
}
