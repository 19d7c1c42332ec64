package work

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// endingSeen is what the events say of a job.
func endingSeen(t *testing.T, s *spy, id string) Ending {
	t.Helper()
	for _, e := range seenBy(t, s, id) {
		switch e.(type) {
		case event.JobDone:
			return EndingDone
		case event.JobFailed:
			return EndingRetry
		case event.JobSnoozed:
			return EndingSnooze
		case event.JobReleased:
			return EndingRelease
		case event.JobBuried:
			return EndingBury
		case event.JobDiscarded:
			return EndingDiscard
		}
	}
	return "none"
}

// told is what a middleware was told of a job.
type told struct {
	ending Ending
	failed bool
}

// telling is a middleware that passes on what Ending tells it.
func telling(into chan<- told) func(ctx context.Context, job *Job, next NextFunc) error {
	return func(ctx context.Context, job *Job, next NextFunc) error {
		err := next(ctx)
		ending, failed := job.Ending(err)
		into <- told{ending, failed}
		return err
	}
}

// TestEndingIsWhatHappens compares what middleware is told with the event that comes.
func TestEndingIsWhatHappens(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	for name, c := range map[string]struct {
		err     error
		options JobOptions
		want    told
		args    []any
	}{
		"nil":                  {nil, JobOptions{}, told{EndingDone, false}, nil},
		"an error":             {fault, JobOptions{Backoff: hourly}, told{EndingRetry, true}, nil},
		"an error, no retries": {fault, JobOptions{Retries: -1}, told{EndingBury, true}, nil},
		"an error, no morgue": {fault, JobOptions{Retries: -1, SkipMorgue: true}, told{EndingDiscard, true},
			nil},
		"RetryIn": {RetryIn(time.Hour, fault), JobOptions{}, told{EndingRetry, true}, nil},
		"RetryIn, no retries": {RetryIn(time.Hour, fault), JobOptions{Retries: -1}, told{EndingBury, true},
			nil},
		"Snooze": {Snooze(time.Hour), JobOptions{}, told{EndingSnooze, false}, nil},
		"Snooze, wrapped": {fmt.Errorf("not yet: %w", Snooze(time.Hour)), JobOptions{},
			told{EndingSnooze, false}, nil},
		"Release":                      {Release(fault), JobOptions{}, told{EndingSnooze, false}, nil},
		"Bury":                         {Bury(fault), JobOptions{}, told{EndingBury, true}, nil},
		"Bury without an error":        {Bury(nil), JobOptions{}, told{EndingBury, true}, nil},
		"Discard":                      {Discard(fault), JobOptions{}, told{EndingDiscard, false}, nil},
		"args that do not fit":         {nil, JobOptions{}, told{EndingBury, true}, []any{1}},
		"a ctx that ended by the user": {context.Canceled, JobOptions{Backoff: hourly}, told{EndingRetry, true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				said := make(chan told, 1)
				pool := k.start(NewWorkerPool(nil, 1, k.options()).Middleware(telling(said)).
					JobWithOptions("n", c.options, func() error { return c.err }))
				receipt := k.enqueue("n", c.args...)
				assert.Equal(t, c.want, receive(t, said))
				k.until("it has ended", func() bool { return endingSeen(t, k.spy, receipt.ID) != "none" })
				assert.Equal(t, c.want.ending, endingSeen(t, k.spy, receipt.ID))
				k.drained(pool)
			})
		})
	}
}

func TestEndingDuringAStop(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]func(ctx context.Context, job *Job) error{
		"Release":           func(ctx context.Context, _ *Job) error { <-ctx.Done(); return Release(nil) },
		"its ctx was ended": func(ctx context.Context, _ *Job) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				options := k.options()
				options.ShutdownTimeout = -1
				said, began := make(chan told, 1), make(chan struct{})
				pool := NewWorkerPool(nil, 1, options).Middleware(telling(said)).
					Job("n", func(ctx context.Context, job *Job) error { close(began); return handler(ctx, job) })
				require.NoError(t, pool.Start(k.ctx()))
				receipt := k.enqueue("n")
				receive(t, began)
				_ = k.stop(pool) // it says that the job was cut short
				assert.Equal(t, told{EndingRelease, false}, receive(t, said))
				assert.Equal(t, EndingRelease, endingSeen(t, k.spy, receipt.ID))
			})
		})
	}
}

func TestEndingOfAJobThatNoPoolRuns(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	for name, c := range map[string]struct {
		job  Job
		err  error
		want told
	}{
		"retries left": {Job{RetriesLeft: 1}, fault, told{EndingRetry, true}},
		"none left":    {Job{}, fault, told{EndingBury, true}},
		"Release":      {Job{}, Release(nil), told{EndingSnooze, false}},
		"cancelled":    {Job{RetriesLeft: 1}, context.Canceled, told{EndingRetry, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ending, failed := c.job.Ending(c.err)
			assert.Equal(t, c.want, told{ending, failed})
		})
	}
}
