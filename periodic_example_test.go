package work_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded"
)

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

	schedules, err := pool.Inspector().Schedules(context.Background())
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
	inspector, err := work.NewInspector("memory://example-schedules")
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
	if _, err := pool.Inspector().RunScheduleNow(context.Background(), "report"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("report for", <-ran)
	if err := pool.Stop(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: report for sales
}
