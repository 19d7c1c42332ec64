package work_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded"
)

func ExampleEnqueuer() {
	enq, err := work.NewEnqueuer("memory://example-enqueuer", work.Namespace("shop"))
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()

	receipt, err := enq.Enqueue(context.Background(), "create_watch", 17, "red shoes")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Name, "is stored, its id has", len(receipt.ID), "letters")
	// Output: create_watch is stored, its id has 22 letters
}

func ExampleEnqueuer_EnqueueIn() {
	enq, err := work.NewEnqueuer("memory://example-in")
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()

	receipt, err := enq.EnqueueIn(context.Background(), "remind", 3*time.Hour, "call back")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("due in", time.Until(receipt.RunAt).Round(time.Hour))
	// Output: due in 3h0m0s
}

func ExampleEnqueuer_EnqueueMany() {
	enq, err := work.NewEnqueuer("memory://example-many")
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()

	receipts, err := enq.EnqueueMany(context.Background(), []work.Entry{
		{Name: "resize", Args: []any{"a.png"}},
		{Name: "resize", Args: []any{"b.png"}, In: time.Minute},
		{Name: "resize", Args: []any{make(chan int)}},
	})
	var failed *work.EnqueueError
	if errors.As(err, &failed) {
		fmt.Println("stored:", failed.Stored, "not stored:", failed.NotStored, "unknown:", failed.Unknown)
		fmt.Println(err)
	}
	fmt.Println(len(receipts), "receipts")
	// Output:
	// stored: [] not stored: [0 1 2] unknown: []
	// none of 3 jobs is stored: entry 2: argument 1 of job "resize" is a chan int that does not encode as JSON (JSON has no such type as chan int): pass a value that encoding/json can encode
	// 3 receipts
}

func ExampleEnqueuer_With() {
	enq, err := work.NewEnqueuer("memory://example-with")
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()

	once := enq.With(work.ID("order-17"), work.Retries(3), work.Timeout(time.Minute), work.Meta("tenant", "north"))
	for range 2 {
		receipt, err := once.Enqueue(context.Background(), "ship", 17)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(receipt.ID, receipt.Duplicate)
	}
	// Output:
	// order-17 false
	// order-17 true
}

func ExampleEnqueuer_SourcedEnqueue() {
	enq, err := work.NewEnqueuer("memory://example-source")
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()

	receipt, err := enq.SourcedEnqueue(context.Background(), "rebuild_index", 42)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Name)
	// Output: rebuild_index
}

func ExampleResult() {
	enq, err := work.NewEnqueuer("memory://example-result")
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()

	ctx := context.Background()
	receipt, err := enq.With(work.Retention(time.Hour)).Enqueue(ctx, "count_words", "a.txt")
	if err != nil {
		log.Fatal(err)
	}
	words, err := work.Result[int](ctx, enq, receipt.ID)
	if errors.Is(err, work.ErrGone) {
		fmt.Println("no worker has run it yet, words is", words)
	}
	// Output: no worker has run it yet, words is 0
}
