package work_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
)

// A step that has succeeded is not done again when the job is.
func ExampleStep() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("step")).
		Job("import", func(ctx context.Context, job *work.Job) error {
			rows, err := work.Step(ctx, "download", func(context.Context) (int, error) {
				fmt.Println("download")
				return 3, nil
			})
			if err != nil {
				return err
			}
			if job.Attempt == 1 {
				return work.RetryIn(100*time.Millisecond, errors.New("no room for them"))
			}
			fmt.Println(rows, "rows")
			return nil
		})
	receipt := runOne(ctx, pool, "import")
	_ = pool.Enqueuer().WaitEnd(ctx, receipt.ID)
	_ = pool.Stop(ctx)
	// Output:
	// download
	// failed: no room for them - again in 100ms
	// 3 rows
}

// The job waits without a processor, and is then run from its beginning.
func ExampleSleep() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("sleep")).
		Job("remind", func(ctx context.Context, whom string) error {
			if err := work.Sleep(ctx, "cool-down", time.Second); err != nil {
				return err // the job is put off, and this handler is called again
			}
			fmt.Println("remind", whom)
			return nil
		})
	receipt := runOne(ctx, pool, "remind", "ann")
	_ = pool.Enqueuer().WaitEnd(ctx, receipt.ID)
	_ = pool.Stop(ctx)
	// Output:
	// put off for 1s
	// remind ann
}

// A job waits for an approval that another program sends.
func ExampleReceive() {
	ctx := context.Background()
	type Approval struct{ By string }
	waits := make(chan string, 1)
	options := quiet("receive")
	options.Observers = []work.Observer{work.ObserverFunc(func(e event.Event) {
		if e, is := e.(event.JobSnoozed); is {
			fmt.Println(e.Err)
			waits <- e.ID
		}
	})}
	pool := work.NewWorkerPool(nil, 1, options).
		Job("publish", func(ctx context.Context, page string) error {
			approval, err := work.Receive[Approval](ctx, "approval")
			if err != nil {
				return err
			}
			fmt.Println(page, "was approved by", approval.By)
			return nil
		})
	receipt := runOne(ctx, pool, "publish", "index.html")
	if err := work.Send(ctx, pool.Enqueuer(), <-waits, "approval", Approval{By: "ann"}); err != nil {
		fmt.Println(err)
	}
	_ = pool.Enqueuer().WaitEnd(ctx, receipt.ID)
	_ = pool.Stop(ctx)
	// Output:
	// waits for message "approval"
	// index.html was approved by ann
}

// A message may be sent before the job has begun; who sends one to a job that never was learns it.
func ExampleSend() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("send")).
		Job("publish", func(ctx context.Context) error {
			by, err := work.ReceiveWithin[string](ctx, "approval", time.Hour)
			if err == nil {
				fmt.Println("approved by", by)
			}
			return err
		})
	enq := pool.Enqueuer()
	receipt, err := enq.Enqueue(ctx, "publish")
	if err == nil {
		err = work.Send(ctx, enq, receipt.ID, "approval", "bob")
	}
	fmt.Println(err)
	fmt.Println(work.Send(ctx, enq, "page-7", "approval", "bob"))
	_ = pool.Start(ctx)
	_ = enq.WaitEnd(ctx, receipt.ID)
	_ = pool.Stop(ctx)
	// Output:
	// <nil>
	// message "approval" was not sent to job "page-7": there is no such job: it has ended and nothing is kept of it, or never was
	// approved by bob
}

// A message with a type that both sides share.
func ExampleDefineMessage() {
	ctx := context.Background()
	approved := work.DefineMessage[bool]("approval")
	pool := work.NewWorkerPool(nil, 1, quiet("messages")).
		Job("publish", func(ctx context.Context) error {
			yes, err := approved.Receive(ctx)
			if err == nil {
				fmt.Println("approved:", yes)
			}
			return err
		})
	receipt, err := pool.Enqueuer().Enqueue(ctx, "publish")
	if err == nil {
		err = approved.Send(ctx, pool.Enqueuer(), receipt.ID, true)
	}
	if err == nil {
		err = pool.Start(ctx)
	}
	if err != nil {
		fmt.Println(err)
	}
	_ = pool.Enqueuer().WaitEnd(ctx, receipt.ID)
	_ = pool.Stop(ctx)
	// Output: approved: true
}

// A middleware that times steps.
func ExampleAroundSteps() {
	ctx := context.Background()
	options := quiet("around")
	options.Logger = slog.New(slog.DiscardHandler)
	pool := work.NewWorkerPool(nil, 1, options).
		Middleware(func(ctx context.Context, _ *work.Job, next work.NextFunc) error {
			return next(work.AroundSteps(ctx, func(ctx context.Context, step string, do work.NextFunc) error {
				fmt.Println("before", step)
				err := do(ctx)
				fmt.Println("after", step, err)
				return err
			}))
		}).
		Job("import", func(ctx context.Context) error {
			_, err := work.Step(ctx, "download", func(context.Context) (int, error) { return 3, nil })
			return err
		})
	receipt := runOne(ctx, pool, "import")
	_ = pool.Enqueuer().WaitEnd(ctx, receipt.ID)
	_ = pool.Stop(ctx)
	// Output:
	// before download
	// after download <nil>
}
