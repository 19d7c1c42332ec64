package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work"
)

// benchLoad is what the phases of a run have in common.
type benchLoad struct {
	*bench
	names     []string
	enq       *work.Enqueuer
	inspector *work.Inspector
}

const (
	benchSingles  = 100              // jobs that are enqueued to an idle pool
	benchPatience = 30 * time.Second // how long nothing may happen before a run has failed
)

// benchPhase is what one phase came to.
type benchPhase struct {
	Jobs     int      `json:"jobs"`
	Took     seconds  `json:"seconds"`
	Rate     float64  `json:"jobs_per_second"`
	RedisCPU *float64 `json:"redis_cpu_us_per_job"` // null where Redis does not tell
	Pace     pace     `json:"pace"`
}

func newBenchPhase(jobs int, took, cpu time.Duration, went pace) benchPhase {
	p := benchPhase{Jobs: jobs, Took: seconds(took), Rate: float64(jobs) / max(took, time.Microsecond).Seconds(),
		Pace: went}
	if cpu > 0 {
		each := float64(cpu) / float64(time.Microsecond) / float64(jobs)
		p.RedisCPU = &each
	}
	return p
}

// enqueue stores the jobs, from so many callers, one call per job.
func (l *benchLoad) enqueue(ctx context.Context) (benchPhase, error) {
	l.enter(phaseEnqueue)
	before, err := l.inspector.ServerCPU(ctx)
	if err != nil {
		return benchPhase{}, err
	}
	began := time.Now()
	stored, end := &atomic.Int64{}, time.Time{}
	watched := watch{console: l.console, kind: "enqueued", total: l.jobs, count: stored.Load}
	if l.duration > 0 {
		end = began.Add(l.duration)
		watched.kind, watched.total = "ms of enqueueing", int(l.duration.Milliseconds())
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
		return benchPhase{}, fmt.Errorf("the jobs could not be enqueued: %w", err)
	}
	if ctx.Err() != nil {
		return benchPhase{}, context.Cause(ctx)
	}
	after, err := l.inspector.ServerCPU(ctx)
	return newBenchPhase(int(stored.Load()), took, after-before, went), err
}

// store lets the callers take one number after the other, until ctx ends. A number that was taken is stored, or it is
// an error.
func (l *benchLoad) store(ctx context.Context, stored *atomic.Int64, end time.Time) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	most, pad := int64(l.mostJobs()), strings.Repeat("x", l.argsBytes)
	var next atomic.Int64
	var callers sync.WaitGroup
	errs := make([]error, l.enqueuers)
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
func (l *benchLoad) one(id int64, pad string) error {
	args := []any{id, pad}
	if pad == "" {
		args = args[:1]
	}
	_, err := l.enq.Enqueue(l.hurry, l.names[id%int64(len(l.names))], args...)
	return err
}

// pool makes the pool that runs the jobs.
func (l *benchLoad) pool(dsn string, book *benchBook) *work.WorkerPool {
	pool := work.NewWorkerPool(nil, l.concurrency,
		work.WorkerOptions{Redis: dsn, Namespace: l.namespace, Logger: l.logger})
	run := book.book
	if l.tamper != nil {
		run = func(id int64) { l.tamper(id, book.book) }
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
func (l *benchLoad) process(ctx context.Context, pool *work.WorkerPool, book *benchBook) (benchPhase, error) {
	l.enter(phaseProcess)
	before, err := l.inspector.ServerCPU(ctx)
	if err != nil {
		return benchPhase{}, err
	}
	if err := pool.Start(ctx); err != nil {
		return benchPhase{}, err
	}
	watched := watch{console: l.console, kind: "processed", total: int(book.bulk), count: book.ran.Load}
	went := watched.until(ctx, book.done)
	select {
	case <-book.done:
	default:
		return benchPhase{}, stuckOr(ctx, fmt.Sprintf("%d of %d jobs have run", book.ran.Load(), book.bulk))
	}
	settled, cancel := context.WithTimeout(ctx, benchPatience)
	defer cancel()
	if err := pool.Drain(settled); err != nil { // and what Redis pays for the outcomes counts
		return benchPhase{}, fmt.Errorf("all jobs have run: %w", err)
	}
	after, err := l.inspector.ServerCPU(ctx)
	return newBenchPhase(int(book.bulk), book.took(), after-before, went), err
}

// pickUp enqueues single jobs to the idle pool, at moments that differ, so that none keeps step with a timer.
func (l *benchLoad) pickUp(ctx context.Context, book *benchBook) (pickup, error) {
	l.enter(phasePickup)
	waits := make([]time.Duration, 0, cap(book.arrivals))
	for id := book.bulk; id < int64(len(book.seen)); id++ {
		pause := 5*time.Millisecond + time.Duration(id*7919%10_000)*time.Microsecond
		if !rest(ctx, pause) {
			return pickup{}, context.Cause(ctx)
		}
		began := time.Now()
		if err := l.one(id, strings.Repeat("x", l.argsBytes)); err != nil {
			return pickup{}, err
		}
		late := time.NewTimer(benchPatience)
		select {
		case arrived := <-book.arrivals:
			waits = append(waits, arrived.Sub(began))
		case <-late.C:
			return pickup{}, stuckOr(ctx, "a single job was not run")
		case <-ctx.Done():
			return pickup{}, context.Cause(ctx)
		}
		late.Stop()
	}
	return pickup{Jobs: len(waits), Waited: spreadOf(waits)}, nil
}

// pickup is how long single jobs took to their handlers.
type pickup struct {
	Jobs   int    `json:"jobs"`
	Waited spread `json:"waited_seconds"`
}

// rest waits, and returns false if ctx ends before.
func rest(ctx context.Context, d time.Duration) bool {
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
	return fmt.Errorf("%s, and nothing more happened for %s", text, benchPatience)
}
