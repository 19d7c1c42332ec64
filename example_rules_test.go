package work_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
)

// No more than two exports run at once, over all processes that serve them, however many processors there are.
func ExampleLimit() {
	var running, most atomic.Int64
	export := func() error {
		now := running.Add(1)
		defer running.Add(-1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
		}
		return nil
	}
	pool := work.NewWorkerPool(nil, 20,
		work.WorkerOptions{Redis: "memory://limit", Logger: slog.New(slog.DiscardHandler)}).
		JobWithOptions("export", work.JobOptions{Limit: work.Limit{Concurrent: 2}}, export)
	ctx := context.Background()
	for range 100 {
		if _, err := pool.Enqueuer().Enqueue(ctx, "export"); err != nil {
			fmt.Println(err)
		}
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if err := pool.Drain(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("never more than two:", most.Load() <= 2)
	fmt.Println(pool.Stop(ctx))
	// Output:
	// never more than two: true
	// <nil>
}

// An operator sets another limit than the code declares, and takes it back.
func ExampleInspector_SetLimit() {
	ctx := context.Background()
	inspector, err := inspect.New("memory://set-limit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = inspector.Close() }()
	pool := work.NewWorkerPool(nil, 5, work.WorkerOptions{
		Redis: "memory://set-limit", Service: "shop", Logger: slog.New(slog.DiscardHandler),
	}).JobWithOptions("mail", work.JobOptions{Limit: work.Limit{Concurrent: 10}}, func() error { return nil })
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	show := func() {
		limits, err := inspector.Limits(ctx)
		for _, l := range limits {
			fmt.Println(l.Name, l.Limit, "by hand:", l.Operator, "declared:", l.Declared.Concurrent, l.Service)
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	show()
	if err := inspector.SetLimit(ctx, "mail", work.Limit{Rate: 300, Per: time.Minute, Burst: 5}); err != nil {
		fmt.Println(err)
	}
	show()
	if err := inspector.ResetLimit(ctx, "mail"); err != nil {
		fmt.Println(err)
	}
	show()
	fmt.Println(pool.Stop(ctx))
	// Output:
	// mail 10 at once by hand: false declared: 10 shop
	// mail 300 in 1m0s with a burst of 5 by hand: true declared: 10 shop
	// mail 10 at once by hand: false declared: 10 shop
	// <nil>
}

// A queue is stopped for as long as a migration takes, and emptied of what has waited.
func ExampleInspector_PauseAndWait() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 5,
		work.WorkerOptions{Redis: "memory://pause", Logger: slog.New(slog.DiscardHandler)}).
		Job("mail", func(to string) error { fmt.Println("mail to", to); return nil })
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	inspector := inspect.Of(pool)
	if err := inspector.PauseAndWait(ctx, "mail"); err != nil {
		fmt.Println(err)
	}
	for _, to := range []string{"ann", "bob"} {
		if _, err := pool.Enqueuer().Enqueue(ctx, "mail", to); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(inspector.Paused(ctx))
	fmt.Println(inspector.Purge(ctx, "mail", inspect.PurgeOptions{}))
	if err := inspector.ResumeQueue(ctx, "mail"); err != nil {
		fmt.Println(err)
	}
	if _, err := pool.Enqueuer().Enqueue(ctx, "mail", "eve"); err != nil {
		fmt.Println(err)
	}
	if err := pool.Drain(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(pool.Stop(ctx))
	// Output:
	// [mail] false <nil>
	// 2 <nil>
	// mail to eve
	// <nil>
}

// A process is asked to stop from another one; its Run returns once what it runs has ended.
func ExampleInspector_StopWorker() {
	ctx := context.Background()
	inspector, err := inspect.New("memory://stop-worker")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = inspector.Close() }()
	told := make(chan struct{})
	pool := work.NewWorkerPool(nil, 5, work.WorkerOptions{
		Redis: "memory://stop-worker", Logger: slog.New(slog.DiscardHandler),
		Observers: []work.Observer{work.ObserverFunc(func(e event.Event) {
			if _, started := e.(event.WorkerStarted); started {
				close(told)
			}
		})},
	}).Job("mail", func() error { return nil })
	ran := make(chan error)
	go func() { ran <- pool.Run(ctx) }()
	<-told
	workers, err := inspector.Workers(ctx)
	for _, w := range workers {
		fmt.Println(w.Concurrency, w.Queues, w.Alive)
		if _, err := inspector.Ping(ctx, w.ID); err != nil {
			fmt.Println(err)
		}
		fmt.Println(inspector.StopWorker(ctx, w.ID))
	}
	fmt.Println(err, <-ran)
	// Output:
	// 5 [mail] true
	// <nil>
	// <nil> <nil>
}

func ExampleWorkerPool_Periodic() {
	ran := make(chan string)
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://example-periodic"}).
		Job("report", func(team string) error { ran <- team; return nil }).
		Periodic("@every 1s", "report", "sales")
	if err := pool.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("report for", <-ran)
	fmt.Println("report for", <-ran)
	if err := pool.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// report for sales
	// report for sales
}

func ExampleWorkerPool_PeriodicWithOptions() {
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://example-periodic-options", Service: "shop"}).
		Job("export", func(table string) error { return nil }).
		PeriodicWithOptions("30 4 * * mon-fri", "export", work.PeriodicOptions{
			ID: "users, on workdays", TZ: "Europe/Berlin", Jitter: 10 * time.Minute,
			Missed: work.MissedAll(5), Overlap: work.OverlapSkip,
		}, "users").
		PeriodicWithOptions("@hourly", "export", work.PeriodicOptions{ID: "orders"}, "orders")
	if err := pool.Start(context.Background()); err != nil {
		log.Fatal(err)
	}

	schedules, err := inspect.Of(pool).Schedules(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range schedules {
		fmt.Println(s.ID+":", s.Spec, s.Name, string(s.Args), "of", s.Service)
	}
	if err := pool.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// orders: @hourly export ["orders"] of shop
	// users, on workdays: 30 4 * * mon-fri export ["users"] of shop
}

// A mistake is found before anything runs.
func ExampleWorkerPool_Periodic_mistake() {
	err := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://example-periodic-mistake"}).
		Job("report", func(team string) error { return nil }).
		Periodic("0 0 31 2 *", "report", "sales").
		Start(context.Background())
	var invalid *work.InvalidError
	if errors.As(err, &invalid) {
		fmt.Println(invalid)
	}
	// Output: the cron spec is "0 0 31 2 *": no such day ever comes
}

func ExampleMissedAll() {
	nightly := work.PeriodicOptions{Missed: work.MissedAll(7)} // after a week away, a job for each night
	fmt.Println(nightly.Missed == work.MissedOnce, nightly.Missed == work.MissedSkip)
	// Output: false false
}

func ExampleInspector_AddSchedule() {
	ctx := context.Background()
	inspector, err := inspect.New("memory://example-schedules")
	if err != nil {
		log.Fatal(err)
	}
	defer inspector.Close()
	opts := work.PeriodicOptions{ID: "nightly"}
	if err := inspector.AddSchedule(ctx, "0 3 * * *", "export", opts, "users"); err != nil {
		log.Fatal(err)
	}
	err = inspector.AddSchedule(ctx, "0 4 * * *", "export", opts, "users")
	fmt.Println(errors.Is(err, work.ErrScheduleExists))

	if err := inspector.ChangeSchedule(ctx, "0 4 * * *", "export", opts, "users"); err != nil {
		log.Fatal(err)
	}
	if err := inspector.PauseSchedule(ctx, "nightly"); err != nil {
		log.Fatal(err)
	}
	schedules, err := inspector.Schedules(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(schedules[0].Spec, "paused:", schedules[0].Paused)

	if err := inspector.ResumeSchedule(ctx, "nightly"); err != nil {
		log.Fatal(err)
	}
	schedules, err = inspector.Schedules(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("next at", schedules[0].Next.Hour(), "o'clock")
	fmt.Println(inspector.RemoveSchedule(ctx, "nightly"))
	// Output:
	// true
	// 0 4 * * * paused: true
	// next at 4 o'clock
	// <nil>
}

func ExampleInspector_RunScheduleNow() {
	ran := make(chan string)
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "memory://example-run-now"}).
		Job("report", func(team string) error { ran <- team; return nil }).
		Periodic("@yearly", "report", "sales")
	if err := pool.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	if _, err := inspect.Of(pool).RunScheduleNow(context.Background(), "report"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("report for", <-ran)
	if err := pool.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: report for sales
}
