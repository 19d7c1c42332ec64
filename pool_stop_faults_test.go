package work

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// stopWithin stops a pool with that much time and checks that it does not take more, whatever is wrong. (The slack is
// that of a busy machine.)
func stopWithin(t *testing.T, pool *WorkerPool, d time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	begun := time.Now()
	err := pool.Stop(ctx)
	assert.Less(t, time.Since(begun), d+8*time.Second)
	return err
}

func TestAStopReturnsInTimeWhileRedisIsSilent(t *testing.T) {
	t.Parallel()
	for name, within := range map[string]time.Duration{"no time at all": 0, "very little": 20 * time.Millisecond,
		"some": 16 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				proxy := redistest.NewProxy(t, s.Addr())
				options := k.options()
				options.Redis = proxy.DSN()
				entered := make(chan struct{}, 2)
				pool := NewWorkerPool(nil, 4, options).Job("a", func(ctx context.Context) error {
					entered <- struct{}{}
					<-ctx.Done()
					return ctx.Err()
				})
				require.NoError(t, pool.Start(k.ctx()))
				k.enqueue("a")
				k.enqueue("a")
				receive(t, entered)
				receive(t, entered)
				proxy.Pause()
				err := stopWithin(t, pool, within)
				proxy.Resume()
				var stop *StopError
				require.ErrorAs(t, err, &stop)
				require.Error(t, stop.Err, "the jobs could not be given back")
				if within == 16*time.Second {
					assert.Len(t, stop.Released, 2)
					assert.ErrorContains(t, err, "2 outcomes were not acknowledged by Redis")
				}
				receive(t, pool.stopped) // a stop that nobody waits for ends as well
			})
		})
	}
}

func TestAStopReturnsInTimeWhateverAHandlerDoes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.ShutdownTimeout = time.Hour
		entered, leave := make(chan struct{}), make(chan struct{})
		defer close(leave)
		pool := NewWorkerPool(nil, 2, options).Job("a", func() error { close(entered); <-leave; return nil })
		require.NoError(t, pool.Start(k.ctx()))
		job := k.enqueue("a")
		receive(t, entered)
		var stop *StopError
		require.ErrorAs(t, stopWithin(t, pool, 20*time.Second), &stop)
		require.Len(t, stop.Stuck, 1)
		assert.NoError(t, stop.Err)
		assert.Equal(t, []string{job.ID}, k.inLine("a"))
		k.noWorker()
	})
}

func TestAStopReturnsInTimeWhileAnEnqueueIsUnderWay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, start := range map[string]bool{"of a pool that runs": true, "of a pool that never ran": false} {
			t.Run(name, func(t *testing.T) {
				k := newKit(t, s)
				proxy := redistest.NewProxy(t, s.Addr())
				options := k.options()
				options.Redis = proxy.DSN()
				pool := NewWorkerPool(nil, 2, options).Job("a", nothing)
				if start {
					require.NoError(t, pool.Start(k.ctx()))
				}
				_, err := pool.Enqueuer().Enqueue(k.ctx(), "a")
				require.NoError(t, err)
				proxy.Pause()
				defer proxy.Resume()
				enqueued := make(chan error, 1)
				go func() {
					_, err := pool.Enqueuer().Enqueue(context.Background(), "a")
					enqueued <- err
				}()
				require.Eventually(t, func() bool { return pool.Enqueuer().core.callersNow() > 0 }, patience,
					time.Millisecond)
				_ = stopWithin(t, pool, 500*time.Millisecond) // in order only for the pool that never ran
				var unknown *EnqueueError
				require.ErrorAs(t, receive(t, enqueued), &unknown)
			})
		}
	})
}

// callersNow is how many calls wait for an answer.
func (c *enqueuerCore) callersNow() int {
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	return c.lanes.callers
}

func TestAStopWithoutRedisSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	pool := NewWorkerPool(nil, 4, WorkerOptions{Redis: server.DSN(), Logger: silent()}).Job("a", nothing)
	require.NoError(t, pool.Start(context.Background()))
	server.Kill()
	err := stopWithin(t, pool, patience)
	assert.ErrorContains(t, err, "the worker could not be removed from Redis, others will reap it: ")
	assert.ErrorContains(t, err, "Redis at "+server.Addr(), "it cannot connect, or finds an idle connection broken")
}

func TestAnotherWorkerTakesOverFromAStopThatWasCutShort(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.options()
		options.Redis, options.ShutdownTimeout = proxy.DSN(), -1
		entered := make(chan struct{})
		pool := NewWorkerPool(nil, 1, options).Job("a", func(ctx context.Context) error {
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		})
		require.NoError(t, pool.Start(k.ctx()))
		job := k.enqueue("a")
		receive(t, entered)
		proxy.Pause()
		require.Error(t, stopWithin(t, pool, 300*time.Millisecond))
		proxy.Resume()
		receive(t, pool.stopped)

		ran := make(chan string, 1)
		k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func(job *Job) error { ran <- job.ID; return nil }))
		assert.Equal(t, job.ID, receive(t, ran))
	})
}
