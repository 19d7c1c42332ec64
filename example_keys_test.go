package work_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
)

// workshop is a pool without output on a Redis of its own, and what has run there.
type workshop struct {
	*work.WorkerPool
	mu  sync.Mutex
	ran []string
}

func newWorkshop(redis string, processors int) *workshop {
	return &workshop{WorkerPool: work.NewWorkerPool(nil, processors, work.WorkerOptions{Redis: redis,
		Logger: slog.New(slog.DiscardHandler)})}
}

func (w *workshop) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, what)
}

// order stores jobs of customers in that order.
func (w *workshop) order(name string, customers ...string) {
	for n, customer := range customers {
		enq := w.Enqueuer().With(work.Key(customer))
		if _, err := enq.Enqueue(context.Background(), name, customer, n); err != nil {
			fmt.Println(err)
		}
	}
}

// workOff runs the pool until nothing is left to do.
func (w *workshop) workOff() {
	ctx := context.Background()
	if err := w.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Drain(ctx); err != nil {
		fmt.Println(err)
	}
	if err := w.Stop(ctx); err != nil {
		fmt.Println(err)
	}
}

// The three jobs of the small customers are not behind all those of the large one.
func ExampleKey() {
	shop := newWorkshop("memory://key", 1)
	shop.Job("sync", func(customer string, _ int) error {
		shop.note(customer)
		return nil
	})
	shop.order("sync", "large", "large", "large", "large", "large", "small", "tiny", "small")
	shop.workOff()
	fmt.Println(shop.ran)
	// Output: [large small tiny large small large large large]
}

// Of each customer two exports run at a time, over all processes that serve them; those of other customers go on.
func ExampleJobOptions_perKey() {
	shop := newWorkshop("memory://per-key", 10)
	running, most := map[string]int{}, map[string]int{}
	count := func(customer string, more int) {
		shop.mu.Lock()
		defer shop.mu.Unlock()
		running[customer] += more
		most[customer] = max(most[customer], running[customer])
	}
	options := work.JobOptions{PerKey: work.Limit{Concurrent: 2}}
	shop.JobWithOptions("export", options, func(customer string, _ int) error {
		count(customer, 1)
		defer count(customer, -1)
		return nil
	})
	shop.order("export", "ann", "bob", "ann", "ann", "bob", "ann", "ann", "bob")
	shop.workOff()
	fmt.Println("never more than two:", most["ann"] <= 2 && most["bob"] <= 2)
	// Output: never more than two: true
}

// The webhooks of an account run one after the other, in their order, however many processors there are.
func ExampleJobOptions_ordered() {
	shop := newWorkshop("memory://ordered", 10)
	shop.JobWithOptions("webhook", work.JobOptions{Ordered: true}, func(account string, n int) error {
		if account == "ann" {
			shop.note(fmt.Sprint(n))
		}
		return nil
	})
	shop.order("webhook", "ann", "ann", "bob", "ann", "bob", "ann")
	shop.workOff()
	fmt.Println(shop.ran)
	// Output: [0 1 3 5]
}

// Who waits, and why. One key is stopped by hand, and goes on.
func ExampleInspector_Keys() {
	ctx := context.Background()
	shop := newWorkshop("memory://keys", 2)
	shop.Job("sync", func(string, int) error { return nil })
	inspector := inspect.Of(shop.WorkerPool)
	shop.order("sync", "large", "large", "large", "small")
	if err := inspector.StopKey(ctx, "sync", "large"); err != nil {
		fmt.Println(err)
	}
	page, err := inspector.Keys(ctx, inspect.KeysOptions{Name: "sync"})
	if err != nil {
		fmt.Println(err)
	}
	for _, key := range page.Keys {
		fmt.Println(key.Key, key.Waiting, key.Why)
	}
	if err := inspector.ResetKeyLimit(ctx, "sync", "large"); err != nil {
		fmt.Println(err)
	}
	shop.workOff()
	// Output:
	// large 3 [its key is stopped]
	// small 1 []
}
