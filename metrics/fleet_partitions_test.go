package metrics

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// A pool has a worker in each partition, and one set of processors.
func TestTheProcessorsOfAPoolAreCountedOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		ctx := testCtx(t)
		options := poolOptions(t, s)
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		defer driver.Close() //lint:ignore errcheck nothing is lost
		partitiontest.WriteMap(t, driver, options.Namespace, partitiontest.Divided(1, 3))
		begun, release := make(chan struct{}, 10), make(chan struct{})
		pool := work.NewWorkerPool(nil, 10, options).
			Job("slow", func() error { begun <- struct{}{}; <-release; return nil })
		require.NoError(t, pool.Start(ctx))
		for range 4 {
			_, err := pool.Enqueuer().Enqueue(ctx, "slow")
			require.NoError(t, err)
			<-begun
		}
		inspector := inspect.Of(pool)
		workers, err := inspector.Workers(ctx)
		require.NoError(t, err)
		require.Len(t, workers, 3)
		for _, w := range workers {
			assert.Equal(t, []any{10, workers[0].Group}, []any{w.Concurrency, w.Group})
		}
		assert.NotEmpty(t, workers[0].Group)
		assert.Equal(t, inspect.Processors{Busy: 4, Total: 10}, inspect.TotalProcessors(workers))
		page := newSite(t, Fleet(inspector, FleetOptions{Logger: quiet})).scrape()
		page.is(3, "work_fleet_workers", "state", "alive")
		page.is(10, "work_fleet_processors")
		page.is(4, "work_fleet_processors_busy")
		close(release)
		require.NoError(t, pool.Stop(ctx))
	})
}
