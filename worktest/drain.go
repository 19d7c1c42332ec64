package worktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
)

// maxMoves is how often DrainAll moves the clock before it gives up: a job that puts itself off again and again never
// ends.
const maxMoves = 500

// endless is for how long a job is put off at the least that only a message can wake.
const endless = 50 * 365 * 24 * time.Hour

// Drain waits until nothing is due, waits or runs in the queues of a started pool, and fails the test if that takes
// more than 20 seconds. What is scheduled for later, or to be retried later, stays.
func Drain(t testing.TB, pool *work.WorkerPool) {
	t.Helper()
	ctx, cancel := within(t)
	defer cancel()
	if err := pool.Drain(ctx); err != nil {
		t.Fatalf("worktest: the pool was not drained: %v%s", err, remedy(err))
	}
}

// DrainAll runs all jobs in the queues of a started pool: also those that are scheduled, and those that are to be
// retried, until each has ended. It moves the clock of r to the time of each, in turn, and holds it. Schedules do not
// fire by it. Sleeps ([work.Sleep]) pass so too; a job that waits for a message without an end fails the test. It also
// fails if that takes more than 20 seconds or 500 moves of the clock: [DrainFor] is for jobs that
// never end.
func DrainAll(t testing.TB, r *Redis, pool *work.WorkerPool) {
	t.Helper()
	ctx, cancel := within(t)
	defer cancel()
	if err := drainAll(ctx, r, pool, maxMoves); err != nil {
		t.Fatalf("worktest: the pool was not drained: %v%s", err, remedy(err))
	}
}

func drainAll(ctx context.Context, r *Redis, pool *work.WorkerPool, moves int) error {
	for range moves {
		if err := pool.Drain(ctx); err != nil {
			return err
		}
		due, err := pool.NextDue(ctx)
		if err != nil || due.IsZero() {
			return err
		}
		if due.Sub(r.Now()) > endless {
			return errors.New("a job waits for a message without an end (work.Receive): send it with work.Send")
		}
		r.moveTo(ctx, func(now time.Time) time.Time { return later(now, due) })
	}
	due, err := pool.NextDue(ctx)
	if err != nil {
		return err
	}
	return fmt.Errorf("the clock was moved %d times, and a job is still to run at %s: use DrainFor for jobs that put "+
		"themselves off",
		moves, due.Format(time.RFC3339))
}

// DrainFor runs all that is due in the queues of a started pool within the next d, jobs and ticks of schedules, in the
// order of their times: it moves the clock of r to each, and at last to the end of d, and holds it there. The test
// fails if that takes more than 20 seconds.
func DrainFor(t testing.TB, r *Redis, pool *work.WorkerPool, d time.Duration) {
	t.Helper()
	if d < 0 {
		t.Fatalf("worktest: the clock cannot be moved by %s: give zero or more", d)
	}
	ctx, cancel := within(t)
	defer cancel()
	r.moveTo(ctx, func(now time.Time) time.Time { return now })
	if err := drainUntil(ctx, r, pool, r.Now().Add(d)); err != nil {
		t.Fatalf("worktest: the pool was not drained: %v%s", err, remedy(err))
	}
}

func drainUntil(ctx context.Context, r *Redis, pool *work.WorkerPool, end time.Time) error {
	for {
		if err := pool.Drain(ctx); err != nil {
			return err
		}
		if !r.Now().Before(end) {
			return nil
		}
		due, err := pool.NextDue(ctx)
		if err != nil {
			return err
		}
		schedules, err := inspect.Of(pool).Schedules(ctx)
		if err != nil {
			return err
		}
		at := earlier(end, due)
		for _, s := range schedules {
			at = earlier(at, s.Next)
		}
		r.moveTo(ctx, func(now time.Time) time.Time { return later(now, at) })
		if err := awaitTicks(ctx, pool, ticksUntil(schedules, at)); err != nil {
			return err
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier is a, or b if there is one and it is before.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// ticksUntil are the next ticks that are due then, by their schedules.
func ticksUntil(schedules []inspect.ScheduleInfo, at time.Time) map[string]time.Time {
	due := map[string]time.Time{}
	for _, s := range schedules {
		if !s.Next.IsZero() && !s.Next.After(at) {
			due[s.ID] = s.Next
		}
	}
	return due
}

// awaitTicks waits until each of these ticks was enqueued or passed over. The pool, told of the new time, does it at
// once; each look here has it look again.
func awaitTicks(ctx context.Context, pool *work.WorkerPool, due map[string]time.Time) error {
	for len(due) > 0 {
		schedules, err := inspect.Of(pool).Schedules(ctx)
		if err != nil {
			return err
		}
		left := map[string]time.Time{}
		for _, s := range schedules {
			if tick, ok := due[s.ID]; ok && !s.Paused && s.Last.Before(tick) {
				left[s.ID] = tick
			}
		}
		if due = left; len(due) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("ticks were not enqueued: %v: %w", due, context.Cause(ctx))
		}
		pool.Poll(ctx)
	}
	return nil
}

// remedy says what to do about an error of a drain.
func remedy(err error) string {
	switch {
	case errors.Is(err, work.ErrNotStarted):
		return ": start it with r.Start(t, pool)"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ": a handler that does not return, a queue that is paused, or a limit?"
	}
	return ""
}
