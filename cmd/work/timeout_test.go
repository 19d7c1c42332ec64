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
