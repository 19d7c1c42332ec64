package cancelling_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// endingSeen is what the events say of a job.
func endingSeen(t *testing.T, s *pooltest.Spy, id string) work.Ending {
	t.Helper()
	for _, e := range pooltest.SeenBy(t, s, id) {
		switch e.(type) {
		case event.JobDone:
			return work.EndingDone
		case event.JobFailed:
			return work.EndingRetry
		case event.JobSnoozed:
			return work.EndingSnooze
		case event.JobReleased:
			return work.EndingRelease
		case event.JobBuried:
			return work.EndingBury
		case event.JobDiscarded:
			return work.EndingDiscard
		}
	}
	return "none"
}

// told is what a middleware was told of a job.
type told struct {
	ending work.Ending
	failed bool
}

// telling is a middleware that passes on what Ending tells it.
func telling(into chan<- told) func(ctx context.Context, job *work.Job, next work.NextFunc) error {
	return func(ctx context.Context, job *work.Job, next work.NextFunc) error {
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
		options work.JobOptions
		want    told
		args    []any
	}{
		"nil":                  {nil, work.JobOptions{}, told{work.EndingDone, false}, nil},
		"an error":             {fault, work.JobOptions{Backoff: pooltest.Hourly}, told{work.EndingRetry, true}, nil},
		"an error, no retries": {fault, work.JobOptions{Retries: -1}, told{work.EndingBury, true}, nil},
		"an error, no morgue": {fault, work.JobOptions{Retries: -1, SkipMorgue: true}, told{work.EndingDiscard, true},
			nil},
		"RetryIn": {work.RetryIn(time.Hour, fault), work.JobOptions{}, told{work.EndingRetry, true}, nil},
		"RetryIn, no retries": {work.RetryIn(time.Hour, fault), work.JobOptions{Retries: -1},
			told{work.EndingBury, true}, nil},
		"Snooze": {work.Snooze(time.Hour), work.JobOptions{}, told{work.EndingSnooze, false}, nil},
		"Snooze, wrapped": {fmt.Errorf("not yet: %w", work.Snooze(time.Hour)), work.JobOptions{},
			told{work.EndingSnooze, false}, nil},
		"Release":               {work.Release(fault), work.JobOptions{}, told{work.EndingSnooze, false}, nil},
		"Bury":                  {work.Bury(fault), work.JobOptions{}, told{work.EndingBury, true}, nil},
		"Bury without an error": {work.Bury(nil), work.JobOptions{}, told{work.EndingBury, true}, nil},
		"Discard":               {work.Discard(fault), work.JobOptions{}, told{work.EndingDiscard, false}, nil},
		"args that do not fit":  {nil, work.JobOptions{}, told{work.EndingBury, true}, []any{1}},
		"a ctx that ended by the user": {context.Canceled, work.JobOptions{Backoff: pooltest.Hourly},
			told{work.EndingRetry, true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				said := make(chan told, 1)
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Middleware(telling(said)).
					JobWithOptions("n", c.options, func() error { return c.err }))
				receipt := k.Enqueue("n", c.args...)
				assert.Equal(t, c.want, pooltest.Receive(t, said))
				k.Until("it has ended", func() bool { return endingSeen(t, k.Spy, receipt.ID) != "none" })
				assert.Equal(t, c.want.ending, endingSeen(t, k.Spy, receipt.ID))
				k.Drained(pool)
			})
		})
	}
}

func TestEndingDuringAStop(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]func(ctx context.Context, job *work.Job) error{
		"Release":           func(ctx context.Context, _ *work.Job) error { <-ctx.Done(); return work.Release(nil) },
		"its ctx was ended": func(ctx context.Context, _ *work.Job) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				options := k.Options()
				options.ShutdownTimeout = -1
				said, began := make(chan told, 1), make(chan struct{})
				pool := work.NewWorkerPool(nil, 1, options).Middleware(telling(said)).
					Job("n", func(ctx context.Context, job *work.Job) error { close(began); return handler(ctx, job) })
				require.NoError(t, pool.Start(k.Ctx()))
				receipt := k.Enqueue("n")
				pooltest.Receive(t, began)
				_ = k.Stop(pool) // it says that the job was cut short
				assert.Equal(t, told{work.EndingRelease, false}, pooltest.Receive(t, said))
				assert.Equal(t, work.EndingRelease, endingSeen(t, k.Spy, receipt.ID))
			})
		})
	}
}

func TestEndingOfAJobThatNoPoolRuns(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	for name, c := range map[string]struct {
		job  work.Job
		err  error
		want told
	}{
		"retries left": {work.Job{RetriesLeft: 1}, fault, told{work.EndingRetry, true}},
		"none left":    {work.Job{}, fault, told{work.EndingBury, true}},
		"Release":      {work.Job{}, work.Release(nil), told{work.EndingSnooze, false}},
		"cancelled":    {work.Job{RetriesLeft: 1}, context.Canceled, told{work.EndingRetry, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ending, failed := c.job.Ending(c.err)
			assert.Equal(t, c.want, told{ending, failed})
		})
	}
}
