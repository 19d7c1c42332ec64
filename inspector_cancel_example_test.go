package work_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
)

// One job runs and one waits. Whoever cancels has one answer for each id, and one for an id that does not exist.
func ExampleInspector_Cancel() {
	ctx := context.Background()
	begun, ended := make(chan bool, 1), make(chan error, 1)
	pool := work.NewWorkerPool(nil, 1, quiet("cancel")).
		Job("export", func(ctx context.Context) error {
			begun <- true
			<-ctx.Done() // as everything does that is given this ctx: queries, requests, ...
			ended <- context.Cause(ctx)
			return ctx.Err()
		})
	defer stop(ctx, pool)
	running, err := pool.Enqueuer().Enqueue(ctx, "export")
	if err != nil {
		fmt.Println(err)
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
	}
	<-begun
	waiting, err := pool.Enqueuer().EnqueueIn(ctx, "export", time.Hour)
	if err != nil {
		fmt.Println(err)
	}

	results, err := pool.Inspector().Cancel(ctx, running.ID, waiting.ID, "no-such-job")
	if err != nil {
		fmt.Println(err)
	}
	for _, result := range results {
		fmt.Println(result.Effect)
	}
	fmt.Println(<-ended)
	fmt.Println(errors.Is(results[2].Err(), work.ErrNotFound))
	// Output:
	// flagged
	// ended
	// not found
	// the job was cancelled
	// true
}
