package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded"
	"github.com/265d0351/work/middleware"
)

func Example() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1,
		work.WorkerOptions{Redis: "memory://example-middleware", Logger: slog.New(slog.DiscardHandler)}).
		Middleware(middleware.ReportErrors(func(_ context.Context, failure middleware.Failure) {
			fmt.Println(failure.Job.Name+":", failure.Err, "- another attempt follows:", failure.WillRetry)
		})).
		Middleware(middleware.Timeout(10*time.Minute)).
		Job("import", func() error { return work.Bury(errors.New("no such file")) }).
		Job("resize", func() error { panic("too many pixels") }).
		Job("remind", func() error { return work.Snooze(time.Hour) })

	for _, name := range []string{"import", "resize", "remind"} {
		if _, err := pool.Enqueuer().Enqueue(ctx, name); err != nil {
			log.Fatal(err)
		}
	}
	if err := errors.Join(pool.Start(ctx), pool.Drain(ctx), pool.Stop(ctx)); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// import: no such file - another attempt follows: false
	// resize: panic: too many pixels - another attempt follows: true
}

func ExampleSlowJob() {
	ctx := context.Background()
	reported := make(chan struct{})
	pool := work.NewWorkerPool(nil, 1,
		work.WorkerOptions{Redis: "memory://example-slow", Logger: slog.New(slog.DiscardHandler)}).
		Middleware(middleware.SlowJob(10*time.Millisecond, func(_ context.Context, slow middleware.Slow) {
			fmt.Println(slow.Job.Name, "still runs, its stack is known:", slow.Stack != "")
			close(reported)
		})).
		Job("report", func() error { <-reported; return nil })

	if _, err := pool.Enqueuer().Enqueue(ctx, "report"); err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(pool.Start(ctx), pool.Drain(ctx), pool.Stop(ctx)); err != nil {
		log.Fatal(err)
	}
	// Output: report still runs, its stack is known: true
}
