// Order has a flow: an order is charged and picked side by side, then shipped, and what was done is undone where that
// fails.
//
//	go run ./examples/order
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://, a Redis inside this process
	"github.com/265d0351/work/flow"
)

// place stores an order with all that is to be done about it. Whoever calls it again stores nothing twice: so this
// program, run a second time with a Redis that stays, finds both orders done.
func place(ctx context.Context, enq *work.Enqueuer, order int64) (string, error) {
	f := flow.New(fmt.Sprintf("order-%d", order))
	charge := f.Job("charge", order)
	pick := f.Job("pick", order)
	ship := f.Job("ship", order).After(charge, pick)
	f.Job("notify", order).After(ship).Even(flow.Dead)
	f.OnDone("close_order", order).OnDeath("refund", order)
	receipt, err := flow.Enqueue(ctx, enq, f)
	return receipt.ID, err
}

func main() {
	redis := flag.String("redis", "memory://", "the Redis to use, such as redis://localhost:6379/0")
	flag.Parse()
	if err := run(context.Background(), *redis); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, redis string) error {
	pool := work.NewWorkerPool(shop{}, 4, work.WorkerOptions{Redis: redis, Namespace: "example-order"}).
		Job("charge", (*shop).Charge).
		Job("pick", (*shop).Pick).
		Job("ship", (*shop).Ship).
		Job("notify", (*shop).Notify).
		Job("close_order", (*shop).Close).
		Job("refund", (*shop).Refund)
	if err := pool.Start(ctx); err != nil {
		return err
	}
	for _, order := range []int64{7, 101} {
		id, err := place(ctx, pool.Enqueuer(), order)
		if err != nil {
			return err
		}
		p, err := flow.Wait(ctx, pool.Enqueuer(), id)
		if err != nil {
			return err
		}
		if err := pool.Drain(ctx); err != nil { // what runs at the end of the flow as well
			return err
		}
		fmt.Printf("%s: %s, %d of %d done\n", id, p.State, p.Done, p.Total)
	}
	return pool.Stop(ctx)
}
