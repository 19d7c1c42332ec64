package inspect_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestAPausedQueueStandsStillAndGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		pause, resume func(i *inspect.Inspector, ctx context.Context) error
		paused        []string
		all           bool
	}{
		"one queue": {
			func(i *inspect.Inspector, ctx context.Context) error { return i.PauseQueue(ctx, "n", "unknown") },
			func(i *inspect.Inspector, ctx context.Context) error { return i.ResumeQueue(ctx, "n", "unknown") },
			[]string{"n", "unknown"}, false,
		},
		"all queues": {
			func(i *inspect.Inspector, ctx context.Context) error { return i.PauseAll(ctx) },
			func(i *inspect.Inspector, ctx context.Context) error { return i.ResumeAll(ctx) },
			nil, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				i, g, other := k.inspector(), pooltest.NewGauge(), pooltest.NewGauge()
				g.Release()
				other.Release()
				o := k.Options()
				d := k.Tamper(&o, &pooltest.Tampered{})
				pool := work.NewWorkerPool(nil, 5, o).Job("n", func(int) error { return g.Handle() }).
					Job("other", func(int) error { return other.Handle() })
				k.Start(pool)
				require.NoError(t, row.pause(i, k.Ctx()))
				require.NoError(t, row.pause(i, k.Ctx()), "once more")
				paused, all, err := i.Paused(k.Ctx())
				require.NoError(t, err)
				assert.Equal(t, row.paused, paused)
				assert.Equal(t, row.all, all)
				k.EnqueueNumbers("n", 0, 20)
				k.EnqueueNumbers("other", 0, 20)
				if !row.all {
					other.Began(t, 20)
				}
				k.Settles(d)
				assert.Empty(t, g.Begun)
				require.NoError(t, row.resume(i, k.Ctx()))
				require.NoError(t, row.resume(i, k.Ctx()), "once more")
				g.Began(t, 20)
				require.NoError(t, pool.Drain(k.Ctx()))
				assert.Zero(t, k.Number("EXISTS", "limits"))
			})
		})
	}
}

func TestPauseAndWaitWaitsForWhatRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, g := k.inspector(), pooltest.NewGauge()
		k.EnqueueNumbers("n", 0, 5)
		k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("n", func(int) error { return g.Handle() }))
		t.Cleanup(g.Release)
		g.Began(t, 2)
		var err error
		// a busy machine needs more
		for given := 30 * time.Millisecond; err == nil || strings.Contains(err.Error(), "not paused"); given *= 2 {
			ctx, cancel := context.WithTimeout(k.Ctx(), given)
			err = i.PauseAndWait(ctx, "n")
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		assert.ErrorContains(t, err, "still run")
		waited := make(chan error)
		go func() { waited <- i.PauseAndWait(k.Ctx(), "n") }()
		g.Pass(t, 2)
		require.NoError(t, pooltest.Receive(t, waited))
		assert.EqualValues(t, 2, g.Done.Load(), "those that ran, and no other")
		assert.Zero(t, k.Number("HLEN", "claimed"))
		assert.Equal(t, 3, k.Number("LLEN", "queue:n"))
		require.NoError(t, i.ResumeQueue(k.Ctx(), "n"))
		g.Began(t, 2)
	})
}

func TestARuleThatCannotBeReadIsShown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		k.Do("HSET", "limits", "n", "what?")
		limits, err := i.Limits(k.Ctx())
		require.NoError(t, err)
		require.Len(t, limits, 1)
		require.ErrorContains(t, limits[0].Problem, `the rule "what?"`)
		require.ErrorContains(t, i.SetLimit(k.Ctx(), "n", work.Limit{Concurrent: 1}),
			`the limit of job "n" was not set`)
		require.ErrorContains(t, i.PauseQueue(k.Ctx(), "n"), `queue "n" was not paused`)
		require.ErrorContains(t, i.ResumeQueue(k.Ctx(), ""), "was not resumed", "that is not the way to resume all")
	})
}

func TestTheInspectorOfAPoolWithoutRedisRefusesLimits(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "nonsense", Logger: pooltest.Silent()})
	i, ctx := inspect.Of(pool), t.Context()
	for name, call := range map[string]func() error{
		"SetLimit":   func() error { return i.SetLimit(ctx, "n", work.Limit{}) },
		"Limits":     func() error { _, err := i.Limits(ctx); return err },
		"PauseAll":   func() error { return i.PauseAll(ctx) },
		"ResumeAll":  func() error { return i.ResumeAll(ctx) },
		"Paused":     func() error { _, _, err := i.Paused(ctx); return err },
		"Workers":    func() error { _, err := i.Workers(ctx); return err },
		"Worker":     func() error { _, err := i.Worker(ctx, "w"); return err },
		"StopWorker": func() error { return i.StopWorker(ctx, "w") },
		"Ping":       func() error { _, err := i.Ping(ctx, "w"); return err },
		"Purge":      func() error { _, err := i.Purge(ctx, "n", inspect.PurgeOptions{}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.ErrorContains(t, call(), "nonsense")
		})
	}
}
