package work

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func TestWorkersAreShownWithWhatTheyRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, g := k.inspector(), newGauge()
		t.Cleanup(g.release)
		opts := k.options()
		opts.Service = "shop"
		pool := k.start(NewWorkerPool(nil, 7, opts).
			Job("n", func(job *Job) error { job.Checkin("half way there"); return g.handle() }).
			Job("m", func() error { return nil }))
		t.Cleanup(g.release)
		receipt := k.enqueue("n")
		g.began(t, 1)
		k.visible(receipt.ID, "half way there")
		workers, err := i.Workers(k.ctx())
		require.NoError(t, err)
		require.Len(t, workers, 1)
		one := workers[0]
		host, _ := os.Hostname()
		assert.Equal(t, []any{pool.id(), host, os.Getpid(), "shop", 7, []string{"m", "n"}, true, ""},
			[]any{one.ID, one.Host, one.PID, one.Service, one.Concurrency, one.Queues, one.Alive, one.Wanted})
		require.Len(t, one.Running, 1)
		assert.Equal(t, []string{receipt.ID, "n", "half way there"},
			[]string{one.Running[0].ID, one.Running[0].Name, one.Running[0].CheckIn})
		assert.False(t, one.Running[0].Since.IsZero() || one.Running[0].CheckAt.IsZero() || one.Started.IsZero())
		same, err := i.Worker(k.ctx(), pool.id())
		require.NoError(t, err)
		assert.Equal(t, one.ID, same.ID)
		_, err = i.Worker(k.ctx(), "nobody")
		require.ErrorIs(t, err, ErrNoWorker)
	})
}

func TestAWorkerIsPausedAndOthersDoItsWork(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		start := func() (*WorkerPool, *gauge, *spy) {
			g, seen := newGauge(), newSpy()
			g.release()
			return k.start(NewWorkerPool(nil, 5, k.another(seen)).Job("n", func(int) error { return g.handle() })), g,
				seen
		}
		one, ofOne, seen := start()
		require.NoError(t, i.PauseWorker(k.ctx(), one.id()))
		await(t, seen, func(e event.WorkerTold) bool { return e.Wanted == "pause" })
		two, ofTwo, _ := start()
		k.enqueueNumbers("n", 0, 50)
		ofTwo.began(t, 50)
		assert.Empty(t, ofOne.begun)
		shown, err := i.Worker(k.ctx(), one.id())
		require.NoError(t, err)
		assert.Equal(t, "pause", shown.Wanted)
		assert.True(t, shown.Alive)

		require.NoError(t, i.QuietWorker(k.ctx(), two.id()))
		k.until("the other one is quiet", func() bool { return two.current()[0].resting() })
		require.NoError(t, i.ResumeWorker(k.ctx(), two.id()))
		k.enqueueNumbers("n", 0, 50)
		_, err = i.Ping(k.ctx(), two.id())
		require.NoError(t, err)
		_, err = i.Ping(k.ctx(), one.id())
		require.NoError(t, err)
		assert.Equal(t, 50, k.number("LLEN", "queue:n"), "both rest")
		require.NoError(t, i.ResumeWorker(k.ctx(), one.id()))
		ofOne.began(t, 50)
		assert.Empty(t, ofTwo.begun, "quiet is for good")
	})
}

func TestAPausedWorkerStaysPausedUnderItsNextID(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(k *kit, pool *WorkerPool){
		"declared dead":  func(k *kit, pool *WorkerPool) { k.do("SREM", "workers", pool.id()) },
		"Redis is empty": func(k *kit, _ *WorkerPool) { k.wipe() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				i, g := k.inspector(), newGauge()
				g.release()
				pool := k.start(NewWorkerPool(nil, 5, k.options()).Job("n", func(int) error { return g.handle() }))
				require.NoError(t, i.PauseWorker(k.ctx(), pool.id()))
				k.until("it is paused", func() bool { return pool.current()[0].resting() })
				lose(k, pool)
				if name == "declared dead" {
					await[event.WorkerFenced](t, k.spy, nil)
				}
				k.until("it is registered again", func() bool {
					info, err := i.Worker(k.ctx(), pool.id())
					return err == nil && info.Alive && info.Wanted == "pause"
				})
				k.enqueueNumbers("n", 0, 5)
				_, err := i.Ping(k.ctx(), pool.id())
				require.NoError(t, err)
				assert.Empty(t, g.begun)
				require.NoError(t, i.ResumeWorker(k.ctx(), pool.id()))
				g.began(t, 5)
			})
		})
	}
}

func TestAWorkerIsStoppedFromOutside(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"by the hint": false, "by a heartbeat, where the hint is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				i, g := k.inspector(), newGauge()
				k.enqueueNumbers("n", 0, 3)
				pool := NewWorkerPool(nil, 2, k.options()).Job("n", func(int) error { return g.handle() })
				k.tamper(pool, &tampered{deaf: deaf})
				ran := make(chan error, 1)
				go func() { ran <- pool.Run(context.Background()) }()
				g.began(t, 2)
				id := pool.id()
				require.NoError(t, i.StopWorker(k.ctx(), id))
				k.until("it is stopping", func() bool { return pool.current()[0].stopping() })
				g.release()
				require.NoError(t, receive(t, ran), "in good order")
				assert.EqualValues(t, 2, g.done.Load(), "what ran has ended")
				assert.Equal(t, 1, k.number("LLEN", "queue:n"), "what waited waits")
				require.ErrorIs(t, i.StopWorker(k.ctx(), id), ErrNoWorker)
				_, err := i.Ping(k.ctx(), id)
				require.ErrorIs(t, err, ErrNoWorker)
			})
		})
	}
}

func TestAPingThatNobodyAnswersEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("SADD", "workers", "frozen")
		ctx, cancel := context.WithTimeout(k.ctx(), 2*time.Second)
		defer cancel()
		_, err := k.inspector().Ping(ctx, "frozen")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, `worker "frozen" has not answered`)
	})
}
