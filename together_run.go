package work

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/lazyctx"
	"github.com/265d0351/work/internal/lifecycle"
)

// batchRun is the runs of jobs that are taken together, by one processor. Each stays a claim of its own: it is
// admitted, cancelled, retried, settled and given back by itself. The first one stands for all of them where a
// processor counts jobs.
type batchRun struct {
	worker  *worker
	ctx     context.Context // of the handler
	attempt lazyctx.Context // what ctx is, or wraps
	begun   time.Time
	stop    func() // ends its timers; nil without a timeout

	mu    sync.Mutex
	runs  []*run // what has not begun was left out once the first one has
	ready bool   // it has its ctx: before there is nothing to end, and one whose jobs all leave never gets it

	given *givenBatch // nil until the handler is called

	ended []*run // whose outcomes go to the settler
}

// givenBatch is what the handler was given. Nobody changes it: a middleware may have returned before the handler does.
type givenBatch struct {
	outcomes map[*run]*itemOutcome
	failed   map[*run]error // why it was not given these
}

// members are the runs of a batch, also of one that has a single one.
func (r *run) members() []*run {
	if b := r.together.Load(); b != nil {
		return b.all()
	}
	return []*run{r}
}

// all are the runs, as of now.
func (b *batchRun) all() []*run {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs
}

// batch is what [Job.Together] returns.
func (r *run) batch() []*Job {
	b := r.together.Load()
	if b == nil {
		return nil
	}
	runs := b.all()
	jobs := make([]*Job, len(runs))
	for i, r := range runs {
		jobs[i] = r.job
	}
	return jobs
}

// lead is the run that stands for all of them.
func (b *batchRun) lead() *run { return b.all()[0] }

// limit gives the batch the longest of the times that its jobs have, and a shorter one to who has less.
func (b *batchRun) limit() {
	var longest time.Duration
	var cause error
	limits, causes, endless := make([]time.Duration, len(b.runs)), make([]error, len(b.runs)), false
	for i, r := range b.runs {
		limits[i], causes[i] = r.timeLimit(b.worker.clock)
		if endless = endless || limits[i] <= 0; limits[i] > longest {
			longest, cause = limits[i], causes[i]
		}
	}
	if endless {
		longest = 0
	}
	if longest > 0 {
		ctx, stopTimer := context.WithTimeoutCause(b.ctx, longest, cause)
		over := time.AfterFunc(longest, func() { b.lead().overtime(func() { b.reportStuck(cause) }) })
		b.ctx, b.stop = ctx, func() { over.Stop(); stopTimer() }
	}
	for i, r := range b.runs {
		r.limit, r.ctx = limits[i], b.ctx
		if limits[i] > 0 && limits[i] != longest {
			ctx, stopTimer := context.WithTimeoutCause(b.ctx, limits[i], causes[i])
			r.ctx, r.stopTimers = ctx, stopTimer
		}
	}
}

func (b *batchRun) reportStuck(cause error) {
	for _, r := range b.all() {
		r.reportStuck(cause)
	}
}

// noteCancel ends the ctx of the batch once all of its jobs are to be cancelled. As long as some are not it goes on.
func (b *batchRun) noteCancel() {
	goesOn := func(r *run) bool { return !r.cancelRequested.Load() }
	if b.hasCtx() && !slices.ContainsFunc(b.all(), goesOn) {
		b.attempt.End(ErrCancelled)
	}
}

// hasCtx tells whether the batch has begun, so that its ctx may be asked and ended.
func (b *batchRun) hasCtx() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready
}

// runnerOfBatch is the runner of a handler that takes jobs together: the job is the first of them. A job whose argument
// does not fit ends by itself, and the others go on without it.
func runnerOfBatch(h *handler.Handler) runner {
	empty := h.EmptyBatch().(anyBatch)
	return func(ctx context.Context, own handler.UserContext, job *Job) (any, bool, error) {
		b := job.run.(*run).together.Load()
		runs, batch := b.give(h, empty)
		if len(runs) == 0 {
			return nil, false, nil
		}
		err := h.RunTogether(ctx, own, batch)
		for _, r := range runs { // whether each was late is found out here: middleware may take its time
			_, _, failure := b.resultOf(r, err)
			_ = r.failed(failure)
		}
		return nil, false, job.failed(err)
	}
}

// give decodes the argument of each job, and makes the batch of those that have one.
func (b *batchRun) give(h *handler.Handler, empty anyBatch) (runs []*run, batch any) {
	given := &givenBatch{outcomes: map[*run]*itemOutcome{}, failed: map[*run]error{}}
	var args []any
	var jobs []*Job
	for _, r := range b.all() {
		value, err := r.decodeAlone(h)
		if err != nil {
			given.failed[r] = r.failed(argumentError(err, true))
			continue
		}
		runs, jobs, args = append(runs, r), append(jobs, r.job), append(args, value)
	}
	batch, outcomes := empty.of(jobs, args)
	for i, r := range runs {
		given.outcomes[r] = outcomes[i]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.given = given
	return runs, batch
}

// decodeAlone decodes the argument of one job. A panic of its decoding is that job's alone.
func (r *run) decodeAlone(h *handler.Handler) (value any, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = recovered(value)
		}
	}()
	if err := r.openArgs(); err != nil {
		return nil, err
	}
	return h.Decode(r.job.Args, r.objects())
}

// resultOf is what became of one job where the handler of the batch has returned err. Whether the time of that very job
// was up is not said by an error that says so of the first one.
func (b *batchRun) resultOf(r *run, err error) (value any, hasResult bool, failure error) {
	b.mu.Lock()
	given := b.given
	b.mu.Unlock()
	if late, is := err.(*TimeoutError); is && late.Err != nil {
		err = late.Err
	}
	if given == nil {
		return nil, false, err
	}
	if failure := given.failed[r]; failure != nil {
		return nil, false, failure
	}
	if o := given.outcomes[r]; o != nil {
		if said := o.said.Load(); said != nil {
			return said.value, said.hasResult, said.err
		}
	}
	return nil, false, err
}

// conclude decides about one job.
func (b *batchRun) conclude(r *run, err error, elapsed time.Duration) {
	value, hasResult, failure := b.resultOf(r, err)
	d, decided := decision{}, false
	defer func() {
		if !decided {
			d = r.decide(nil, false, &GoexitError{}, b.worker.clock.Now())
		}
		r.shared = len(b.runs)
		if b.worker.conclude(r, d, elapsed) {
			b.ended = append(b.ended, r)
		}
	}()
	d = r.decide(value, hasResult, failure, b.worker.clock.Now())
	decided = true
}

// tellEach does something for each run, in goroutines other than the caller's, one at a time.
func (b *batchRun) tellEach(runs []*run, do func(*run)) {
	for next := 0; next < len(runs); {
		lifecycle.Apart(func() {
			for next < len(runs) {
				next++
				do(runs[next-1])
			}
		})
	}
}
