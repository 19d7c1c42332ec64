package work_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://
	"github.com/265d0351/work/event"
)

var (
	errBusy    = errors.New("the service is busy")
	errUnknown = errors.New("no such account")
)

// runOne enqueues one job, starts the pool and waits until nothing is due any more.
func runOne(ctx context.Context, pool *work.WorkerPool, name string, args ...any) work.Receipt {
	receipt, err := pool.Enqueuer().Enqueue(ctx, name, args...)
	if err != nil {
		fmt.Println(err)
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return receipt
	}
	if err := pool.Drain(ctx); err != nil {
		fmt.Println(err)
	}
	return receipt
}

// printing is an Observer that prints what becomes of jobs.
var printing = work.ObserverFunc(func(e event.Event) {
	switch e := e.(type) {
	case event.JobFailed:
		fmt.Println("failed:", e.Err, "- again in", e.RetryIn)
	case event.JobSnoozed:
		fmt.Println("put off for", e.For)
	case event.JobReleased:
		fmt.Println("given back")
	case event.JobBuried:
		fmt.Println("buried:", e.Reason)
	case event.JobDiscarded:
		fmt.Println("dropped:", e.Err)
	}
})

func quiet(namespace string) work.WorkerOptions {
	return work.WorkerOptions{
		Redis: "memory://examples", Namespace: namespace,
		Logger: slog.New(slog.DiscardHandler), Observers: []work.Observer{printing},
	}
}

// The service says when to come again, which is better than any backoff.
func ExampleRetryIn() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("retryin")).Job("call", func(job *work.Job) error {
		return work.RetryIn(30*time.Second, errBusy)
	})
	defer stop(ctx, pool)
	runOne(ctx, pool, "call")
	// Output: failed: the service is busy - again in 30s
}

// A job that finds that it is too early looks again later. That is no failure: no attempt is used.
func ExampleSnooze() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("snooze")).Job("remind", func(job *work.Job) error {
		return work.Snooze(time.Hour)
	})
	defer stop(ctx, pool)
	runOne(ctx, pool, "remind")
	// Output: put off for 1h0m0s
}

// While the pool runs, a job that was released waits a second, then two, then four, up to a minute.
func ExampleRelease() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("release")).Job("print", func(job *work.Job) error {
		return work.Release(errors.New("another one holds the printer"))
	})
	defer stop(ctx, pool)
	runOne(ctx, pool, "print")
	// Output: put off for 1s
}

// What will never go well need not be tried 25 times. A person can look at it in the morgue.
func ExampleBury() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("bury")).Job("charge", func(job *work.Job, account int64) error {
		return work.Bury(errUnknown)
	})
	defer stop(ctx, pool)
	runOne(ctx, pool, "charge", 42)
	// Output: buried: its handler asked for it
}

// What nobody needs any more is dropped.
func ExampleDiscard() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("discard")).Job("greet", func(job *work.Job, account int64) error {
		return work.Discard(fmt.Errorf("account %d: %w", account, errUnknown))
	})
	defer stop(ctx, pool)
	runOne(ctx, pool, "greet", 42)
	// Output: dropped: account 42: no such account
}

// A long job says how far it is, and hands itself back when the program is to end. The next worker begins with it.
func ExampleJob_Checkin() {
	ctx := context.Background()
	begun := make(chan struct{})
	pool := work.NewWorkerPool(nil, 1, quiet("checkin")).Job("export", func(job *work.Job) error {
		close(begun)
		for row := 0; ; row++ {
			if job.Checkin(fmt.Sprintf("row %d", row)) {
				return work.Release(nil)
			}
		}
	})
	if _, err := pool.Enqueuer().Enqueue(ctx, "export"); err != nil {
		fmt.Println(err)
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
	}
	<-begun
	fmt.Println("stopped:", pool.Stop(ctx))
	// Output:
	// given back
	// stopped: <nil>
}

// What a handler returns beside its error can be read by whoever knows the id, as long as it is kept.
func ExampleResult_ofAHandler() {
	ctx := context.Background()
	type size struct{ Width, Height int }
	pool := work.NewWorkerPool(nil, 1, quiet("result")).
		JobWithOptions("measure", work.JobOptions{Retention: time.Hour}, func(name string) (size, error) {
			return size{Width: len(name), Height: 1}, nil
		})
	defer stop(ctx, pool)
	receipt := runOne(ctx, pool, "measure", "gopher")
	got, err := work.Result[size](ctx, pool.Enqueuer(), receipt.ID)
	fmt.Println(got.Width, got.Height, err)
	_, err = work.Result[size](ctx, pool.Enqueuer(), "another id")
	fmt.Println(errors.Is(err, work.ErrGone))
	// Output:
	// 6 1 <nil>
	// true
}

// An Observer sees all that happens: here it counts what fails, by the name of the job.
func ExampleObserver() {
	ctx := context.Background()
	var mu sync.Mutex // many goroutines call it
	failures := map[string]int{}
	count := work.ObserverFunc(func(e event.Event) {
		if failed, ok := e.(event.JobFailed); ok {
			mu.Lock()
			defer mu.Unlock()
			failures[failed.Name]++
		}
	})
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{
		Redis: "memory://examples", Namespace: "observer",
		Logger: slog.New(slog.DiscardHandler), Observers: []work.Observer{count},
	}).Job("call", func() error { return errBusy })
	defer stop(ctx, pool)
	runOne(ctx, pool, "call")
	mu.Lock()
	defer mu.Unlock()
	fmt.Println(failures)
	// Output: map[call:1]
}

// The default log goes where slog.Default does, which is never the standard output.
func ExampleJobFailed() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://examples", Namespace: "failed"}).
		Job("call", func() error { panic("a stack for the log") })
	defer stop(ctx, pool)
	runOne(ctx, pool, "call")
	fmt.Println("nothing else is printed")
	// Output: nothing else is printed
}

// stop ends the pool of an example.
func stop(ctx context.Context, pool *work.WorkerPool) {
	if err := pool.Stop(ctx); err != nil {
		fmt.Println(err)
	}
}
