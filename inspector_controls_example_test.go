package work_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
)

// A queued job is put aside, and given back later.
func ExampleInspector_Stall() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("stall"))
	enq, hands := pool.Enqueuer(), pool.Inspector()
	receipt, _ := enq.With(work.ID("report-1")).Enqueue(ctx, "report")
	fmt.Println(hands.Stall(ctx, receipt.ID))
	fmt.Println(hands.MoveToFront(ctx, receipt.ID))
	fmt.Println(hands.Resume(ctx, receipt.ID))
	// Output:
	// <nil>
	// job "report-1" cannot be moved to the front: it is stalled, and only one that is queued can be: resume it first
	// <nil>
}

// A scheduled job is put off, and then run at once with other args.
func ExampleInspector_RunNow() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("run now"))
	enq, hands := pool.Enqueuer(), pool.Inspector()
	receipt, _ := enq.With(work.ID("mail-1")).EnqueueIn(ctx, "mail", time.Hour, "ann")
	fmt.Println(hands.Reschedule(ctx, receipt.ID, time.Now().Add(2*time.Hour)))
	fmt.Println(hands.ChangeArgs(ctx, receipt.ID, "bob"))
	fmt.Println(hands.RunNow(ctx, receipt.ID))
	info, _ := hands.Job(ctx, receipt.ID)
	fmt.Println(info.State, string(info.Args))
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// queued ["bob"]
}

// Dead jobs get another chance, or go.
func ExampleInspector_RetryNow() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	broken := true
	pool := work.NewWorkerPool(nil, 1, quiet("retry now")).
		JobWithOptions("import", work.JobOptions{Retries: -1}, func() error {
			if broken {
				return errors.New("the disk is full")
			}
			return nil
		})
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Stop(ctx) }() // nothing runs any more
	enq, hands := pool.Enqueuer(), pool.Inspector()
	for _, id := range []string{"import-1", "import-2"} {
		if _, err := enq.With(work.ID(id)).Enqueue(ctx, "import"); err != nil {
			fmt.Println(err)
		}
	}
	_ = pool.Drain(ctx)
	broken = false
	fmt.Println(hands.Delete(ctx, "import-2"))
	fmt.Println(hands.RetryNow(ctx, "import-1", work.FreshAttempts()))
	_ = pool.Drain(ctx)
	fmt.Println(hands.RetryNow(ctx, "import-1"))
	// Output:
	// buried: out of retries
	// buried: out of retries
	// <nil>
	// <nil>
	// job "import-1" was not retried: there is no such job: it has ended and nothing is kept of it, or never was
}

// What waits is counted, and then deleted.
func ExampleInspector_Bulk() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("bulk"))
	enq, hands := pool.Enqueuer(), pool.Inspector()
	for range 3 {
		_, _ = enq.Enqueue(ctx, "report") // counted below
	}
	queued := work.Selection{State: work.StateQueued, Name: "report"}
	dry, err := hands.Bulk(ctx, queued, work.ActionDelete, work.BulkOptions{DryRun: true})
	fmt.Println(dry.Matched, dry.Done, err)
	report, err := hands.Bulk(ctx, queued, work.ActionDelete, work.BulkOptions{
		Progress: func(done, total int) { fmt.Println(done, "of", total) },
	})
	fmt.Println(report.Matched, report.Done, err)
	// Output:
	// 3 0 <nil>
	// 3 of 3
	// 3 3 <nil>
}
