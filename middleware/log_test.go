package middleware

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

func TestLog(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	for name, c := range map[string]struct {
		err     error
		retries int
		level   slog.Level
		ending  string
		text    string
	}{
		"nil":                {nil, 1, slog.LevelInfo, "done", ""},
		"an error":           {fault, 1, slog.LevelWarn, "retry", "fault"},
		"an error, the last": {fault, 0, slog.LevelError, "bury", "fault"},
		"Snooze":             {work.Snooze(time.Hour), 1, slog.LevelInfo, "snooze", "snooze for 1h0m0s"},
		"Discard":            {work.Discard(fault), 1, slog.LevelInfo, "discard", "fault"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &records{}
			job := &work.Job{ID: "i", Name: "n", Attempt: 3, RetriesLeft: c.retries}
			err := Log(slog.New(log))(t.Context(), job, func(context.Context) error { return c.err })
			assert.Equal(t, c.err, err)
			record, attributes := log.only(t)
			assert.Equal(t, c.level, record.Level)
			elapsed, err := time.ParseDuration(attributes["elapsed"])
			require.NoError(t, err)
			assert.GreaterOrEqual(t, elapsed, time.Duration(0))
			delete(attributes, "elapsed")
			want := map[string]string{"job": "n", "id": "i", "attempt": "3", "ending": c.ending}
			if c.text != "" {
				want["error"] = c.text
			}
			assert.Equal(t, want, attributes)
		})
	}
}

// TestAllOfThemInOnePool: a pool takes each as it is, and a panic passes through all of them once.
func TestAllOfThemInOnePool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		log := &records{}
		reported := 0
		runOne(t, s, func(pool *work.WorkerPool) {
			pool.Middleware(Log(slog.New(log))).
				Middleware(ReportErrors(func(context.Context, Failure) { reported++ })).
				Middleware(SlowJob(time.Hour, LogSlow(nil))).
				Middleware(Only(Timeout(time.Hour), "n")).
				JobWithOptions("n", work.JobOptions{Retries: -1}, func(ctx context.Context) error {
					if _, limited := ctx.Deadline(); limited {
						explode()
					}
					return nil
				})
		})
		assert.Equal(t, 1, reported)
		record, attributes := log.only(t)
		assert.Equal(t, "work: a job failed for good", record.Message)
		assert.Equal(t, "panic: boom", attributes["error"])
		assert.Equal(t, "bury", attributes["ending"])
	})
}
