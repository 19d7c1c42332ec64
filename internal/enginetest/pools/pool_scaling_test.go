package pools_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestALargePoolHasAsManyWorkersAsItNeeds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const concurrency = 2*pooltest.MaxPerWorker + 10
		goOn, running, most := make(chan struct{}), atomic.Int64{}, atomic.Int64{}
		pool := work.NewWorkerPool(nil, concurrency, k.Options()).Job("n", func(int) error {
			most.Store(max(most.Load(), running.Add(1)))
			<-goOn
			running.Add(-1)
			return nil
		})
		pooltest.Times(pool).ScaleLook, pooltest.Times(pool).ScaleIdle = 20*time.Millisecond, 100*time.Millisecond
		k.Start(pool)
		assert.Equal(t, 1, len(pooltest.WorkerIDs(pool)), "nobody more is there before there is work")
		k.EnqueueNumbers("n", 0, concurrency+50)
		k.Until("as many run as may", func() bool { return running.Load() == concurrency })
		assert.Equal(t, 3, len(pooltest.WorkerIDs(pool)))
		assert.Equal(t, 3, k.Number("SCARD", "workers"))
		close(goOn)
		k.Drained(pool)
		assert.LessOrEqual(t, most.Load(), int64(concurrency))
		k.Until("the idle ones have left",
			func() bool { return len(pooltest.WorkerIDs(pool)) == 1 && k.Number("SCARD", "workers") == 1 })

		k.EnqueueNumbers("n", 1000, 3000)
		k.Drained(pool)
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
		assert.Empty(t, pooltest.Troubles(k.Spy))
	})
}

func TestALargePoolStopsWhileItGrows(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := pooltest.NewTally()
		k.EnqueueNumbers("n", 0, 2000)
		pool := work.NewWorkerPool(nil, 20*pooltest.MaxPerWorker, k.Options()).Job("n", ran.Handle)
		require.NoError(t, pool.Start(k.Ctx()))
		pooltest.Await[event.JobDone](t, k.Spy, nil)
		require.NoError(t, pool.Stop(context.Background()))
		assert.Zero(t, k.Number("SCARD", "workers"))
		assert.Zero(t, k.Number("HLEN", "claimed"))
		ran.Mu.Lock()
		defer ran.Mu.Unlock()
		assert.Equal(t, 2000, k.Number("HLEN", "jobs")+len(ran.Runs), "each has run, or waits")
	})
}

func TestPrefetchedJobsGoBackAtAStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.Prefetch, options.ShutdownTimeout = 10, 50*time.Millisecond
		p := pooltest.NewPatient()
		ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 30))
		pool := work.NewWorkerPool(nil, 2, options).
			Job("n", func(ctx context.Context, job *work.Job, _ int) error { return p.Handle(ctx, job) })
		require.NoError(t, pool.Start(k.Ctx()))
		pooltest.Receive(t, p.Began)
		pooltest.Receive(t, p.Began)
		k.Until("more are fetched than run", func() bool { return k.Number("HLEN", "claimed") == 12 })
		stop := make(chan error, 1)
		go func() { stop <- pool.Stop(k.Ctx()) }()
		err := pooltest.Receive(t, stop)
		var stopped *work.StopError
		require.ErrorAs(t, err, &stopped)
		assert.Equal(t, ids, k.InLine("n"), "all are in their old order")
		close(p.GoOn)
	})
}

// TestWhatRunsHearsOfAStopAtOnce although a worker is just joining the pool, and Redis does not answer it.
func TestWhatRunsHearsOfAStopAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		registers, joining := atomic.Int64{}, make(chan struct{})
		stopping, order := make(chan struct{}), make(chan string, 2)
		pool := work.NewWorkerPool(nil, pooltest.MaxPerWorker+1, k.Options()).Job("n",
			func(job *work.Job, _ int) error {
				<-stopping
				if !job.Checkin("still there?") {
					return pooltest.ErrLuck
				}
				return nil
			})
		pooltest.Times(pool).ScaleLook = 20 * time.Millisecond
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == "register" && registers.Add(1) == 2 {
				close(joining)
				select {
				case <-ctx.Done():
					order <- "the worker has given up"
				case <-pooltest.UntilStopping(pool):
					order <- "the workers have heard"
				}
			}
			return pass(ctx, calls...)
		}})
		require.NoError(t, pool.Start(k.Ctx()))
		k.EnqueueNumbers("n", 0, pooltest.MaxPerWorker+50)
		pooltest.Receive(t, joining)
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Stop(k.Ctx()) }()
		assert.Equal(t, "the workers have heard", pooltest.Receive(t, order))
		close(stopping)
		require.NoError(t, pooltest.Receive(t, stopped))
		assert.Zero(t, pooltest.Count[event.JobFailed](k.Spy))
		assert.Zero(t, k.Number("SCARD", "workers"))
	})
}
