package shop

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/worktest"
)

var order = Order{ID: 42, Address: "ada@example.org", Items: []string{"pen"}}

// outbox keeps what is sent, and fails so many times before.
type outbox struct {
	mu       sync.Mutex
	failures int
	sent     []string
}

func (o *outbox) Send(_ context.Context, address, text string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures > 0 {
		o.failures--
		return errors.New("the mail server is away")
	}
	o.sent = append(o.sent, address+": "+text)
	return nil
}

// What a handler enqueues, without running any of it.
func TestShippingHasTheCustomerThankedAndAsked(t *testing.T) {
	t.Parallel()
	_, outcome := worktest.RunKind(t, NewPool(Context{}, work.WorkerOptions{}), Ship, order)
	worktest.AssertWanted(t, outcome, worktest.WantKind(Thank, order))
	ask := worktest.WantKind(AskForReview, order)
	ask.In, ask.Times = 14*24*time.Hour, 1
	worktest.AssertWanted(t, outcome, ask)
}

// What the program enqueues: the order is shipped once, however often the button is pressed.
func TestAnOrderIsShippedOnce(t *testing.T) {
	t.Parallel()
	r := worktest.New(t)
	for _, items := range [][]string{{"pen"}, {"pen", "ink"}} {
		if _, err := Ship.Enqueue(t.Context(), r.Enqueuer(t), Order{ID: 42, Items: items}); err != nil {
			t.Fatal(err)
		}
	}
	want := worktest.WantKind(Ship, Order{ID: 42, Items: []string{"pen"}})
	want.Times = 1
	worktest.AssertWanted(t, r, want)
	worktest.AssertNotEnqueued(t, r, Ship.Name(), Order{ID: 42, Items: []string{"pen", "ink"}})
}

// One job, without anything around it.
func TestThankGivesUpWithoutAnAddress(t *testing.T) {
	t.Parallel()
	_, outcome := worktest.RunKind(t, NewPool(Context{}, work.WorkerOptions{}), Thank, Order{ID: 42})
	if outcome.Ending != work.EndingBury || !errors.Is(outcome.Err, ErrNoAddress) {
		t.Errorf("it ended as %s, error: %v", outcome.Ending, outcome.Err)
	}
}

// A result, with its type.
func TestOrdersAreSummedUp(t *testing.T) {
	t.Parallel()
	count := func(_ context.Context, date string) (int, error) { return len(date), nil }
	pool := NewPool(Context{Count: count}, work.WorkerOptions{})
	if n, _ := worktest.RunKind(t, pool, SumUp, Day{"2026-03-01"}); n != len("2026-03-01") {
		t.Errorf("there were %d orders", n)
	}
}

// All of it, with retries, two weeks of waiting and what is due each morning, in no time.
func TestACustomerIsThankedAndAsked(t *testing.T) {
	t.Parallel()
	mails, days := &outbox{failures: 3}, atomic.Int64{}
	count := func(context.Context, string) (int, error) { return int(days.Add(1)), nil }
	r := worktest.New(t)
	pool := r.Start(t, NewPool(Context{Send: mails.Send, Count: count}, r.Options()))
	if _, err := Ship.Enqueue(t.Context(), pool.Enqueuer(), order); err != nil {
		t.Fatal(err)
	}
	worktest.DrainFor(t, r, pool, 24*time.Hour)
	if n := worktest.CountOf[event.JobFailed](r.Spy()); n != 3 {
		t.Errorf("%d attempts failed, not 3", n)
	}
	worktest.DrainFor(t, r, pool, 13*24*time.Hour)
	want := []string{"ada@example.org: thank you for order 42", "ada@example.org: how was order 42?"}
	if !slices.Equal(mails.sent, want) {
		t.Errorf("sent were %q, not %q", mails.sent, want)
	}
	if n := days.Load(); n < 13 || n > 15 { // 14, unless clocks are put forward or back near the ends
		t.Errorf("%d days were summed up in two weeks", n)
	}
}
