package shop

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/worktest"
)

// outbox is a Mailer that keeps what is sent, and fails so many times before.
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

// What is enqueued, without running any of it.
func TestBuyEnqueuesThanksAndTheQuestion(t *testing.T) {
	t.Parallel()
	r := worktest.New(t)
	if err := Buy(t.Context(), r.Enqueuer(t), 42, "ada@example.org"); err != nil {
		t.Fatal(err)
	}
	worktest.AssertEnqueued(t, r, "thank", "ada@example.org")
	worktest.AssertWanted(t, r, worktest.Want{Name: "ask for a review", Source: 42, In: 14 * 24 * time.Hour, Times: 1})
}

// One job, without anything around it.
func TestThankGivesUpWithoutAnAddress(t *testing.T) {
	t.Parallel()
	outcome := worktest.Run(t, NewPool(&outbox{}, work.WorkerOptions{}), "thank", "")
	if outcome.Ending != work.EndingBury || !errors.Is(outcome.Err, ErrNoAddress) {
		t.Errorf("it ended as %s, error: %v", outcome.Ending, outcome.Err)
	}
}

// All of it, with retries and two weeks of waiting, in no time.
func TestACustomerIsThankedAndAsked(t *testing.T) {
	t.Parallel()
	mails := &outbox{failures: 3}
	r := worktest.New(t)
	pool := r.Start(t, NewPool(mails, r.Options()))
	if err := Buy(t.Context(), pool.Enqueuer(), 42, "ada@example.org"); err != nil {
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
}
