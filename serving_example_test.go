package work_test

import (
	"context"
	"fmt"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://
)

// While a mail server is down a process leaves its mails to others, and goes on with all else.
func ExampleWorkerPool_Withdraw() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 5, work.WorkerOptions{Redis: "memory://withdraw", Logger: unlogged}).
		Job("mail", func(to string) error { fmt.Println("mail to", to); return nil }).
		Job("report", func(name string) error { fmt.Println("report", name); return nil })
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	show := func() {
		workers, err := pool.Inspector().Workers(ctx)
		for _, w := range workers {
			fmt.Println("serves", w.Queues)
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(pool.Withdraw(ctx, "mail")) // returns when the last mail that runs here has ended
	show()
	_, _ = pool.Enqueuer().Enqueue(ctx, "mail", "ann") // it waits for a worker that serves it
	_, _ = pool.Enqueuer().Enqueue(ctx, "report", "sales")
	if err := pool.Drain(ctx); err != nil {
		fmt.Println(err)
	}
	if err := pool.Serve(ctx, "mail"); err != nil { // the mail that waits begins at once
		fmt.Println(err)
	}
	if err := pool.Drain(ctx); err != nil {
		fmt.Println(err)
	}
	show()
	fmt.Println(pool.Stop(ctx))
	// Output:
	// <nil>
	// serves [report]
	// report sales
	// mail to ann
	// serves [mail report]
	// <nil>
}

// A name that Only leaves out is registered all the same, so it can be served when it is needed.
func ExampleWorkerPool_Serve() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 5, work.WorkerOptions{Redis: "memory://serve", Only: []string{"mail"},
		Logger: unlogged}).
		Job("mail", func(to string) error { return nil }).
		Job("report", func(name string) error { fmt.Println("report", name); return nil })
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	_, _ = pool.Enqueuer().Enqueue(ctx, "report", "sales")
	fmt.Println(pool.Serve(ctx, "report"))
	if err := pool.Drain(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(pool.Serve(ctx, "reprot"))
	fmt.Println(pool.Stop(ctx))
	// Unordered output:
	// <nil>
	// report sales
	// a name given to Serve is "reprot": no such job is registered: register it with Job before Start; there are ["mail" "report"]
	// <nil>
}
