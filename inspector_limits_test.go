package work

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func TestAPausedQueueStandsStillAndGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		pause, resume func(i *Inspector, ctx context.Context) error
		paused        []string
		all           bool
	}{
		"one queue": {
			func(i *Inspector, ctx context.Context) error { return i.PauseQueue(ctx, "n", "unknown") },
			func(i *Inspector, ctx context.Context) error { return i.ResumeQueue(ctx, "n", "unknown") },
			[]string{"n", "unknown"}, false,
		},
		"all queues": {
			func(i *Inspector, ctx context.Context) error { return i.PauseAll(ctx) },
			func(i *Inspector, ctx context.Context) error { return i.ResumeAll(ctx) },
			nil, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				i, g, other := k.inspector(), newGauge(), newGauge()
				g.release()
				other.release()
				pool := NewWorkerPool(nil, 5, k.options()).Job("n", func(int) error { return g.handle() }).
					Job("other", func(int) error { return other.handle() })
				d := k.tamper(pool, &tampered{})
				k.start(pool)
				require.NoError(t, row.pause(i, k.ctx()))
				require.NoError(t, row.pause(i, k.ctx()), "once more")
				paused, all, err := i.Paused(k.ctx())
				require.NoError(t, err)
				assert.Equal(t, row.paused, paused)
				assert.Equal(t, row.all, all)
				k.enqueueNumbers("n", 0, 20)
				k.enqueueNumbers("other", 0, 20)
				if !row.all {
					other.began(t, 20)
				}
				k.settles(d)
				assert.Empty(t, g.begun)
				require.NoError(t, row.resume(i, k.ctx()))
				require.NoError(t, row.resume(i, k.ctx()), "once more")
				g.began(t, 20)
				require.NoError(t, pool.Drain(k.ctx()))
				assert.Zero(t, k.number("EXISTS", "limits"))
			})
		})
	}
}

func TestPauseAndWaitWaitsForWhatRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, g := k.inspector(), newGauge()
		k.enqueueNumbers("n", 0, 5)
		k.start(NewWorkerPool(nil, 2, k.options()).Job("n", func(int) error { return g.handle() }))
		t.Cleanup(g.release)
		g.began(t, 2)
		var err error
		// a busy machine needs more
		for given := 30 * time.Millisecond; err == nil || strings.Contains(err.Error(), "not paused"); given *= 2 {
			ctx, cancel := context.WithTimeout(k.ctx(), given)
			err = i.PauseAndWait(ctx, "n")
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		assert.ErrorContains(t, err, "still run")
		waited := make(chan error)
		go func() { waited <- i.PauseAndWait(k.ctx(), "n") }()
		g.pass(t, 2)
		require.NoError(t, receive(t, waited))
		assert.EqualValues(t, 2, g.done.Load(), "those that ran, and no other")
		assert.Zero(t, k.number("HLEN", "claimed"))
		assert.Equal(t, 3, k.number("LLEN", "queue:n"))
		require.NoError(t, i.ResumeQueue(k.ctx(), "n"))
		g.began(t, 2)
	})
}

func TestARuleThatCannotBeReadIsShown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		k.do("HSET", "limits", "n", "what?")
		limits, err := i.Limits(k.ctx())
		require.NoError(t, err)
		require.Len(t, limits, 1)
		require.ErrorContains(t, limits[0].Problem, `the rule "what?"`)
		require.ErrorContains(t, i.SetLimit(k.ctx(), "n", Limit{Concurrent: 1}), `the limit of job "n" was not set`)
		require.ErrorContains(t, i.PauseQueue(k.ctx(), "n"), `queue "n" was not paused`)
		require.ErrorContains(t, i.ResumeQueue(k.ctx(), ""), "was not resumed", "that is not the way to resume all")
	})
}

func TestTheInspectorOfAPoolWithoutRedisRefusesLimits(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "nonsense", Logger: silent()})
	i, ctx := pool.Inspector(), t.Context()
	for name, call := range map[string]func() error{
		"SetLimit":   func() error { return i.SetLimit(ctx, "n", Limit{}) },
		"Limits":     func() error { _, err := i.Limits(ctx); return err },
		"PauseAll":   func() error { return i.PauseAll(ctx) },
		"ResumeAll":  func() error { return i.ResumeAll(ctx) },
		"Paused":     func() error { _, _, err := i.Paused(ctx); return err },
		"Workers":    func() error { _, err := i.Workers(ctx); return err },
		"Worker":     func() error { _, err := i.Worker(ctx, "w"); return err },
		"StopWorker": func() error { return i.StopWorker(ctx, "w") },
		"Ping":       func() error { _, err := i.Ping(ctx, "w"); return err },
		"Purge":      func() error { _, err := i.Purge(ctx, "n", PurgeOptions{}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.ErrorContains(t, call(), "nonsense")
		})
	}
}
