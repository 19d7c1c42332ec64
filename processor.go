package work

import (
	"context"
	"runtime/debug"
	"runtime/pprof"
	"time"
)

// processor is one goroutine that runs one job at a time.
type processor struct {
	worker  *worker
	current *run // nil between jobs
}

// loop runs jobs until the channel is closed. A handler may end this very goroutine (runtime.Goexit): then its job
// ends with an error and another goroutine takes over.
func (p *processor) loop() {
	returned := false
	defer func() {
		if !returned {
			p.end(nil, false, &GoexitError{})
			go (&processor{worker: p.worker}).loop()
			return
		}
		p.worker.processors.Done()
	}()
	for r := range p.worker.jobs {
		p.process(r)
	}
	returned = true
}

func (p *processor) process(r *run) {
	if p.worker.stopping() {
		p.worker.putAside(r)
		p.worker.slots.takeUp()
		p.worker.slots.vacate()
		return
	}
	p.current = r
	cancel := p.begin(r)
	defer cancel()
	result, hasResult, err := p.call(r)
	p.end(result, hasResult, err)
}

// begin gives the run its ctx, which ends with the job, with its timeout, or with the worker.
func (p *processor) begin(r *run) (cancel func()) {
	r.begun.Store(time.Now().UnixNano())
	p.worker.takeUp()
	ctx, stop := context.WithCancel(context.WithValue(r.claimant.ctx, jobKey{}, r.job))
	if limit := r.timeout(); limit > 0 {
		var stopTimer context.CancelFunc
		ctx, stopTimer = context.WithTimeoutCause(ctx, limit, ErrTimeout)
		stuck := time.AfterFunc(limit+p.worker.stuckAfter, func() {
			p.worker.events.emit(JobStuck{JobRef: r.ref(), Cause: ErrTimeout})
		})
		inner := stop
		stop = func() { stuck.Stop(); stopTimer(); inner() }
	}
	r.ctx = pprof.WithLabels(ctx, pprof.Labels("job", r.job.Name, "id", r.job.ID))
	if p.worker.events.perJob {
		p.worker.events.emit(JobStarted{JobRef: r.ref(), Waited: p.worker.clock.now().Sub(r.job.RunAt)})
	}
	return stop
}

// call runs middleware and handler, and turns a panic into an error.
func (p *processor) call(r *run) (result any, hasResult bool, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: string(debug.Stack())}
		}
	}()
	pprof.SetGoroutineLabels(r.ctx)
	defer pprof.SetGoroutineLabels(context.Background())
	return r.registration.invoke(r.ctx, p.worker.pool.prototype.instance(), r.job)
}

func (p *processor) end(result any, hasResult bool, err error) {
	r := p.current
	if r == nil {
		return // an observer ended this goroutine while the job was being concluded
	}
	p.current = nil
	defer p.worker.slots.vacate()
	elapsed := time.Since(r.begunAt())
	p.worker.concludeAfter(r, r.decide(result, hasResult, err, p.worker.clock.now()), elapsed)
}
