// Long is a job that takes long: it tells how far it is, and goes on where it was after its worker was stopped.
//
//	go run ./examples/long
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://, a Redis inside this process
)

const rows = 12

// exporter is the context of the job. halfway is how this example learns when to stop the first worker.
type exporter struct{ halfway chan struct{} }

// Export writes rows, of which each takes a while.
func (e *exporter) Export(ctx context.Context, job *work.Job) (string, error) {
	next := 1
	// what an earlier attempt has saved; next stays 1 for the first
	if _, err := job.LoadState(ctx, &next); err != nil {
		return "", err
	}
	for ; next <= rows; next++ {
		// anybody can read it in Redis; true: the worker is stopping
		if job.Checkin(fmt.Sprintf("row %d of %d", next, rows)) {
			fmt.Println("told to stop before row", next)
			return "", work.Release(nil) // hand the job back; this is no failure
		}
		time.Sleep(20 * time.Millisecond) // the work
		fmt.Println("row", next)
		if err := job.Progress(map[string]int{"done": next, "of": rows}); err != nil { // for a progress bar
			return "", err
		}
		if err := job.SaveState(ctx, next+1); err != nil { // in Redis when it returns: this row is not written twice
			return "", err
		}
		if next == rows/2 {
			close(e.halfway)
		}
	}
	return fmt.Sprint(rows, " rows"), nil
}

func main() {
	redis := flag.String("redis", "memory://", "the Redis to use, such as redis://localhost:6379/0")
	flag.Parse()
	ctx := context.Background()
	e := exporter{halfway: make(chan struct{})}
	newPool := func() *work.WorkerPool { // as a deploy starts the program again
		return work.NewWorkerPool(e, 1, work.WorkerOptions{Redis: *redis, Namespace: "example-long"}).
			Job("export", (*exporter).Export)
	}
	enq, err := work.NewEnqueuer(*redis, work.Namespace("example-long"))
	exitOn(err)
	// so that its result is there when we ask
	receipt, err := enq.With(work.Retention(time.Minute)).Enqueue(ctx, "export")
	exitOn(err)

	first := newPool()
	exitOn(first.Start(ctx))
	<-e.halfway
	exitOn(first.Stop(ctx)) // Checkin answers true from now on; the stop waits until the job has handed itself back

	second := newPool()
	exitOn(second.Start(ctx))
	result, err := work.Wait[string](ctx, enq, receipt.ID)
	exitOn(err)
	fmt.Println("exported", result)
	exitOn(second.Stop(ctx))
	exitOn(enq.Close())
}

func exitOn(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
