package work

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func (p *WorkerPool) staff() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.workers)
}

func TestALargePoolHasAsManyWorkersAsItNeeds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const concurrency = 2*maxPerWorker + 10
		goOn, running, most := make(chan struct{}), atomic.Int64{}, atomic.Int64{}
		pool := NewWorkerPool(nil, concurrency, k.options()).Job("n", func(int) error {
			most.Store(max(most.Load(), running.Add(1)))
			<-goOn
			running.Add(-1)
			return nil
		})
		pool.staffing, pool.dismissal = 20*time.Millisecond, 100*time.Millisecond
		k.start(pool)
		assert.Equal(t, 1, pool.staff(), "nobody more is there before there is work")
		k.enqueueNumbers("n", 0, concurrency+50)
		k.until("as many run as may", func() bool { return running.Load() == concurrency })
		assert.Equal(t, 3, pool.staff())
		assert.Equal(t, 3, k.number("SCARD", "workers"))
		close(goOn)
		k.drained(pool)
		assert.LessOrEqual(t, most.Load(), int64(concurrency))
		k.until("the idle ones have left",
			func() bool { return pool.staff() == 1 && k.number("SCARD", "workers") == 1 })

		k.enqueueNumbers("n", 1000, 3000)
		k.drained(pool)
		assert.Zero(t, count[event.ClaimGone](k.spy))
		assert.Empty(t, troubles(k.spy))
	})
}

func TestALargePoolStopsWhileItGrows(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newTally()
		k.enqueueNumbers("n", 0, 2000)
		pool := NewWorkerPool(nil, 20*maxPerWorker, k.options()).Job("n", ran.handle)
		require.NoError(t, pool.Start(k.ctx()))
		await[event.JobDone](t, k.spy, nil)
		require.NoError(t, pool.Stop(context.Background()))
		assert.Zero(t, k.number("SCARD", "workers"))
		assert.Zero(t, k.number("HLEN", "claimed"))
		ran.mu.Lock()
		defer ran.mu.Unlock()
		assert.Equal(t, 2000, k.number("HLEN", "jobs")+len(ran.runs), "each has run, or waits")
	})
}

func TestPrefetchedJobsGoBackAtAStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.Prefetch, options.ShutdownTimeout = 10, 50*time.Millisecond
		p := newPatient()
		ids := idsOf(k.enqueueNumbers("n", 0, 30))
		pool := NewWorkerPool(nil, 2, options).
			Job("n", func(ctx context.Context, job *Job, _ int) error { return p.handle(ctx, job) })
		require.NoError(t, pool.Start(k.ctx()))
		receive(t, p.began)
		receive(t, p.began)
		k.until("more are fetched than run", func() bool { return k.number("HLEN", "claimed") == 12 })
		stop := make(chan error, 1)
		go func() { stop <- pool.Stop(k.ctx()) }()
		err := receive(t, stop)
		var stopped *StopError
		require.ErrorAs(t, err, &stopped)
		assert.Equal(t, ids, k.inLine("n"), "all are in their old order")
		close(p.goOn)
	})
}
