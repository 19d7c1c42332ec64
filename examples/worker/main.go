// Worker is a worker and a client that may be programs of their own, on machines of their own:
//
//	go run ./examples/worker -redis redis://localhost:6379/0 -role worker
//	go run ./examples/worker -redis redis://localhost:6379/0 -role client
//
// Without flags both are in one process, on a Redis that is inside it too.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://, a Redis inside this process
)

const namespace = "example-worker" // whoever works together has the same one

func main() {
	redis := flag.String("redis", "memory://", "the Redis to use, such as redis://localhost:6379/0")
	role := flag.String("role", "both", "worker, client or both")
	bound := flag.Duration("for", 0, "stop the worker after this time; 0 is not at all")
	flag.Parse()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if *bound > 0 {
		defer time.AfterFunc(*bound, cancel).Stop()
	}
	switch *role {
	case "worker":
		exitOn(newPool(*redis).Run(ctx)) // until an interrupt
	case "client":
		exitOn(client(ctx, *redis))
	default:
		pool := newPool(*redis)
		exitOn(pool.Start(ctx))
		exitOn(client(ctx, *redis))
		exitOn(pool.Stop(ctx))
	}
}

// newPool makes the worker: it runs up to 5 jobs at once.
func newPool(redis string) *work.WorkerPool {
	return work.NewWorkerPool(nil, 5, work.WorkerOptions{Redis: redis, Namespace: namespace}).
		Job("count words", countWords)
}

// countWords takes what the client gave to Enqueue, and returns what it gets from Wait.
func countWords(text string) (int, error) { return len(strings.Fields(text)), nil }

// client knows the name of the job, its args and its result. It needs none of the worker's code.
func client(ctx context.Context, redis string) error {
	enq, err := work.NewEnqueuer(redis, work.Namespace(namespace))
	if err != nil {
		return err
	}
	defer enq.Close()
	// for those who ask after the job has ended; by default no result is kept
	kept := enq.With(work.Retention(time.Minute))
	for _, text := range []string{"to be or not to be", "that is the question"} {
		receipt, err := kept.Enqueue(ctx, "count words", text)
		if err != nil {
			return err
		}
		words, err := work.Wait[int](ctx, enq, receipt.ID) // most programs have no need to wait
		if err != nil {
			return err
		}
		fmt.Printf("%q has %d words\n", text, words)
	}
	return nil
}

func exitOn(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
