package work_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
)

// A page of support asks why the third export has not begun.
func ExampleInspector_Job() {
	ctx := context.Background()
	enq, _ := work.NewEnqueuer("memory://examples", work.Namespace("inspector-job"))
	defer enq.Close()
	inspector, _ := work.NewInspector("memory://examples", work.Namespace("inspector-job"))
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
	jobs, err := pool.Inspector().Jobs(ctx, soon.ID, later.ID, "another id")
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
