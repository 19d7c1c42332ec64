package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// load is what the phases of a run have in common.
type load struct {
	*bench
	names     []string
	enq       *work.Enqueuer
	inspector *inspect.Inspector
}

const (
	singleJobs   = 100              // jobs that are enqueued to an idle pool
	stallTimeout = 30 * time.Second // how long nothing may happen before a run has failed
)

// phaseResult is what one phase came to.
type phaseResult struct {
	Jobs     int           `json:"jobs"`
	Took     human.Seconds `json:"seconds"`
	Rate     float64       `json:"jobs_per_second"`
	RedisCPU *float64      `json:"redis_cpu_us_per_job"` // null where Redis does not tell
	Pace     pace          `json:"pace"`
}

func newPhaseResult(jobs int, took, cpu time.Duration, went pace) phaseResult {
	p := phaseResult{Jobs: jobs, Took: human.Seconds(took), Rate: float64(jobs) / max(took, time.Microsecond).Seconds(),
		Pace: went}
	if cpu > 0 {
		each := float64(cpu) / float64(time.Microsecond) / float64(jobs)
		p.RedisCPU = &each
	}
	return p
}

// enqueue stores the jobs, from so many callers, one call per job.
func (l *load) enqueue(ctx context.Context) (phaseResult, error) {
	l.enter(phaseEnqueue)
	before, err := l.inspector.ServerCPU(ctx)
	if err != nil {
		return phaseResult{}, err
	}
	began := time.Now()
	stored, end := &atomic.Int64{}, time.Time{}
	watched := watch{console: l.Console, kind: "enqueued", total: l.Jobs, count: stored.Load}
	if l.Duration > 0 {
		end = began.Add(l.Duration)
		watched.kind, watched.total = "ms of enqueueing", int(l.Duration.Milliseconds())
		watched.progress = func() int { return int(time.Since(began).Milliseconds()) }
	}
	over, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(over)
		failed <- l.store(ctx, stored, end)
	}()
	went := watched.until(ctx, over)
	<-over // once ctx has ended, callers still wait for their last answer
	took := time.Since(began)
	if err := <-failed; err != nil {
		return phaseResult{}, fmt.Errorf("the jobs could not be enqueued: %w", err)
	}
	if ctx.Err() != nil {
		return phaseResult{}, context.Cause(ctx)
	}
	after, err := l.inspector.ServerCPU(ctx)
	return newPhaseResult(int(stored.Load()), took, after-before, went), err
}

// store lets the callers take one number after the other, until ctx ends. A number that was taken is stored, or it is
// an error.
func (l *load) store(ctx context.Context, stored *atomic.Int64, end time.Time) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	most, pad := int64(l.mostJobs()), strings.Repeat("x", l.ArgsBytes)
	var next atomic.Int64
	var callers sync.WaitGroup
	errs := make([]error, l.Enqueuers)
	for caller := range errs {
		callers.Go(func() {
			for errs[caller] == nil && ctx.Err() == nil && (end.IsZero() || time.Now().Before(end)) {
				id := next.Add(1) - 1
				if id >= most {
					return
				}
				if errs[caller] = l.one(id, pad); errs[caller] != nil {
					stop()
					return
				}
				stored.Add(1)
			}
		})
	}
	callers.Wait()
	first := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if first < 0 {
		return nil
	}
	return errs[first] // the others are of the same kind
}

// one enqueues the job with that number. Ctrl-C does not cut it: what was sent and not answered could still land when
// the namespace is removed already.
func (l *load) one(id int64, pad string) error {
	args := []any{id, pad}
	if pad == "" {
		args = args[:1]
	}
	_, err := l.enq.Enqueue(l.Hurry, l.names[id%int64(len(l.names))], args...)
	return err
}

// pool makes the pool that runs the jobs.
func (l *load) pool(dsn string, counts *runCounts) *work.WorkerPool {
	pool := work.NewWorkerPool(nil, l.Concurrency,
		work.WorkerOptions{Redis: dsn, Namespace: l.Namespace, Logger: l.Logger})
	run := counts.count
	if l.tamper != nil {
		run = func(id int64) { l.tamper(id, counts.count) }
	}
	for _, name := range l.names {
		pool.Job(name, func(id int64, _ ...string) error {
			run(id)
			return nil
		})
	}
	return pool
}

// process starts the pool and waits until it has worked all jobs off.
func (l *load) process(ctx context.Context, pool *work.WorkerPool, counts *runCounts) (phaseResult, error) {
	l.enter(phaseProcess)
	before, err := l.inspector.ServerCPU(ctx)
	if err != nil {
		return phaseResult{}, err
	}
	if err := pool.Start(ctx); err != nil {
		return phaseResult{}, err
	}
	watched := watch{console: l.Console, kind: "processed", total: int(counts.bulk), count: counts.ran.Load}
	went := watched.until(ctx, counts.done)
	select {
	case <-counts.done:
	default:
		return phaseResult{}, stuckOr(ctx, fmt.Sprintf("%d of %d jobs have run", counts.ran.Load(), counts.bulk))
	}
	settled, cancel := context.WithTimeout(ctx, stallTimeout)
	defer cancel()
	if err := pool.Drain(settled); err != nil { // and what Redis pays for the outcomes counts
		return phaseResult{}, fmt.Errorf("all jobs have run: %w", err)
	}
	after, err := l.inspector.ServerCPU(ctx)
	return newPhaseResult(int(counts.bulk), counts.took(), after-before, went), err
}

// pickUp enqueues single jobs to the idle pool, at intervals that differ, so that none keeps step with a timer.
func (l *load) pickUp(ctx context.Context, counts *runCounts) (pickup, error) {
	l.enter(phasePickup)
	waits := make([]time.Duration, 0, cap(counts.arrivals))
	for id := counts.bulk; id < int64(len(counts.seen)); id++ {
		gap := 5*time.Millisecond + time.Duration(id*7919%10_000)*time.Microsecond
		if !pause(ctx, gap) {
			return pickup{}, context.Cause(ctx)
		}
		began := time.Now()
		if err := l.one(id, strings.Repeat("x", l.ArgsBytes)); err != nil {
			return pickup{}, err
		}
		late := time.NewTimer(stallTimeout)
		select {
		case arrived := <-counts.arrivals:
			waits = append(waits, arrived.Sub(began))
		case <-late.C:
			return pickup{}, stuckOr(ctx, "a single job was not run")
		case <-ctx.Done():
			return pickup{}, context.Cause(ctx)
		}
		late.Stop()
	}
	return pickup{Jobs: len(waits), Waited: human.SpreadOf(waits)}, nil
}

// pickup is how long single jobs took to their handlers.
type pickup struct {
	Jobs   int          `json:"jobs"`
	Waited human.Spread `json:"waited_seconds"`
}

// pause waits, and returns false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stuckOr tells an end from outside and a run in which nothing happens any more apart.
func stuckOr(ctx context.Context, text string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%s, and nothing more happened for %s", text, stallTimeout)
}
