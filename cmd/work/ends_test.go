package main

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/exit"
)

// Jobs that died by a timeout are found by that, and shown with it.
func TestJobsThatTimedOutAreFound(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.Server.DSN(),
		Logger: slog.New(slog.DiscardHandler)}).
		JobWithOptions("slow", work.JobOptions{Timeout: time.Millisecond, Retries: -1},
			func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	require.NoError(t, pool.Start(t.Context()))
	receipt, err := s.Enq.Enqueue(t.Context(), "slow")
	require.NoError(t, err)
	require.ErrorIs(t, s.Enq.WaitEnd(t.Context(), receipt.ID), work.ErrTimeout)
	require.NoError(t, pool.Stop(t.Context()))

	assert.Equal(t, receipt.ID+"\n", s.call("jobs", "search", "--failure", "timeout", "--ids").out)
	assert.Empty(t, s.call("jobs", "search", "--failure", "timeout", "--name", "mail", "--ids").out)
	shown := s.call("jobs", "show", receipt.ID).out
	assert.Regexp(t, `failure +timeout\n`, shown)
	assert.Regexp(t, ` timeout +the job's timeout has passed, the attempt had 1ms`,
		strings.ReplaceAll(shown, "\n", " "))
	assert.Contains(t, s.call("stats", "slow", "--json").out, `"timed_out":1`)
	assert.Equal(t, "1 job would be retried, looked at 2 of 2\n",
		s.call("jobs", "retry", "--state", "dead", "--failure", "timeout", "--dry-run").out)
	assert.Equal(t, exit.Usage, s.call("jobs", "search", "--failure", "error").status)
}

// A job that has ended is retried as another one, by its id, and named each time.
func TestAJobThatHasEndedIsRetriedOnce(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	_, err := s.Enq.With(work.ID("over"), work.Retention(time.Hour)).EnqueueIn(t.Context(), "mail", time.Hour)
	require.NoError(t, err)
	require.Empty(t, s.call("jobs", "cancel", "over").err)
	first := s.call("jobs", "retry", "over", "--json").out
	again, err := s.Looked.Job(t.Context(), "over")
	require.NoError(t, err)
	assert.Contains(t, first, `"done":true,"job":"`+again.AgainAs+`"`)
	second := s.call("jobs", "retry", "over", "--json").out
	assert.Contains(t, second, `"effect":"it had been enqueued again before","job":"`+again.AgainAs+`"`)
	assert.Regexp(t, `again as +`+again.AgainAs, s.call("jobs", "show", "over").out)
	assert.Regexp(t, `again of +over`, s.call("jobs", "show", again.AgainAs).out)
	_, err = s.Enq.With(work.ID("bare")).EnqueueIn(t.Context(), "mail", time.Hour)
	require.NoError(t, err)
	require.Empty(t, s.call("jobs", "cancel", "bare").err)
	refused := s.call("jobs", "retry", "bare")
	assert.Equal(t, exit.Undone, refused.status)
	assert.Contains(t, refused.err, "its args are not kept")
}

// A queue goes with all that is in it, after a question; what went is counted, and a repeat finds no queue.
func TestAQueueIsDestroyedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	whole := s.call("queues", "destroy", "mail", "--dry-run")
	assert.Regexp(t, `^the queue of mail would be destroyed, with \d+ jobs \(.*\d+ dead.*\)\n$`, whole.out)
	before := s.State("mail-1")
	refused := s.callWith("no\n", "queues", "destroy", "mail")
	assert.NotZero(t, refused.status)
	assert.Equal(t, before, s.State("mail-1"))
	later := s.call("queues", "destroy", "mail", "--in", "1h", "--yes")
	assert.Regexp(t, `^the queue of mail is to be destroyed at \d{4}-.*\n$`, later.out)
	assert.Contains(t, s.call("queues", "mail").out, "to be destroyed at ")
	assert.Equal(t, before, s.State("mail-1"))
	require.Zero(t, s.call("queues", "keep", "mail").status)
	assert.NotContains(t, s.call("queues", "mail").out, "to be destroyed")
	got := s.call("queues", "destroy", "mail", "--yes", "--json")
	assert.Zero(t, got.status, got.err)
	assert.Contains(t, got.out, `{"action":"destroy","name":"mail","dry_run":false,"waiting":`)
	assert.Contains(t, got.out, `"forgotten":`)
	assert.Equal(t, work.State(""), s.State("mail-1"))
	assert.NotContains(t, s.call("jobs", "search", "--name", "mail", "--ids").out, "mail")
	assert.NotEmpty(t, s.call("jobs", "search", "--name", "report", "--ids", "--ended").out)
	assert.Equal(t, exit.NotFound, s.call("queues", "destroy", "nobody", "--yes").status)
}
