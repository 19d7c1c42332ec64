package middleware

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// lingering is a handler that has begun, and a goroutine of its own that waits with it.
func lingering(goOn <-chan struct{}) {
	var helper sync.WaitGroup
	helper.Go(func() { waitBeside(goOn) })
	<-goOn
	helper.Wait()
}

func waitBeside(goOn <-chan struct{}) { <-goOn }

func TestSlowJobIsReportedOnceWithItsStack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		reports, goOn := make(chan Slow, 2), make(chan struct{})
		var id string
		receipt := runOne(t, s, func(pool *work.WorkerPool) {
			pool.Middleware(SlowJob(2*time.Second, func(_ context.Context, slow Slow) {
				id = slow.Job.ID
				reports <- slow
				close(goOn) // only now the job may end
			})).Job("n", func() error { lingering(goOn); return nil })
		})
		require.Len(t, reports, 1)
		slow := <-reports
		assert.Equal(t, receipt.ID, id)
		assert.GreaterOrEqual(t, slow.Running, 2*time.Second)
		assert.Contains(t, slow.Stack, "middleware.lingering")
		assert.Contains(t, slow.Stack, "slow_job_test.go:")
		assert.Contains(t, slow.Stack, "middleware.waitBeside", "what it started as well")
		assert.NotContains(t, slow.Stack, "heartbeater", "and nothing else")
		assert.NotContains(t, slow.Stack, "#")
	})
}

func TestAFastJobIsNotReported(t *testing.T) {
	t.Parallel()
	for name, threshold := range map[string]time.Duration{"before the threshold": time.Hour, "no threshold": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := SlowJob(threshold, func(context.Context, Slow) { assert.Fail(t, "reported") })
			require.NoError(t, slow(t.Context(), &work.Job{}, func(context.Context) error { return nil }))
		})
	}
	require.NoError(t, SlowJob(time.Nanosecond, nil)(t.Context(), &work.Job{},
		func(context.Context) error { return nil }))
}

// TestASlowJobWaitsForItsReport: the Job is not to be used once the handler has returned.
func TestASlowJobWaitsForItsReport(t *testing.T) {
	t.Parallel()
	for name, report := range map[string]func(){
		"that returns": func() {}, "that panics": func() { panic("report") }, "that ends its goroutine": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, over := make(chan struct{}), false
			err := SlowJob(time.Nanosecond, func(context.Context, Slow) {
				close(begun)
				runtime.Gosched()
				over = true // the race detector sees a job that does not wait
				report()
			})(t.Context(), &work.Job{}, func(context.Context) error { <-begun; return assert.AnError })
			assert.ErrorIs(t, err, assert.AnError)
			assert.True(t, over)
		})
	}
}

func TestLogSlow(t *testing.T) {
	t.Parallel()
	log := &records{}
	LogSlow(slog.New(log))(t.Context(), Slow{
		Job: &work.Job{ID: "i", Name: "n", Attempt: 2}, Running: 3 * time.Second, Stack: "here",
	})
	record, attributes := log.only(t)
	assert.Equal(t, slog.LevelWarn, record.Level)
	assert.Equal(t, map[string]string{"job": "n", "id": "i", "attempt": "2", "running": "3s", "stack": "here"},
		attributes)
}
