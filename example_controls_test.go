package work_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://
	"github.com/265d0351/work/inspect"
)

// What runs is given back at once, with no attempt used.
func ExampleWorkerPool_StopNow() {
	ctx, begun := context.Background(), make(chan bool)
	pool := work.NewWorkerPool(nil, 1, quiet("stop now")).Job("report", func(ctx context.Context) error {
		begun <- true
		<-ctx.Done()
		return ctx.Err()
	})
	_ = pool.Start(ctx)                                                     // seen below
	_, _ = pool.Enqueuer().With(work.ID("report-1")).Enqueue(ctx, "report") // seen below
	<-begun
	var stop *work.StopError
	if errors.As(pool.StopNow(ctx), &stop) {
		fmt.Println("cut short:", stop.Released)
	}
	// Output:
	// given back
	// cut short: [report report-1]
}

// All workers are told to do something, and answer.
func ExampleWorkerPool_OnMessage() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("on message")).Job("report", func() error { return nil }).
		OnMessage("level", func(_ context.Context, payload json.RawMessage) (any, error) {
			return "the level is now " + string(payload), nil
		})
	fmt.Println(pool.Start(ctx))
	answers, err := inspect.Of(pool).Ask(ctx, nil, "level", 3)
	for _, answer := range answers {
		fmt.Println(string(answer.Value), answer.Err)
	}
	fmt.Println(err, pool.Stop(ctx))
	// Output:
	// <nil>
	// "the level is now 3" <nil>
	// <nil> <nil>
}

// A pool that nobody needs ends by itself: something starts the program again when there is work.
func ExampleWorkerPool_Done() {
	options := quiet("idle")
	options.IdleTimeout = 50 * time.Millisecond
	pool := work.NewWorkerPool(nil, 2, options).Job("report", func() error { return nil })
	fmt.Println(pool.Start(context.Background()))
	<-pool.Done()
	fmt.Println(pool.Stop(context.Background())) // how that went
	// Output:
	// <nil>
	// <nil>
}

// A job that was put aside goes to the back of its queue.
func ExampleInspector_Resume() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("resume"))
	enq, hands := pool.Enqueuer(), inspect.Of(pool)
	_, _ = enq.With(work.ID("report-1")).Enqueue(ctx, "report") // seen below
	_ = hands.Stall(ctx, "report-1")
	stalled, _ := hands.Job(ctx, "report-1")
	fmt.Println(stalled.State, hands.Resume(ctx, "report-1"))
	queued, _ := hands.Job(ctx, "report-1")
	fmt.Println(queued.State)
	// Output:
	// stalled <nil>
	// queued
}

// A job that waits is deleted with all that belongs to it: nothing is left to be found.
func ExampleInspector_Delete() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("delete"))
	enq, hands := pool.Enqueuer(), inspect.Of(pool)
	_, _ = enq.With(work.ID("mail-1")).EnqueueIn(ctx, "mail", time.Hour)
	fmt.Println(hands.Delete(ctx, "mail-1"))
	_, err := hands.Job(ctx, "mail-1")
	fmt.Println(errors.Is(err, work.ErrNotFound))
	// Output:
	// <nil>
	// true
}

// A scheduled job gets another time.
func ExampleInspector_Reschedule() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("reschedule"))
	enq, hands := pool.Enqueuer(), inspect.Of(pool)
	_, _ = enq.With(work.ID("mail-1")).EnqueueIn(ctx, "mail", time.Hour)
	at := time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)
	fmt.Println(hands.Reschedule(ctx, "mail-1", at))
	info, _ := hands.Job(ctx, "mail-1")
	fmt.Println(info.State, info.RunAt.UTC().Format(time.DateTime))
	// Output:
	// <nil>
	// scheduled 2100-01-02 03:04:05
}

// The args of a job that nobody runs are put right.
func ExampleInspector_ChangeArgs() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("change args"))
	enq, hands := pool.Enqueuer(), inspect.Of(pool)
	_, _ = enq.With(work.ID("mail-1")).Enqueue(ctx, "mail", "ann@example.con", 7)
	fmt.Println(hands.ChangeArgs(ctx, "mail-1", "ann@example.com", 7))
	info, _ := hands.Job(ctx, "mail-1")
	fmt.Println(string(info.Args))
	// Output:
	// <nil>
	// ["ann@example.com",7]
}

// The last of three is the next to run.
func ExampleInspector_MoveToFront() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("move to front"))
	enq, hands := pool.Enqueuer(), inspect.Of(pool)
	for _, id := range []string{"report-1", "report-2", "report-3"} {
		_, _ = enq.With(work.ID(id)).Enqueue(ctx, "report") // seen below
	}
	fmt.Println(hands.MoveToFront(ctx, "report-3"))
	for _, id := range []string{"report-3", "report-1"} {
		info, _ := hands.Job(ctx, id)
		fmt.Println(id, "has", info.Ahead, "before it")
	}
	// Output:
	// <nil>
	// report-3 has 0 before it
	// report-1 has 1 before it
}

// A queued job is put aside, and given back later.
func ExampleInspector_Stall() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("stall"))
	enq, hands := pool.Enqueuer(), inspect.Of(pool)
	receipt, _ := enq.With(work.ID("report-1")).Enqueue(ctx, "report")
	fmt.Println(hands.Stall(ctx, receipt.ID))
	fmt.Println(hands.MoveToFront(ctx, receipt.ID))
	fmt.Println(hands.Resume(ctx, receipt.ID))
	// Output:
	// <nil>
	// job "report-1" cannot be moved to the front: it is stalled, and only one that is queued can be: resume it first
	// <nil>
}

// A scheduled job is put off, and then run at once with other args.
func ExampleInspector_RunNow() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("run now"))
	enq, hands := pool.Enqueuer(), inspect.Of(pool)
	receipt, _ := enq.With(work.ID("mail-1")).EnqueueIn(ctx, "mail", time.Hour, "ann")
	fmt.Println(hands.Reschedule(ctx, receipt.ID, time.Now().Add(2*time.Hour)))
	fmt.Println(hands.ChangeArgs(ctx, receipt.ID, "bob"))
	fmt.Println(hands.RunNow(ctx, receipt.ID))
	info, _ := hands.Job(ctx, receipt.ID)
	fmt.Println(info.State, string(info.Args))
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// queued ["bob"]
}

// A job that has ended is done once more, and once only.
func ExampleInspector_EnqueueAgain() {
	ctx := context.Background()
	enq, _ := work.NewEnqueuer("memory://examples", work.Namespace("again"))
	defer enq.Close()
	hands, _ := inspect.New("memory://examples", work.Namespace("again"))
	defer hands.Close()
	_, _ = enq.With(work.ID("mail-1"), work.Retention(time.Hour)).EnqueueIn(ctx, "mail", time.Hour, "ann")
	_, _ = hands.Cancel(ctx, "mail-1")
	first, _ := hands.EnqueueAgain(ctx, "mail-1")
	second, _ := hands.EnqueueAgain(ctx, "mail-1")
	fmt.Println(first.ID == second.ID, second.Duplicate)
	info, _ := hands.Job(ctx, first.ID)
	fmt.Println(info.State, string(info.Args), "again of", info.AgainOf)
	// Output:
	// true true
	// queued ["ann"] again of mail-1
}

// First it is counted what would go, then it goes.
func ExampleInspector_DestroyQueue() {
	ctx := context.Background()
	enq, _ := work.NewEnqueuer("memory://examples", work.Namespace("destroy"))
	defer enq.Close()
	hands, _ := inspect.New("memory://examples", work.Namespace("destroy"))
	defer hands.Close()
	_, _ = enq.Enqueue(ctx, "export", 1)
	_, _ = enq.EnqueueIn(ctx, "export", time.Hour, 2)
	there, _ := hands.DestroyQueue(ctx, "export", inspect.DestroyOptions{DryRun: true})
	fmt.Println(there.Waiting, "waiting,", there.Scheduled, "scheduled")
	gone, err := hands.DestroyQueue(ctx, "export", inspect.DestroyOptions{})
	fmt.Println(gone.Sum(), gone.Forgotten, err)
	// Output:
	// 1 waiting, 1 scheduled
	// 2 true <nil>
}

// Dead jobs get another chance, or go.
func ExampleInspector_RetryNow() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	broken := true
	pool := work.NewWorkerPool(nil, 1, quiet("retry now")).
		JobWithOptions("import", work.JobOptions{Retries: -1}, func() error {
			if broken {
				return errors.New("the disk is full")
			}
			return nil
		})
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Stop(ctx) }() // nothing runs any more
	enq, hands := pool.Enqueuer(), inspect.Of(pool)
	for _, id := range []string{"import-1", "import-2"} {
		if _, err := enq.With(work.ID(id)).Enqueue(ctx, "import"); err != nil {
			fmt.Println(err)
		}
	}
	_ = pool.Drain(ctx)
	broken = false
	fmt.Println(hands.Delete(ctx, "import-2"))
	fmt.Println(hands.RetryNow(ctx, "import-1", inspect.FreshAttempts()))
	_ = pool.Drain(ctx)
	fmt.Println(hands.RetryNow(ctx, "import-1"))
	// Output:
	// buried: out of retries
	// buried: out of retries
	// <nil>
	// <nil>
	// job "import-1" was not retried: there is no such job: it has ended and nothing is kept of it, or never was
}

// What waits is counted, and then deleted.
func ExampleInspector_Bulk() {
	ctx, pool := context.Background(), work.NewWorkerPool(nil, 1, quiet("bulk"))
	enq, hands := pool.Enqueuer(), inspect.Of(pool)
	for range 3 {
		_, _ = enq.Enqueue(ctx, "report") // counted below
	}
	queued := inspect.Selection{State: work.StateQueued, Name: "report"}
	dry, err := hands.Bulk(ctx, queued, inspect.ActionDelete, inspect.BulkOptions{DryRun: true})
	fmt.Println(dry.Matched, dry.Done, err)
	report, err := hands.Bulk(ctx, queued, inspect.ActionDelete, inspect.BulkOptions{
		Progress: func(done, total int) { fmt.Println(done, "of", total) },
	})
	fmt.Println(report.Matched, report.Done, err)
	// Output:
	// 3 0 <nil>
	// 3 of 3
	// 3 3 <nil>
}

func ExampleWorkerPool_HealthHandler() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("health")).Job("export", func() error { return nil })
	handler := pool.HealthHandler() // http.ListenAndServe("localhost:8081", handler)
	ask := func() {
		for _, path := range []string{"/live", "/ready"} {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
			fmt.Print(path, " ", answer.Code, " ", answer.Body)
		}
	}
	ask()
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer stop(ctx, pool)
	ask()
	// Output:
	// /live 200 {"status":"ok"}
	// /ready 503 {"status":"failed","problems":[{"component":"pool","error":"the worker pool is not started: call Start or Run first"}]}
	// /live 200 {"status":"ok"}
	// /ready 200 {"status":"ok"}
}

func ExampleWorkerPool_Healthy() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 1, quiet("healthy")).Job("export", func() error { return nil })
	err := pool.Healthy(ctx)
	var unhealthy *work.UnhealthyError
	if errors.As(err, &unhealthy) {
		for _, problem := range unhealthy.Problems {
			fmt.Println(problem.Component, "|", problem.Err)
		}
	}
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer stop(ctx, pool)
	fmt.Println(pool.Healthy(ctx))
	// Output:
	// pool | the worker pool is not started: call Start or Run first
	// <nil>
}

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
		workers, err := inspect.Of(pool).Workers(ctx)
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
