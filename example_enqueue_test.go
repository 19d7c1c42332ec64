package work_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded" // memory://
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/objects"
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

// A misspelt name is an error, not a job that nobody ever runs.
func ExampleNames() {
	enq, err := work.NewEnqueuer("memory://example-names", work.Names("create_watch", "send_mail"))
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()
	_, err = enq.Enqueue(context.Background(), "create_wacth", 17)
	var invalid *work.InvalidError
	fmt.Println(errors.As(err, &invalid), invalid.What)
	fmt.Println(invalid.Remedy)
	// Output:
	// true job "create_wacth"
	// did you mean "create_watch"? If not, add it to the option Names; it has ["create_watch" "send_mail"]
}

// Which names there are the workers have told Redis.
func ExampleServedNames() {
	ctx, options := context.Background(), quiet("served")
	pool := work.NewWorkerPool(nil, 1, options).Job("send_mail", func(to string) error { return nil })
	if err := pool.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer stop(ctx, pool) // nothing is due
	enq, err := work.NewEnqueuer(options.Redis, work.Namespace(options.Namespace), work.ServedNames())
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()
	_, err = enq.EnqueueIn(ctx, "send_mail", time.Hour, "ada@example.org")
	fmt.Println(err)
	_, err = enq.Enqueue(ctx, "sendmail", "ada@example.org")
	fmt.Println(err != nil)
	// Output:
	// <nil>
	// true
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

type tenantKey struct{}

// forTenant gives every job the tenant of the request that enqueues it, and lets no job go without one.
func forTenant(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
	tenant, ok := ctx.Value(tenantKey{}).(string)
	if !ok {
		return errors.New("who is it for?")
	}
	for i := range entries {
		entries[i].Options = append(entries[i].Options, work.Meta("tenant", tenant))
	}
	receipts, err := next(ctx, entries)
	for _, receipt := range receipts {
		if receipt.ID != "" {
			fmt.Println(receipt.Name, "of", tenant, "is stored")
		}
	}
	return err
}

func ExampleEnqueueMiddleware() {
	enq, err := work.NewEnqueuer("memory://example-around", work.WithEnqueueMiddleware(forTenant))
	if err != nil {
		log.Fatal(err)
	}
	defer enq.Close()

	ctx := context.Background()
	_, err = enq.Enqueue(context.WithValue(ctx, tenantKey{}, "acme"), "export", 42)
	fmt.Println(err)
	_, err = enq.Enqueue(ctx, "export", 43)
	fmt.Println(err)
	// Output:
	// export of acme is stored
	// <nil>
	// job "export" is not stored: who is it for?
}

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

	results, err := inspect.Of(pool).Cancel(ctx, running.ID, waiting.ID, "no-such-job")
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

// However often a customer changes something, one report waits.
func ExampleUnique() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 2, quiet("unique")).
		Job("report", func(customer int, reason string) error {
			fmt.Println("report for", customer, "because of", reason)
			return nil
		})
	enq := pool.Enqueuer().With(work.Unique(work.UniqueOptions{Args: []int{0}}))
	first, _ := enq.Enqueue(ctx, "report", 7, "a new address")
	second, err := enq.Enqueue(ctx, "report", 7, "a new name")
	fmt.Println(second.Duplicate, second.ID == first.ID, err)
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
	}
	_ = pool.Drain(ctx)
	_ = pool.Stop(ctx)
	// Output:
	// true true <nil>
	// report for 7 because of a new address
}

// The index is built a minute after the last change, with what that one said. Once it is being built, the next change
// asks for another one.
func ExampleConflict() {
	ctx := context.Background()
	enq, err := work.NewEnqueuer("memory://examples", work.Namespace("debounce"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer enq.Close()
	debounced := enq.With(work.Unique(work.UniqueOptions{
		Key: "index", Until: work.UntilStarted, OnConflict: work.ReplaceArgs | work.Postpone,
	}))
	for version := range 3 {
		receipt, err := debounced.EnqueueIn(ctx, "index", time.Minute, version)
		fmt.Println(receipt.Duplicate, err)
	}
	// Output:
	// false <nil>
	// true <nil>
	// true <nil>
}

func ExampleDuplicateError() {
	ctx := context.Background()
	enq, err := work.NewEnqueuer("memory://examples", work.Namespace("refused"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer enq.Close()
	enq = enq.With(work.Unique(work.UniqueOptions{OnConflict: work.RefuseDuplicate, For: time.Hour}))
	first, _ := enq.Enqueue(ctx, "remind", "ann@example.com")
	_, err = enq.Enqueue(ctx, "remind", "ann@example.com")
	var duplicate *work.DuplicateError
	fmt.Println(errors.As(err, &duplicate) && duplicate.ID == first.ID)
	// Output: true
}

// A code that was sent by mail is of no use after ten minutes.
func ExampleExpireAt() {
	ctx := context.Background()
	options := quiet("expiry")
	options.Observers = []work.Observer{work.ObserverFunc(func(e event.Event) {
		if e, ok := e.(event.JobExpired); ok {
			fmt.Println("expired:", e.Name, e.Tags)
		}
	})}
	pool := work.NewWorkerPool(nil, 2, options).Job("mail_code", func() error { return nil })
	created := time.Now().Add(-time.Hour) // nobody ran jobs for an hour
	_, err := pool.Enqueuer().With(work.ExpireAt(created.Add(10*time.Minute)), work.Tags("login")).
		Enqueue(ctx, "mail_code")
	if err != nil {
		fmt.Println(err)
	}
	if err := pool.Start(ctx); err != nil {
		fmt.Println(err)
	}
	_ = pool.Drain(ctx)
	_ = pool.Stop(ctx)
	// Output: expired: mail_code [login]
}

// A permanent error is not worth 25 attempts, and somebody wants to know.
func ExampleJobOptions_onDeath() {
	ctx := context.Background()
	pool := work.NewWorkerPool(nil, 2, quiet("death")).
		JobWithOptions("charge", work.JobOptions{
			Permanent: func(err error) bool { return errors.Is(err, errUnknown) },
			OnDeath: func(_ context.Context, job *work.Job, err error) {
				fmt.Println("told of", job.Name, string(job.Args), "-", err)
			},
		}, func(account int) error { return fmt.Errorf("account %d: %w", account, errUnknown) })
	runOne(ctx, pool, "charge", 7)
	_ = pool.Stop(ctx)
	// Output:
	// buried: its error is permanent
	// told of charge [7] - account 7: no such account
}

// A request that is sent again, since nobody knows whether it was heard, stores nothing: not even when its job was
// deleted meanwhile.
func ExampleOnce() {
	ctx := context.Background()
	enq, err := work.NewEnqueuer("memory://once")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = enq.Close() }() // it was in memory
	inspector, err := inspect.New("memory://once")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = inspector.Close() }() // the same
	request := enq.With(work.Once("4f1c-request", 24*time.Hour))
	first, err := request.Enqueue(ctx, "report", 7)
	fmt.Println(first.Duplicate, err)
	fmt.Println(inspector.Delete(ctx, first.ID))
	again, err := request.Enqueue(ctx, "report", 7)
	fmt.Println(again.Duplicate, again.ID == first.ID, err)
	// Output:
	// false <nil>
	// <nil>
	// true true <nil>
}

// Two workers serve the same name, and one of them has what some of its jobs need.
func ExampleNeeds() {
	ctx := context.Background()
	ran := make(chan string)
	worker := func(where string, labels ...string) *work.WorkerPool {
		options := quiet("needs")
		options.Labels = labels
		return work.NewWorkerPool(nil, 2, options).Job("render", func(frame int) error {
			ran <- fmt.Sprintf("frame %d %s", frame, where)
			return nil
		})
	}
	plain, gpu := worker("anywhere"), worker("on a gpu", "gpu", "eu")
	if _, err := plain.Enqueuer().With(work.Needs("gpu")).Enqueue(ctx, "render", 1); err != nil {
		fmt.Println(err)
	}
	if _, err := plain.Enqueuer().Enqueue(ctx, "render", 2); err != nil {
		fmt.Println(err)
	}
	for _, pool := range []*work.WorkerPool{plain, gpu} {
		if err := pool.Start(ctx); err != nil {
			fmt.Println(err)
		}
		fmt.Println(<-ran)
	}
	_ = plain.Stop(ctx)
	_ = gpu.Stop(ctx)
	// Output:
	// frame 2 anywhere
	// frame 1 on a gpu
}
