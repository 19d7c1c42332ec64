package work_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
)

// hall is a namespace with some jobs and nobody who works on them.
func hall(namespace string) (*work.Enqueuer, *inspect.Inspector) {
	enq, _ := work.NewEnqueuer("memory://examples", work.Namespace(namespace))
	inspector, _ := inspect.New("memory://examples", work.Namespace(namespace))
	ctx := context.Background()
	for n := range 5 {
		_, _ = enq.With(work.ID(fmt.Sprint("mail-", n))).Enqueue(ctx, "mail", fmt.Sprintf("user-%d@example.org", n))
	}
	_, _ = enq.With(work.ID("report-1"), work.Meta("shop", "north")).EnqueueIn(ctx, "report", time.Hour, 2026)
	return enq, inspector
}

// What waits, and who works on it.
func ExampleInspector_Queues() {
	enq, inspector := hall("queues")
	defer enq.Close()
	defer inspector.Close()
	ctx := context.Background()
	_ = inspector.PauseQueue(ctx, "mail")
	queues, err := inspector.Queues(ctx)
	if err != nil {
		fmt.Println(err)
	}
	for _, q := range queues {
		fmt.Println(q.Name, q.Waiting, "wait,", q.Workers, "workers, paused:", q.Paused, "and the first waits:",
			!q.Oldest.IsZero())
	}
	// Output:
	// mail 5 wait, 0 workers, paused: true and the first waits: true
	// report 0 wait, 0 workers, paused: false and the first waits: false
}

// A deploy waits until its workers are there.
func ExampleInspector_WaitForWorkers() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("wait for workers"))
	pool.Job("mail", func() error { return nil })
	hands := inspect.Of(pool)
	fmt.Println(pool.Start(ctx))
	workers, err := hands.WaitForWorkers(ctx, 1, "mail")
	fmt.Println(len(workers), err)
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err = hands.WaitForWorkers(short, 2)
	fmt.Println(err)
	_ = pool.Stop(ctx) // nothing runs
	// Output:
	// <nil>
	// 1 <nil>
	// 1 of 2 workers are there: context deadline exceeded
}

func ExampleInspector_Counts() {
	enq, inspector := hall("counts")
	defer enq.Close()
	defer inspector.Close()
	counts, err := inspector.Counts(context.Background())
	fmt.Println(counts.Queued, counts.Scheduled, counts.Dead, counts.Workers, err)
	// Output: 5 1 0 0 <nil>
}

// All jobs of a queue, page by page, in the order in which they run.
func ExampleInspector_Page() {
	enq, inspector := hall("page")
	defer enq.Close()
	defer inspector.Close()
	opts := inspect.PageOptions{State: work.StateQueued, Name: "mail", Limit: 2}
	for {
		page, err := inspector.Page(context.Background(), opts)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, job := range page.Jobs {
			fmt.Print(job.ID, " ")
		}
		fmt.Println("of", page.Total)
		if opts.Cursor = page.Next; page.Next == "" {
			return
		}
	}
	// Output:
	// mail-0 mail-1 of 5
	// mail-2 mail-3 of 5
	// mail-4 of 5
}

// Jobs of any state with a text in their args, and those with a certain meta.
func ExampleInspector_Search() {
	enq, inspector := hall("search")
	defer enq.Close()
	defer inspector.Close()
	for _, wanted := range []inspect.Selection{
		{ArgsText: "user-3@"},
		{State: work.StateScheduled, Meta: map[string]string{"shop": "north"}},
	} {
		var opts inspect.SearchOptions
		for {
			page, err := inspector.Search(context.Background(), wanted, opts)
			if err != nil {
				fmt.Println(err)
				return
			}
			for _, job := range page.Jobs {
				fmt.Println(job.ID, job.State)
			}
			if opts.Cursor = page.Next; page.Next == "" {
				fmt.Println("looked at", page.Through, "of", page.Total)
				break
			}
		}
	}
	// Output:
	// mail-3 queued
	// looked at 6 of 6
	// report-1 scheduled
	// looked at 1 of 1
}

// What became of the jobs of the last hour, all minutes together.
func ExampleInspector_History() {
	ctx := context.Background()
	options := quiet("history")
	pool := work.NewWorkerPool(nil, 1, options).Job("export", func() error { return nil })
	fmt.Println(pool.Start(ctx))
	for range 3 {
		_, _ = pool.Enqueuer().Enqueue(ctx, "export") // seen below
	}
	_ = pool.Drain(ctx)
	fmt.Println(pool.Stop(ctx)) // it tells what was counted; while a pool runs, its heartbeat does so each second

	hands, _ := inspect.New(options.Redis, work.Namespace(options.Namespace))
	defer hands.Close()
	history, err := hands.History(ctx, inspect.HistoryOptions{Names: []string{"export"}})
	var whole inspect.HistoryPoint
	for _, point := range history["export"] {
		whole.Done += point.Done
		whole.Run.Merge(point.Run)
	}
	fmt.Println(whole.Done, whole.Run.Count(), whole.Run.Quantile(0.99) < time.Minute, err)
	// Output:
	// <nil>
	// <nil>
	// 3 3 true <nil>
}

// Failures that differ in a number are one group.
func ExampleInspector_Errors() {
	ctx := context.Background()
	options := quiet("errors")
	options.Observers = nil
	pool := work.NewWorkerPool(nil, 1, options).
		JobWithOptions("greet", work.JobOptions{Retries: -1},
			func(user int) error { return fmt.Errorf("user %d not found", user) }).
		JobWithOptions("send", work.JobOptions{Retries: -1}, func(int) error { return errors.New("no answer") })
	fmt.Println(pool.Start(ctx))
	for user := range 3 {
		_, _ = pool.Enqueuer().Enqueue(ctx, "greet", user) // seen below
	}
	_, _ = pool.Enqueuer().Enqueue(ctx, "send", 1)
	_ = pool.Drain(ctx)
	fmt.Println(pool.Stop(ctx))

	hands, _ := inspect.New(options.Redis, work.Namespace(options.Namespace))
	defer hands.Close()
	groups, err := hands.Errors(ctx, "")
	for _, group := range groups {
		fmt.Println(group.Count, group.Name, group.Message)
	}
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// 3 greet user # not found
	// 1 send no answer
	// <nil>
}

func ExampleHistogram() {
	var h inspect.Histogram
	for ms := range 1000 {
		h.Add(time.Duration(ms+1) * time.Millisecond)
	}
	fmt.Println(h.Count(), h.Mean(), h.Quantile(0.5), h.Quantile(1), inspect.HistogramBounds()[10])
	// Output:
	// 1000 500.5ms 500ms 1.024s 1.024s
}
