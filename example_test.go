package work_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://
)

// unlogged is the log of the examples: what they print is all there is to see.
var unlogged = slog.New(slog.NewTextHandler(io.Discard, nil))

// Shop is the context of the jobs: each gets a copy, so Greeting is shared and calls is the job's own.
type Shop struct {
	Greeting string
	calls    int
}

func (s *Shop) Greet(name string) error {
	fmt.Println(s.Greeting, name)
	return nil
}

func (s *Shop) Count(ctx context.Context, _ *work.Job, next work.NextFunc) error {
	s.calls++
	return next(ctx)
}

func ExampleNewWorkerPool() {
	pool := work.NewWorkerPool(Shop{Greeting: "hello"}, 5,
		work.WorkerOptions{Redis: "memory://example-pool", Logger: unlogged}).
		Job("greet", (*Shop).Greet)
	ctx := context.Background()
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := pool.Enqueuer().Enqueue(ctx, "greet", "Ada"); err != nil {
		log.Fatal(err)
	}
	if err := pool.Drain(ctx); err != nil { // a service would wait for something else
		log.Fatal(err)
	}
	if err := pool.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: hello Ada
}

func ExampleWorkerPool_Middleware() {
	logged := func(ctx context.Context, job *work.Job, next work.NextFunc) error {
		fmt.Println("begin", job.Name)
		err := next(ctx)
		fmt.Println("end", job.Name, err)
		return err
	}
	pool := work.NewWorkerPool(Shop{}, 1, work.WorkerOptions{Redis: "memory://example-middleware", Logger: unlogged}).
		Middleware(logged).
		Middleware((*Shop).Count).
		Job("report", func(s *Shop) error { fmt.Println("calls", s.calls); return nil })
	runOnce(pool, "report")
	// Output:
	// begin report
	// calls 1
	// end report <nil>
}

func ExampleWorkerPool_JobWithOptions() {
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://example-options", Logger: unlogged}).
		JobWithOptions("import", work.JobOptions{
			Priority:  10, // ten times the share of a job without one
			Retries:   3,
			Backoff:   func(*work.Job, error) time.Duration { return time.Minute },
			Timeout:   time.Hour,
			Retention: 24 * time.Hour,
		}, func(ctx context.Context, job *work.Job, rows int) (string, error) {
			deadline, _ := ctx.Deadline()
			fmt.Println("within", time.Until(deadline).Round(time.Minute), "and", job.RetriesLeft, "more attempts")
			return fmt.Sprint(rows, " rows"), nil
		})
	runOnce(pool, "import", 7)
	// Output: within 1h0m0s and 3 more attempts
}

func ExampleWorkerPool_Enqueuer() {
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://example-pool-enqueuer", Logger: unlogged}).
		Job("add", func(a, b int) error { fmt.Println(a + b); return nil })
	ctx := context.Background()
	enq := pool.Enqueuer() // it works before Start as well
	_, err := enq.EnqueueMany(ctx, []work.Entry{{Name: "add", Args: []any{1, 2}}, {Name: "add", Args: []any{3, 4}}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = enq.Enqueue(ctx, "add", 1, "two")
	var misfit *work.ArgumentError
	if errors.As(err, &misfit) {
		fmt.Printf("argument %d is %s, wanted %s\n", misfit.Index, misfit.Excerpt(), misfit.Want)
	}
	runOnce(pool, "add", 5, 6)
	// Output:
	// argument 1 is "two", wanted int
	// 3
	// 7
	// 11
}

func ExampleWorkerPool_Drain() {
	var pool *work.WorkerPool
	pool = work.NewWorkerPool(nil, 3, work.WorkerOptions{Redis: "memory://example-drain", Logger: unlogged}).
		Job("count down", func(ctx context.Context, n int) error {
			if n == 0 {
				fmt.Println("lift-off")
				return nil
			}
			_, err := pool.Enqueuer().Enqueue(ctx, "count down", n-1)
			return err
		})
	ctx := context.Background()
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer pool.Stop(ctx) //lint:ignore errcheck the example ends
	if _, err := pool.Enqueuer().Enqueue(ctx, "count down", 10); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pool.Drain(ctx)) // also what jobs enqueue
	// Output:
	// lift-off
	// <nil>
}

func ExampleWorkerPool_Run() {
	ctx, cancel := context.WithCancel(context.Background())
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://example-run", Logger: unlogged}).
		Job("last", func() error {
			fmt.Println("running")
			cancel() // SIGINT and SIGTERM do the same
			return nil
		})
	if _, err := pool.Enqueuer().Enqueue(ctx, "last"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("stopped:", pool.Run(ctx))
	// Output:
	// running
	// stopped: <nil>
}

func ExampleStopError() {
	started := make(chan struct{})
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{
		Redis: "memory://example-stop", Logger: unlogged, ShutdownTimeout: 10 * time.Millisecond,
	}).Job("export", func(ctx context.Context) error {
		close(started)
		<-ctx.Done() // ErrShutdown is its cause
		return ctx.Err()
	})
	ctx := context.Background()
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := pool.Enqueuer().With(work.ID("export-7")).Enqueue(ctx, "export"); err != nil {
		log.Fatal(err)
	}
	<-started
	var stop *work.StopError
	if errors.As(pool.Stop(ctx), &stop) {
		fmt.Println("given back:", stop.Released)
		fmt.Println("stuck:", len(stop.Stuck))
	}
	// Output:
	// given back: [export export-7]
	// stuck: 0
}

func ExampleSetupError() {
	pool := work.NewWorkerPool(Shop{}, 0, work.WorkerOptions{Redis: "memory://example-setup", Logger: unlogged}).
		Job("greet", func(string) {})
	var setup *work.SetupError
	if errors.As(pool.Start(context.Background()), &setup) {
		fmt.Println(len(setup.Mistakes), "mistakes")
		fmt.Println(setup.Mistakes[0])
	}
	// Output:
	// 2 mistakes
	// the concurrency of the worker pool is 0: give 1 to 100,000
}

// runOnce starts a pool, enqueues a job, waits until it is done, and stops the pool.
func runOnce(pool *work.WorkerPool, name string, args ...any) {
	ctx := context.Background()
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := pool.Enqueuer().Enqueue(ctx, name, args...); err != nil {
		log.Fatal(err)
	}
	if err := pool.Drain(ctx); err != nil {
		log.Fatal(err)
	}
	if err := pool.Stop(ctx); err != nil {
		log.Fatal(err)
	}
}
