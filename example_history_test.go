package work_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
)

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

	hands, _ := work.NewInspector(options.Redis, work.Namespace(options.Namespace))
	defer hands.Close()
	history, err := hands.History(ctx, work.HistoryOptions{Names: []string{"export"}})
	var whole work.HistoryPoint
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

	hands, _ := work.NewInspector(options.Redis, work.Namespace(options.Namespace))
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
	var h work.Histogram
	for ms := range 1000 {
		h.Add(time.Duration(ms+1) * time.Millisecond)
	}
	fmt.Println(h.Count(), h.Mean(), h.Quantile(0.5), h.Quantile(1), work.HistogramBounds()[10])
	// Output:
	// 1000 500.5ms 500ms 1.024s 1.024s
}
