package pools_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// idling are the options of a pool that ends after so long without a job.
func (k *kit) idling(after time.Duration) work.WorkerOptions {
	options := k.Options()
	options.IdleTimeout = after
	return options
}

func TestAPoolThatHasNothingToDoStopsByItself(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 2, k.idling(100*time.Millisecond)).Job("a", pooltest.Nothing)
		later := k.Later("a", time.Hour)
		for range 3 {
			k.Enqueue("a")
		}
		ran := make(chan error, 1)
		go func() { ran <- pool.Run(context.Background()) }()
		require.NoError(t, pooltest.Receive(t, ran), "in good order")
		pooltest.Receive(t, pool.Done())
		idle := pooltest.Await[event.PoolIdle](t, k.Spy, nil)
		assert.GreaterOrEqual(t, idle.Idle, 100*time.Millisecond)
		assert.Equal(t, inspect.WorkerIdle, k.listed(idle.Worker).Why)
		assert.EqualValues(t, 3, k.listed(idle.Worker).Ran.Done)
		assert.Equal(t, []string{later.ID}, k.Strings("ZRANGE", "scheduled", 0, -1), "what is due later waits on")
		k.NoWorker()
	})
}

// What keeps a pool that would end after 2.5 s is looked at when another one, begun later, has idled
// for more than twice as long.
func TestWorkKeepsAPoolFromIdling(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		keep, release func(k *kit, pool *work.WorkerPool, g *pooltest.Gauge)
	}{
		"a job that runs": {
			func(k *kit, _ *work.WorkerPool, g *pooltest.Gauge) { k.Enqueue("a"); g.Began(k.T, 1) },
			func(_ *kit, _ *work.WorkerPool, g *pooltest.Gauge) { g.Release() },
		},
		"an order to pause": {
			func(k *kit, pool *work.WorkerPool, _ *pooltest.Gauge) {
				require.NoError(k.T, k.Inspector().PauseWorker(k.Ctx(), pooltest.WorkerID(pool)))
				pooltest.Await(k.T, k.Spy, func(e event.WorkerTold) bool { return e.Wanted == "pause" })
			},
			func(k *kit, pool *work.WorkerPool, _ *pooltest.Gauge) {
				require.NoError(k.T, k.Inspector().ResumeWorker(k.Ctx(), pooltest.WorkerID(pool)))
			},
		},
		"a queue that is paused": {
			func(k *kit, _ *work.WorkerPool, _ *pooltest.Gauge) {
				require.NoError(k.T, k.Inspector().PauseQueue(k.Ctx(), "a"))
				k.Enqueue("a")
			},
			func(k *kit, _ *work.WorkerPool, g *pooltest.Gauge) {
				g.Release()
				require.NoError(k.T, k.Inspector().ResumeQueue(k.Ctx(), "a"))
			},
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				g := pooltest.NewGauge()
				t.Cleanup(g.Release)
				pool := work.NewWorkerPool(nil, 2, k.idling(5*time.Second/2)).Job("a", g.Handle)
				k.Start(pool)
				row.keep(k, pool, g)
				other := work.NewWorkerPool(nil, 1, k.idling(6*time.Second)).Job("b", pooltest.Nothing)
				k.Start(other)
				pooltest.Receive(t, other.Done())
				assert.Equal(t, 1, pooltest.Count[event.PoolIdle](k.Spy), "of the other one")
				row.release(k, pool, g)
				pooltest.Receive(t, pool.Done())
			})
		})
	}
}

// A job that comes right after the last look at the queues is not lost: it runs in this pool, or in the next one.
func TestAJobThatComesWhenAnIdlePoolStopsIsNotLost(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for range 10 {
			k := newKit(t, s)
			ran := make(chan string, 10)
			handle := func(job *work.Job) error { ran <- job.ID; return nil }
			pool := work.NewWorkerPool(nil, 2, k.idling(20*time.Millisecond)).Job("a", handle)
			var once sync.Once
			var late work.Receipt
			k.TamperWith(pool, &pooltest.Tampered{Tamper: func(ctx context.Context, pass pooltest.Send,
				calls []redisconn.Call) ([]redisconn.Reply, error) {
				replies, err := pass(ctx, calls...)
				if pooltest.NameOf(calls[0]) == "LLEN" {
					once.Do(func() { late = k.Enqueue("a") })
				}
				return replies, err
			}})
			require.NoError(t, pool.Start(k.Ctx()))
			pooltest.Receive(t, pool.Done())
			k.NoWorker()
			next := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("a", handle))
			assert.Equal(t, late.ID, pooltest.Receive(t, ran))
			k.Drained(next)
			assert.Empty(t, ran, "it runs once")
		}
	})
}

// A job that a fetch has claimed stands in no queue, and is not held before the answer has come. What keeps the pool is
// looked at when another one, begun later, has idled for longer.
func TestAPoolIsNotIdleWhileAFetchIsUnderWay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan struct{}, 1)
		pool := work.NewWorkerPool(nil, 2, k.idling(20*time.Millisecond)).
			Job("a", func() error { ran <- struct{}{}; return nil })
		claimed, answers := make(chan struct{}), make(chan struct{})
		var once sync.Once
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(ctx context.Context, pass pooltest.Send,
			calls []redisconn.Call) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			if pooltest.NameOf(calls[0]) == "fetch" && calls[0].Args[2] != 0 {
				once.Do(func() {
					close(claimed)
					<-answers
				})
			}
			return replies, err
		}})
		k.Enqueue("a")
		k.Start(pool)
		pooltest.Receive(t, claimed)
		other := work.NewWorkerPool(nil, 1, k.idling(60*time.Millisecond)).Job("b", pooltest.Nothing)
		k.Start(other)
		pooltest.Receive(t, other.Done())
		assert.Equal(t, 1, pooltest.Count[event.PoolIdle](k.Spy), "of the other one")
		close(answers)
		pooltest.Receive(t, ran)
		pooltest.Receive(t, pool.Done())
	})
}

func TestAPoolThatCannotAskRedisIsNotIdle(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 2, k.idling(20*time.Millisecond)).Job("a", pooltest.Nothing)
		var asked atomic.Int64
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(ctx context.Context, pass pooltest.Send,
			calls []redisconn.Call) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == "LLEN" && asked.Add(1) <= 3 {
				return nil, pooltest.ErrLuck
			}
			return pass(ctx, calls...)
		}})
		require.NoError(t, pool.Start(k.Ctx()))
		pooltest.Receive(t, pool.Done())
		assert.EqualValues(t, 4, asked.Load())
	})
}
