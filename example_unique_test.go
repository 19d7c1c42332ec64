package work_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
)

// However often a customer changes something, one report waits.
func ExampleUnique() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 2, quiet("unique")).
		Job("report", func(customer int, reason string) error {
			fmt.Println("report for", customer, "because of", reason)
			return nil
		})
	enq := pool.Enqueuer().With(work.Unique(work.UniqueOptions{Args: []int{0}}))
	first, _ := enq.Enqueue(ctx, "report", 7, "a new address")
	second, err := enq.Enqueue(ctx, "report", 7, "a new name")
	fmt.Println(second.Duplicate, second.ID == first.ID, err)
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
	}
	_ = pool.Drain(ctx)
	_ = pool.Stop(ctx)
	// Output:
	// true true <nil>
	// report for 7 because of a new address
}

// The index is built a minute after the last change, with what that one said. Once it is being built, the next change
// asks for another one.
func ExampleConflict() {
	ctx := context.Background()
	enq, err := work.NewEnqueuer("memory://examples", work.Namespace("debounce"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer enq.Close()
	debounced := enq.With(work.Unique(work.UniqueOptions{
		Key: "index", Until: work.UntilStarted, OnConflict: work.ReplaceArgs | work.Postpone,
	}))
	for version := range 3 {
		receipt, err := debounced.EnqueueIn(ctx, "index", time.Minute, version)
		fmt.Println(receipt.Duplicate, err)
	}
	// Output:
	// false <nil>
	// true <nil>
	// true <nil>
}

func ExampleDuplicateError() {
	ctx := context.Background()
	enq, err := work.NewEnqueuer("memory://examples", work.Namespace("refused"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer enq.Close()
	enq = enq.With(work.Unique(work.UniqueOptions{OnConflict: work.RefuseDuplicate, For: time.Hour}))
	first, _ := enq.Enqueue(ctx, "remind", "ann@example.com")
	_, err = enq.Enqueue(ctx, "remind", "ann@example.com")
	var duplicate *work.DuplicateError
	fmt.Println(errors.As(err, &duplicate) && duplicate.ID == first.ID)
	// Output: true
}

// A code that was sent by mail is of no use after ten minutes.
func ExampleExpireAt() {
	ctx := context.Background()
	options := quiet("expiry")
	options.Observers = []work.Observer{work.ObserverFunc(func(e event.Event) {
		if e, ok := e.(event.JobExpired); ok {
			fmt.Println("expired:", e.Name, e.Tags)
		}
	})}
	pool := work.NewWorkerPool(nil, 2, options).Job("mail_code", func() error { return nil })
	created := time.Now().Add(-time.Hour) // nobody ran jobs for an hour
	_, err := pool.Enqueuer().With(work.ExpireAt(created.Add(10*time.Minute)), work.Tags("login")).
		Enqueue(ctx, "mail_code")
	if err != nil {
		fmt.Println(err)
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
	}
	_ = pool.Drain(ctx)
	_ = pool.Stop(ctx)
	// Output: expired: mail_code [login]
}

// A permanent error is not worth 25 attempts, and somebody wants to know.
func ExampleJobOptions_onDeath() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 2, quiet("death")).
		JobWithOptions("charge", work.JobOptions{
			Permanent: func(err error) bool { return errors.Is(err, errUnknown) },
			OnDeath: func(_ context.Context, job *work.Job, err error) {
				fmt.Println("told of", job.Name, string(job.Args), "-", err)
			},
		}, func(account int) error { return fmt.Errorf("account %d: %w", account, errUnknown) })
	runOne(ctx, pool, "charge", 7)
	_ = pool.Stop(ctx)
	// Output:
	// buried: its error is permanent
	// told of charge [7] - account 7: no such account
}

// A request that is sent again, since nobody knows whether it was heard, stores nothing: not even when its job was
// deleted meanwhile.
func ExampleOnce() {
	ctx := context.Background()
	enq, err := work.NewEnqueuer("memory://once")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = enq.Close() }() // it was in memory
	inspector, err := work.NewInspector("memory://once")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = inspector.Close() }() // the same
	request := enq.With(work.Once("4f1c-request", 24*time.Hour))
	first, err := request.Enqueue(ctx, "report", 7)
	fmt.Println(first.Duplicate, err)
	fmt.Println(inspector.Delete(ctx, first.ID))
	again, err := request.Enqueue(ctx, "report", 7)
	fmt.Println(again.Duplicate, again.ID == first.ID, err)
	// Output:
	// false <nil>
	// <nil>
	// true true <nil>
}
