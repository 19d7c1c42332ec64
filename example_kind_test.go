package work_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://
)

// WatchArgs are the args of a kind of job.
type WatchArgs struct {
	User       int64 `json:"user" work:"unique"`
	Suggestion int64 `json:"suggestion"`
}

// CreateWatch is a kind of job: enqueuers and workers both see it.
var CreateWatch = work.DefineResult[WatchArgs, string]("create_watch", work.JobOptions{Retention: time.Minute})

// Watches is the context of the pool.
type Watches struct{ Shop string }

func (w *Watches) CreateWatch(_ context.Context, args WatchArgs) (string, error) {
	return fmt.Sprintf("user %d watches %d in %s", args.User, args.Suggestion, w.Shop), nil
}

// Args and results have types. A second job of a user is not stored while the first one lives.
func ExampleDefine() {
	pool := work.NewWorkerPool(Watches{Shop: "the shop"}, 1,
		work.WorkerOptions{Redis: "memory://kinds", Logger: slog.New(slog.DiscardHandler)})
	work.HandleResult(pool, CreateWatch, (*Watches).CreateWatch)
	ctx, enq := context.Background(), pool.Enqueuer()
	first, err := CreateWatch.Enqueue(ctx, enq, WatchArgs{User: 7, Suggestion: 42})
	if err != nil {
		fmt.Println(err)
	}
	second, err := CreateWatch.Enqueue(ctx, enq, WatchArgs{User: 7, Suggestion: 43})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println("the second is a duplicate of the first:", second.Duplicate && second.ID == first.ID)
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(CreateWatch.Wait(ctx, enq, first.ID))
	fmt.Println(pool.Stop(ctx))
	// Output:
	// the second is a duplicate of the first: true
	// user 7 watches 42 in the shop <nil>
	// <nil>
}

// The handler of an order enqueues a job per item. It needs no Enqueuer of its own.
func ExampleEnqueuerFromContext() {
	pool := work.NewWorkerPool(nil, 1,
		work.WorkerOptions{Redis: "memory://from-context", Logger: slog.New(slog.DiscardHandler)}).
		Job("order", func(ctx context.Context, items ...string) error {
			enq := work.EnqueuerFromContext(ctx)
			for _, item := range items {
				if _, err := enq.Enqueue(ctx, "pack", item); err != nil {
					return err
				}
			}
			return nil
		}).
		Job("pack", func(job *work.Job, item string) error {
			fmt.Println("packed", item, "of order", job.SourceID, "for a parent:", job.Parent != "")
			return nil
		})
	ctx := context.Background()
	if _, err := pool.Enqueuer().SourcedEnqueue(ctx, "order", 42, "pen", "ink"); err != nil {
		fmt.Println(err)
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pool.Drain(ctx), pool.Stop(ctx))
	// Output:
	// packed pen of order 42 for a parent: true
	// packed ink of order 42 for a parent: true
	// <nil> <nil>
}
