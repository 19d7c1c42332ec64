package work_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
)

// A job that was put aside goes to the back of its queue.
func ExampleInspector_Resume() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("resume"))
	enq, hands := pool.Enqueuer(), pool.Inspector()
	_, _ = enq.With(work.ID("report-1")).Enqueue(ctx, "report") // seen below
	_ = hands.Stall(ctx, "report-1")
	stalled, _ := hands.Job(ctx, "report-1")
	fmt.Println(stalled.State, hands.Resume(ctx, "report-1"))
	queued, _ := hands.Job(ctx, "report-1")
	fmt.Println(queued.State)
	// Output:
	// stalled <nil>
	// queued
}

// A job that waits is deleted with all that belongs to it: nothing is left to be found.
func ExampleInspector_Delete() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("delete"))
	enq, hands := pool.Enqueuer(), pool.Inspector()
	_, _ = enq.With(work.ID("mail-1")).EnqueueIn(ctx, "mail", time.Hour)
	fmt.Println(hands.Delete(ctx, "mail-1"))
	_, err := hands.Job(ctx, "mail-1")
	fmt.Println(errors.Is(err, work.ErrNotFound))
	// Output:
	// <nil>
	// true
}

// A scheduled job gets another time.
func ExampleInspector_Reschedule() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("reschedule"))
	enq, hands := pool.Enqueuer(), pool.Inspector()
	_, _ = enq.With(work.ID("mail-1")).EnqueueIn(ctx, "mail", time.Hour)
	at := time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)
	fmt.Println(hands.Reschedule(ctx, "mail-1", at))
	info, _ := hands.Job(ctx, "mail-1")
	fmt.Println(info.State, info.RunAt.UTC().Format(time.DateTime))
	// Output:
	// <nil>
	// scheduled 2100-01-02 03:04:05
}

// The args of a job that nobody runs are put right.
func ExampleInspector_ChangeArgs() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("change args"))
	enq, hands := pool.Enqueuer(), pool.Inspector()
	_, _ = enq.With(work.ID("mail-1")).Enqueue(ctx, "mail", "ann@example.con", 7)
	fmt.Println(hands.ChangeArgs(ctx, "mail-1", "ann@example.com", 7))
	info, _ := hands.Job(ctx, "mail-1")
	fmt.Println(string(info.Args))
	// Output:
	// <nil>
	// ["ann@example.com",7]
}

// The last of three is the next to run.
func ExampleInspector_MoveToFront() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("move to front"))
	enq, hands := pool.Enqueuer(), pool.Inspector()
	for _, id := range []string{"report-1", "report-2", "report-3"} {
		_, _ = enq.With(work.ID(id)).Enqueue(ctx, "report") // seen below
	}
	fmt.Println(hands.MoveToFront(ctx, "report-3"))
	for _, id := range []string{"report-3", "report-1"} {
		info, _ := hands.Job(ctx, id)
		fmt.Println(id, "has", info.Ahead, "before it")
	}
	// Output:
	// <nil>
	// report-3 has 0 before it
	// report-1 has 1 before it
}
