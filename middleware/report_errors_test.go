package middleware

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

func explode() { panic("boom") }

func TestReportErrors(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	for name, c := range map[string]struct {
		handler func() error
		retries int
		want    error // nil is no report
		retried bool
		stack   string
	}{
		"nil":                {func() error { return nil }, 1, nil, false, ""},
		"an error":           {func() error { return fault }, 1, fault, true, ""},
		"an error, the last": {func() error { return fault }, -1, fault, false, ""},
		"a panic": {func() error { explode(); return nil }, 1, new(work.PanicError), true,
			"middleware.explode"},
		"a panic, the last": {func() error { explode(); return nil }, -1, new(work.PanicError), false,
			"middleware.explode"},
		"runtime.Goexit":       {func() error { runtime.Goexit(); return nil }, 1, new(work.GoexitError), true, ""},
		"Bury":                 {func() error { return work.Bury(fault) }, 1, fault, false, ""},
		"Snooze":               {func() error { return work.Snooze(time.Hour) }, 1, nil, false, ""},
		"Release":              {func() error { return work.Release(fault) }, 1, nil, false, ""},
		"Discard":              {func() error { return work.Discard(fault) }, 1, nil, false, ""},
		"RetryIn":              {func() error { return work.RetryIn(time.Hour, fault) }, 1, fault, true, ""},
		"an error that shouts": {func() error { return shouting{} }, 1, shouting{}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				var failures []Failure
				receipt := runOne(t, s, func(pool *work.WorkerPool) {
					pool.Middleware(ReportErrors(func(_ context.Context,
						failure Failure) {
						failures = append(failures, failure)
					})).
						JobWithOptions("n", work.JobOptions{Retries: c.retries, Backoff: hourly}, c.handler)
				})
				if c.want == nil {
					assert.Empty(t, failures)
					return
				}
				require.Len(t, failures, 1)
				got := failures[0]
				assert.Equal(t, receipt.ID, got.Job.ID)
				assert.Equal(t, c.retried, got.WillRetry)
				assert.Contains(t, got.Stack, c.stack)
				assert.Equal(t, c.stack == "", got.Stack == "")
				assertSame(t, c.want, got.Err)
			})
		})
	}
}

// assertSame checks that an error is, or wraps, the wanted one, or one of its type.
func assertSame(t *testing.T, want, got error) {
	t.Helper()
	switch want.(type) {
	case *work.PanicError:
		panicked := new(work.PanicError)
		require.ErrorAs(t, got, &panicked)
		assert.Equal(t, "boom", panicked.Value)
	case *work.GoexitError:
		gone := new(work.GoexitError)
		assert.ErrorAs(t, got, &gone)
	case shouting: // in a shell, in which nobody who looks for an error meets its panic
		var loud shouting
		assert.ErrorAs(t, got, &loud)
		assert.Equal(t, want.Error(), got.Error())
	default:
		assert.ErrorIs(t, got, want)
	}
}

// shouting is an error whose Unwrap panics.
type shouting struct{}

func (shouting) Error() string { return "shouting" }
func (shouting) Unwrap() error { panic("do not look into me") }

func TestAPanicInAReportChangesNothing(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	report := ReportErrors(func(context.Context, Failure) { panic("the reporter is down") })
	for name, err := range map[string]error{"an error": fault, "Bury": work.Bury(fault)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := &work.Job{RetriesLeft: 1}
			want, _ := job.Ending(err)
			got := report(t.Context(), job, func(context.Context) error { return err })
			require.ErrorIs(t, got, fault)
			assert.ErrorContains(t, got, "the reporter is down")
			ending, _ := job.Ending(got)
			assert.Equal(t, want, ending)
		})
	}
}

func TestReportErrorsWithoutAReport(t *testing.T) {
	t.Parallel()
	err := ReportErrors(nil)(t.Context(), &work.Job{}, func(context.Context) error { return assert.AnError })
	assert.ErrorIs(t, err, assert.AnError)
}
