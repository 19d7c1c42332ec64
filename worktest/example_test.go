package worktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/worktest"
)

var errNoAddress = errors.New("no address")

// newPool is the pool of a shop, as its main function makes it with the options of production.
func newPool(opts work.WorkerOptions) *work.WorkerPool {
	pool := work.NewWorkerPool(nil, 5, opts)
	return pool.
		Job("welcome", func(ctx context.Context, address string) (string, error) {
			if address == "" {
				return "", work.Bury(errNoAddress)
			}
			_, err := pool.Enqueuer().EnqueueIn(ctx, "remind", 24*time.Hour, address)
			return "mail to " + address, err
		}).
		Job("remind", func(address string) error { fmt.Println("reminded", address); return nil })
}

// exampleT stands for the t of a test.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()                      {}
func (t *exampleT) Context() context.Context     { return context.Background() }
func (t *exampleT) Cleanup(fn func())            { t.cleanups = append(t.cleanups, fn) }
func (t *exampleT) Logf(format string, a ...any) {}
func (t *exampleT) Errorf(format string, a ...any) {
	fmt.Printf(format+"\n", a...)
}
func (t *exampleT) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

func (t *exampleT) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

// One job through middleware and handler.
func ExampleRun() {
	t := &exampleT{} // in a test: its t
	defer t.end()
	pool := newPool(work.WorkerOptions{Redis: "redis://production.example:6379"}) // which nobody calls
	outcome := worktest.Run(t, pool, "welcome", "")
	fmt.Println(outcome.Ending, errors.Is(outcome.Err, errNoAddress), outcome.Reason)
	// Output: bury true its handler asked for it
}

// What a program enqueues, and what its jobs do a day later.
func ExampleDrainFor() {
	t := &exampleT{} // in a test: its t
	defer t.end()
	r := worktest.New(t)
	pool := r.Start(t, newPool(r.Options()))
	receipt, err := pool.Enqueuer().Enqueue(t.Context(), "welcome", "ada@example.org")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(worktest.WaitEnded(t, r, receipt.ID).Ending)
	worktest.AssertWanted(t, r, worktest.Want{Name: "remind", Args: []any{"ada@example.org"}, In: 24 * time.Hour,
		Times: 1})
	fmt.Println("a day passes")
	worktest.DrainFor(t, r, pool, 24*time.Hour)
	// Output:
	// done
	// a day passes
	// reminded ada@example.org
}

// Retries without waiting for them.
func ExampleDrainAll() {
	t := &exampleT{} // in a test: its t
	defer t.end()
	r := worktest.New(t)
	pool := r.Start(t, work.NewWorkerPool(nil, 1, r.Options()).
		JobWithOptions("fetch", work.JobOptions{Retries: 3}, func(job *work.Job) error {
			fmt.Println("attempt", job.Attempt)
			return errors.New("no answer")
		}))
	if _, err := pool.Enqueuer().Enqueue(t.Context(), "fetch"); err != nil {
		fmt.Println(err)
		return
	}
	worktest.DrainAll(t, r, pool)
	fmt.Println(worktest.WaitFor[event.JobBuried](t, r.Spy(), nil).Reason)
	// Output:
	// attempt 1
	// attempt 2
	// attempt 3
	// attempt 4
	// out of retries
}

// A failure says what was enqueued instead.
func ExampleAssertEnqueued() {
	t := &exampleT{} // in a test: its t
	defer t.end()
	r := worktest.New(t)
	if _, err := r.Enqueuer(t).With(work.Retries(3)).Enqueue(t.Context(), "welcome", "ada@example.org"); err != nil {
		fmt.Println(err)
		return
	}
	worktest.AssertEnqueued(t, r, "welcome", worktest.Any)
	worktest.AssertEnqueued(t, r, "welcome", "bob@example.org")
	// Output:
	// worktest: job "welcome" with args ["bob@example.org"] was not enqueued. Enqueued were:
	//   1. welcome ["ada@example.org"], Retries 3: its args differ
}

// A flow is run to its end, with what its members return, and what runs when one of them dies.
func ExampleRunFlow() {
	t := &exampleT{}
	defer t.end()
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{}).
		Job("charge", func(cents int) (string, error) { return fmt.Sprint("receipt of ", cents), nil }).
		Job("pick", func(article string) error {
			if article == "" {
				return work.Bury(errors.New("nothing to pick"))
			}
			return nil
		}).
		Job("ship", func(ctx context.Context, job *work.Job) (string, error) {
			receipt, err := flow.Result[string](ctx, job, "charge")
			return "parcel with " + receipt, err
		}).
		Job("refund", func() error { return nil })
	order := func(article string) *flow.Flow {
		f := flow.New("order-7").OnDeath("refund")
		f.Job("ship").After(f.Job("charge", 1299), f.Job("pick", article))
		return f
	}

	shipped := worktest.RunFlow(t, pool, order("socks"))
	fmt.Println(shipped.State, worktest.ResultOf[string](t, shipped.Members["ship"]))
	dead := worktest.RunFlow(t, pool, order(""))
	fmt.Println(dead.State, dead.States["ship"], dead.End().ID)
	// Output:
	// done parcel with receipt of 1299
	// dead cancelled order-7/@dead
}
