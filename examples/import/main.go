// Import is a job that remembers how far it came: it downloads once, charges once, stores rows as a batch whose
// progress is shown, rests for a while without a processor, waits for somebody's approval, and goes on after a deploy
// where it was, whatever fails in between.
//
//	go run ./examples/import
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://, a Redis inside this process
)

func main() {
	redis := flag.String("redis", "memory://", "the Redis to use, such as redis://localhost:6379/0")
	flag.Parse()
	ctx := context.Background()
	waits, bank := make(chan string, 1), map[string]int{}
	newPool := func() *work.WorkerPool { // as a deploy starts the program again
		options := work.WorkerOptions{Redis: *redis, Namespace: "example-import",
			Observers: []work.Observer{watch(waits)},
			Logger:    slog.New(slog.DiscardHandler)}
		return work.NewWorkerPool(importer{bank}, 1, options).
			Job("import", (*importer).Import).
			Job("row", (*importer).Row).
			Job("rows_stored", (*importer).RowsStored)
	}
	enq, err := work.NewEnqueuer(*redis, work.Namespace("example-import"))
	exitOn(err)
	receipt, err := enq.With(work.Retention(time.Minute)).Enqueue(ctx, "import", "people.csv")
	exitOn(err)

	first := newPool()
	exitOn(first.Start(ctx))
	exitOn(show(ctx, enq, "rows of "+receipt.ID))
	id := <-waits
	exitOn(first.Stop(ctx)) // nothing is lost: the job waits in Redis, and nobody holds it
	exitOn(approved.Send(ctx, enq, id, Approval{By: "the boss"}))

	second := newPool()
	exitOn(second.Start(ctx))
	result, err := work.Wait[string](ctx, enq, receipt.ID)
	exitOn(err)
	fmt.Println("imported", result)
	exitOn(second.Stop(ctx))
	exitOn(enq.Close())
}

func exitOn(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
