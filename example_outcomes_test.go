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
	"github.com/265d0351/work/inspect"
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
		fmt.Println("put off for", e.For.Round(time.Second)) // a time that Sleep stored is nearer by now
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
		EnqueueAnyName: true, // some examples enqueue what they never run
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

// A middleware tells a job whose time was up from one that failed otherwise.
func ExampleTimeoutError() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://examples", Namespace: "timeouts",
		Logger: slog.New(slog.DiscardHandler)}).
		Middleware(func(ctx context.Context, job *work.Job, next work.NextFunc) error {
			err := next(ctx)
			var timeout *work.TimeoutError
			if errors.As(err, &timeout) {
				fmt.Println(job.Name, "had", timeout.Limit, "and returned:", timeout.Err)
			}
			return err
		}).
		JobWithOptions("slow", work.JobOptions{Timeout: 10 * time.Millisecond},
			func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	defer stop(ctx, pool)
	runOne(ctx, pool, "slow")
	// Output: slow had 10ms and returned: context deadline exceeded
}

// stop ends the pool of an example.
func stop(ctx context.Context, pool *work.WorkerPool) {
	if err := pool.Stop(ctx); err != nil {
		fmt.Println(err)
	}
}

// exporter writes rows to somewhere that takes one at a time.
type exporter struct{ rows []string }

// progress is what a page about the export would show.
type progress struct{ Done, Of int }

// Export goes on where an earlier attempt has stopped, whatever stopped it.
func (e *exporter) Export(ctx context.Context, job *work.Job) error {
	next := 0
	if _, err := job.LoadState(ctx, &next); err != nil {
		return err
	}
	job.Logger().Info("begun", "row", next)
	for ; next < len(e.rows); next++ {
		if job.Checkin("writing " + e.rows[next]) { // the pool stops: another one goes on
			return work.Release(nil)
		}
		if err := job.Progress(progress{Done: next, Of: len(e.rows)}); err != nil {
			return err
		}
		if next == 2 && job.Attempt == 1 {
			return work.RetryIn(0, errBusy)
		}
		job.Logger().Info("written", "row", next, "text", e.rows[next])
		if err := job.SaveState(ctx, next+1); err != nil {
			return err
		}
	}
	return nil
}

// A long job saves how far it is, so that its next attempt need not begin anew, and says what it does.
func ExampleJob_SaveState() {
	ctx := context.Background()
	pool := work.NewWorkerPool(exporter{rows: []string{"ant", "bee", "cat", "dog"}}, 1, work.WorkerOptions{
		Redis: "memory://examples", Namespace: "long", Logger: slog.New(slog.DiscardHandler),
	}).Job("export", (*exporter).Export)
	receipt, err := pool.Enqueuer().Enqueue(ctx, "export")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for line, err := range inspect.Of(pool).FollowLog(ctx, receipt.ID) { // until the job has ended
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(line.Number, "attempt", line.Attempt, line.Level, line.Message, string(line.Attrs))
	}
	if err := pool.Stop(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 attempt 1 INFO begun {"row":0}
	// 2 attempt 1 INFO written {"row":0,"text":"ant"}
	// 3 attempt 1 INFO written {"row":1,"text":"bee"}
	// 4 attempt 2 INFO begun {"row":2}
	// 5 attempt 2 INFO written {"row":2,"text":"cat"}
	// 6 attempt 2 INFO written {"row":3,"text":"dog"}
}

// A page of support asks why the third export has not begun.
func ExampleInspector_Job() {
	ctx := context.Background()
	enq, _ := work.NewEnqueuer("memory://examples", work.Namespace("inspector-job"))
	defer enq.Close()
	inspector, _ := inspect.New("memory://examples", work.Namespace("inspector-job"))
	defer inspector.Close()
	var receipt work.Receipt
	for account := range 3 {
		receipt, _ = enq.Enqueue(ctx, "export", account)
	}
	job, err := inspector.Job(ctx, receipt.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(job.Name, string(job.Args), job.State)
	for _, why := range job.Why {
		fmt.Println("-", why)
	}
	_, err = inspector.Job(ctx, "another id")
	fmt.Println(errors.Is(err, work.ErrNotFound))
	// Output:
	// export [2] queued
	// - no registered worker serves its queue
	// - behind 2 others
	// true
}

// What became of several jobs: nil stands for those of which nothing is kept.
func ExampleInspector_Jobs() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("inspector-jobs")).
		JobWithOptions("double", work.JobOptions{Retention: time.Hour}, func(n int) (int, error) { return 2 * n, nil })
	defer stop(ctx, pool)
	enq := pool.Enqueuer()
	later, _ := enq.EnqueueIn(ctx, "double", time.Hour, 1)
	soon := runOne(ctx, pool, "double", 21)
	jobs, err := inspect.Of(pool).Jobs(ctx, soon.ID, later.ID, "another id")
	if err != nil {
		fmt.Println(err)
	}
	for _, job := range jobs {
		if job == nil {
			fmt.Println("not there")
			continue
		}
		fmt.Printf("%s %q\n", job.State, job.Result)
	}
	// Output:
	// succeeded "42"
	// scheduled ""
	// not there
}

// A web handler hands work to the pool and answers with what came of it.
func ExampleWait() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool := work.NewWorkerPool(nil, 2, quiet("wait")).
		Job("area", func(width, height int) (int, error) { return width * height, nil }).
		JobWithOptions("fail", work.JobOptions{Retries: -1}, func() error { return errUnknown })
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Stop(ctx) }() // nothing runs any more
	enq := pool.Enqueuer()

	receipt, _ := enq.With(work.Retention(time.Minute)).Enqueue(ctx, "area", 6, 7)
	area, err := work.Wait[int](ctx, enq, receipt.ID)
	fmt.Println(area, err)

	receipt, _ = enq.With(work.ID("hopeless")).Enqueue(ctx, "fail")
	err = enq.WaitEnd(ctx, receipt.ID)
	var dead *work.JobFailedError
	fmt.Println(errors.As(err, &dead), err)
	// Output:
	// 42 <nil>
	// buried: out of retries
	// true job "hopeless" is dead: out of retries, failed attempts: 1, the last error: no such account
}

// Parts of a whole run side by side; their results come in the order of the ids.
func ExampleWaitAll() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool := work.NewWorkerPool(nil, 3, quiet("wait all")).
		JobWithOptions("square", work.JobOptions{Retention: time.Minute},
			func(n int) (int, error) { return n * n, nil })
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Stop(ctx) }() // nothing runs any more
	enq := pool.Enqueuer()

	var ids []string
	for n := range 5 {
		receipt, _ := enq.Enqueue(ctx, "square", n)
		ids = append(ids, receipt.ID)
	}
	squares, err := work.WaitAll[int](ctx, enq, ids...)
	fmt.Println(squares, err)

	id, square, err := work.WaitAny[int](ctx, enq, ids[3])
	fmt.Println(id == ids[3], square, err)
	// Output:
	// [0 1 4 9 16] <nil>
	// true 9 <nil>
}

// Whoever enqueues many jobs learns of each end as it comes, also in another process.
func ExampleEnqueuer_Completions() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool := work.NewWorkerPool(nil, 1, quiet("completions")).
		JobWithOptions("import", work.JobOptions{Retention: time.Minute}, func(file string) (string, error) {
			if file == "" {
				return "", work.Discard(errors.New("no file"))
			}
			return "imported " + file, nil
		})
	enq := pool.Enqueuer()
	imports := enq.With(work.Completion("imports"))
	for _, file := range []string{"a.csv", "", "b.csv"} {
		if _, err := imports.Enqueue(ctx, "import", file); err != nil {
			fmt.Println(err)
		}
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Stop(ctx) }() // nothing runs any more

	left := 3
	for ended, err := range enq.Completions("imports").All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := work.Result[string](ctx, enq, ended.ID)
		fmt.Println(ended.State, result, err != nil)
		if left--; left == 0 {
			break
		}
	}
	// Unordered output:
	// dropped: no file
	// succeeded imported a.csv false
	// discarded  true
	// succeeded imported b.csv false
}
