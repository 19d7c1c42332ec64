package together_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// TestAPauseEndsTheWait: what was collected runs, and what waits does not.
func TestAPauseEndsTheWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen := newSieve()
		pool := k.Tidy(k.pool(2, of(10, time.Hour), seen.handle))
		k.EnqueueNumbers("index", 0, 3)
		k.Until("they are collected", func() bool { return pooltest.Parts(pool).Slots.Held() == 3 })
		require.NoError(t, k.Inspector().PauseQueue(k.Ctx(), "index"))
		k.EnqueueNumbers("index", 3, 5)
		assert.Equal(t, numbers(3), pooltest.Receive(t, seen.begun))
		k.Until("it has ended", func() bool { return k.Number("HLEN", "claimed") == 0 })
		assert.Len(t, seen.sizes(), 1)
		require.NoError(t, k.Inspector().ResumeQueue(k.Ctx(), "index"))
		k.Drained(pool)
		assert.ElementsMatch(t, numbers(5), seen.all())
		k.clean(t)
	})
}

// TestAQuietWorkerRunsWhatItHasCollected, and takes nothing more.
func TestAQuietWorkerRunsWhatItHasCollected(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen := newSieve()
		pool := k.Start(k.pool(2, of(10, time.Hour), seen.handle))
		k.EnqueueNumbers("index", 0, 3)
		k.Until("they are collected", func() bool { return pooltest.Parts(pool).Slots.Held() == 3 })
		require.NoError(t, k.Inspector().QuietWorker(k.Ctx(), pooltest.WorkerID(pool)))
		assert.Equal(t, numbers(3), pooltest.Receive(t, seen.begun))
		k.Until("it has ended", func() bool { return k.Number("HLEN", "claimed") == 0 })
		k.EnqueueNumbers("index", 3, 5)
		require.NoError(t, k.Stop(pool))
		assert.Equal(t, 2, k.Number("LLEN", "queue:index"))
		assert.Len(t, seen.sizes(), 1)
	})
}

// TestADrainEndsTheWait of what is collected: nothing else need come.
func TestADrainEndsTheWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen := newSieve()
		pool := k.Tidy(k.pool(2, of(10, time.Hour), seen.handle))
		k.EnqueueNumbers("index", 0, 3)
		k.Until("they are collected", func() bool { return pooltest.Parts(pool).Slots.Held() == 3 })
		k.Drained(pool)
		assert.Equal(t, [][]int{numbers(3)}, seen.batches)
		k.clean(t)
	})
}

// TestStopNowGivesBackWhatIsCollectedAndWhatRuns, in its old order.
func TestStopNowGivesBackWhatIsCollectedAndWhatRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := k.EnqueueNumbers("index", 0, 8)
		seen := newSieve()
		seen.wait = make(chan struct{})
		pool := k.pool(2, of(5, time.Hour), seen.handle)
		require.NoError(t, pool.Start(k.Ctx()))
		assert.Equal(t, numbers(5), pooltest.Receive(t, seen.begun))
		k.Until("three are collected", func() bool { return pooltest.Parts(pool).Slots.Held() == 8 })
		var stop *work.StopError
		require.ErrorAs(t, pool.StopNow(k.Ctx()), &stop)
		assert.Len(t, stop.Released, 5)
		assert.Empty(t, stop.Stuck)
		line := k.InLine("index")
		assert.Equal(t, pooltest.IdsOf(receipts), line)
		assert.Zero(t, k.Number("HLEN", "claimed"))
		assert.Zero(t, k.Number("HLEN", "crashes"))
	})
}

// TestAPoolIsNotIdleWhileItCollects: it ends once the batch has.
func TestAPoolIsNotIdleWhileItCollects(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options, seen := k.Options(), newSieve()
		options.IdleTimeout = 200 * time.Millisecond
		k.EnqueueNumbers("index", 0, 3)
		pool := work.NewWorkerPool(nil, 2, options).JobWithOptions("index", of(10, time.Second), seen.handle)
		require.NoError(t, pool.Start(k.Ctx()))
		<-pool.Done()
		assert.Equal(t, [][]int{numbers(3)}, seen.batches, "it has waited for others for much longer than it may idle")
		require.NoError(t, k.Stop(pool))
		k.clean(t)
	})
}

// TestBatchesInPartitions: a batch has jobs of one partition, each is full, and each job runs once; a stop gives back
// what was collected, where it belongs.
func TestBatchesInPartitions(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const parts = 3
		m := partition.Map{Version: 1, States: make([]partition.State, parts), Buckets: make([]int, partition.Buckets)}
		for i := range m.States {
			m.States[i] = partition.Open
		}
		for bucket := range m.Buckets {
			m.Buckets[bucket] = bucket % parts
		}
		stores := make([]*rdb.Store, parts)
		for i := range stores {
			stores[i] = rdb.NewStore(k.Raw().Driver(), partition.Namespace(k.Namespace, i))
			_, err := stores[i].WriteMap(k.Ctx(), m.Version, m.Encode(), -1)
			require.NoError(t, err)
		}
		waiting := func() (n int) {
			for _, store := range stores {
				length, err := store.Length(k.Ctx(), "index", "")
				require.NoError(t, err)
				n += length
			}
			return n
		}
		for i := range 300 {
			k.EnqueueNumbers("index", i, i+1)
		}
		require.Equal(t, 300, waiting())
		seen := newSieve()
		pool := k.Start(k.pool(2, of(50, time.Hour), func(ctx context.Context, batch work.Batch[int]) error {
			at := map[string]bool{}
			for _, item := range batch {
				at[item.Job.ID[len(item.Job.ID)-2:]] = true // the last letters say where it is
			}
			assert.Len(t, at, 1, "partitions of a batch")
			return seen.handle(ctx, batch)
		}))
		for range 6 {
			assert.Len(t, pooltest.Receive(t, seen.begun), 50)
		}
		k.Until("all have ended", func() bool { return waiting() == 0 })
		assert.ElementsMatch(t, numbers(300), seen.all())
		for i := range 12 {
			k.EnqueueNumbers("index", 300+i, 301+i)
		}
		k.Until("each partition's are collected", func() bool {
			claimed := 0
			for _, store := range stores {
				n, err := redisconn.Do(k.Ctx(), store.Driver(),
					redisconn.Call{Command: "HLEN", Args: []any{store.FullName("claimed")}})
				require.NoError(t, err)
				claimed += int(n.(int64))
			}
			return claimed == 12
		})
		require.NoError(t, k.Stop(pool))
		assert.Len(t, seen.sizes(), 6)
		assert.Equal(t, 12, waiting())
		drained := newSieve()
		k.Drained(k.Start(k.pool(2, of(50, time.Hour), drained.handle)))
		assert.Len(t, drained.all(), 12)
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
	})
}
