// Cron enqueues jobs at times: each once, however many workers run.
//
//	go run ./examples/cron -for 5s
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://, a Redis inside this process
	"github.com/265d0351/work/inspect"
)

func main() {
	redis := flag.String("redis", "memory://", "the Redis to use, such as redis://localhost:6379/0")
	bound := flag.Duration("for", 3*time.Second, "stop after this time; 0 is not at all")
	flag.Parse()
	if err := run(*redis, *bound); err != nil {
		log.Fatal(err)
	}
}

func run(redis string, bound time.Duration) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{
		Redis: redis, Namespace: "example-cron",
		Service: "example", // whose schedules these are: one that is taken out of the program goes at its next start
	}).
		Job("measure", measure).
		Job("report", func(to string) error { fmt.Println("report to", to); return nil }).
		Periodic("@every 1s", "measure", "room 1").
		PeriodicWithOptions("30 9 * * mon-fri", "report", work.PeriodicOptions{
			TZ:     "Europe/Berlin", // half past nine there, in summer and in winter
			Jitter: 5 * time.Minute, // at a moment within, the same on every machine
			Missed: work.MissedSkip, // if nobody was there at the time: not today
		}, "boss@example.org")
	if err := pool.Start(ctx); err != nil { // finds every mistake of the set-up, in specs and in args
		return err
	}
	schedules, err := inspect.Of(pool).Schedules(ctx)
	if err != nil {
		return err
	}
	for _, s := range schedules {
		fmt.Printf("%s: %s, next at %s\n", s.ID, s.Spec, s.Next.Format(time.RFC1123))
	}
	if bound > 0 {
		defer time.AfterFunc(bound, cancel).Stop()
	}
	<-ctx.Done()
	return pool.Stop(context.Background())
}

// measure is an ordinary handler. The tick is in its Meta, whenever the job gets its turn.
func measure(job *work.Job, room string) error {
	fmt.Println("measured", room, "for", job.Meta["tick"])
	return nil
}
