package work_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://
)

// Document is what is indexed.
type Document struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// Documents are indexed 500 at a time, or as many as have come two seconds after the first. One without a text fails by
// itself, and the others are done.
func ExampleTogether() {
	index := func(_ context.Context, batch work.Batch[Document]) error {
		fmt.Println("documents:", len(batch))
		for _, item := range batch {
			if item.Args.Text == "" {
				item.Fail(work.Bury(errors.New("no text")))
			}
		}
		return nil // that of all others
	}
	pool := work.NewWorkerPool(nil, 1,
		work.WorkerOptions{Redis: "memory://together", Logger: slog.New(slog.DiscardHandler)}).
		JobWithOptions("index", work.JobOptions{Together: work.Together{Most: 500, Wait: 2 * time.Second}}, index)
	ctx, enq := context.Background(), pool.Enqueuer()
	var entries []work.Entry
	for i := range 1000 {
		text := fmt.Sprint("about ", i)
		if i == 7 {
			text = ""
		}
		entries = append(entries, work.Entry{Name: "index", Args: []any{Document{i, text}}})
	}
	receipts, err := enq.EnqueueMany(ctx, entries)
	if err != nil {
		fmt.Println(err)
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pool.Drain(ctx))
	var failed *work.JobFailedError
	fmt.Println("the one without a text is dead:", errors.As(enq.WaitEnd(ctx, receipts[7].ID), &failed))
	fmt.Println(pool.Stop(ctx))
	// Output:
	// documents: 500
	// documents: 500
	// <nil>
	// the one without a text is dead: true
	// <nil>
}

// Items give their jobs results of their own.
func ExampleItem_Return() {
	Lengths := work.DefineResult[string, int]("lengths", work.JobOptions{Retention: time.Minute,
		Together: work.Together{Most: 3, Wait: time.Second}})
	pool := work.NewWorkerPool(nil, 1,
		work.WorkerOptions{Redis: "memory://together-results", Logger: slog.New(slog.DiscardHandler)})
	work.HandleFuncTogether(pool, Lengths, func(_ context.Context, batch work.Batch[string]) error {
		for _, item := range batch {
			item.Return(len(item.Args))
		}
		return nil
	})
	ctx, enq := context.Background(), pool.Enqueuer()
	var ids []string
	for _, text := range []string{"a", "bee", "cetera"} {
		receipt, err := Lengths.Enqueue(ctx, enq, text)
		if err != nil {
			fmt.Println(err)
		}
		ids = append(ids, receipt.ID)
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(Lengths.WaitAll(ctx, enq, ids...))
	fmt.Println(pool.Stop(ctx))
	// Output:
	// [1 3 6] <nil>
	// <nil>
}
