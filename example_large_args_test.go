package work_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://
	"github.com/265d0351/work/objects"
)

// Jobs that share a large argument hold it once: handlers see no difference. A result that is large is kept the same
// way.
func ExampleLargeArgs() {
	ctx, book := context.Background(), strings.Repeat("to be or not to be ", 100_000)
	options := work.WorkerOptions{Redis: "memory://examples", Namespace: "large-args",
		Logger: slog.New(slog.DiscardHandler)}
	pool := work.NewWorkerPool(nil, 4, options).
		JobWithOptions("shout", work.JobOptions{Retention: time.Hour}, func(chapter int, book string) (string, error) {
			return strings.ToUpper(book), nil
		})
	enq, err := work.NewEnqueuer("memory://examples", work.Namespace("large-args"), work.LargeArgs(8<<10))
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()
	var last work.Receipt
	for chapter := range 10 {
		if last, err = enq.Enqueue(ctx, "shout", chapter, book); err != nil {
			log.Fatal(err)
		}
	}
	store, err := objects.Open("memory://examples", objects.Options{Namespace: "large-args"})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	sum, err := store.Statistics(ctx)
	fmt.Println("objects:", sum.Count, "references:", sum.References, err)

	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer func() { _ = pool.Stop(ctx) }() // the example is over
	result, err := work.Wait[string](ctx, enq, last.ID)
	fmt.Println(len(result) == len(book), result[:18], err)
	// Output:
	// objects: 1 references: 10 <nil>
	// true TO BE OR NOT TO BE <nil>
}
