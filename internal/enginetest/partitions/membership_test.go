package partitions_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestAPoolJoinsPartitionsThatAreNew while it runs, as a heartbeat brings the map, and what it holds goes on.
func TestAPoolJoinsPartitionsThatAreNew(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares := &divided{kit: newKit(t, s), m: &partition.Map{}}, newShares()
		defer shares.Release()
		d.fill(0, "load", 1)
		pool := d.Start(work.NewWorkerPool(nil, 3, d.Options()).Job("load", shares.handle))
		shares.Began(t, 1)
		d.change(func(m *partition.Map) { spread(m, 3) })
		for i := 1; i < 3; i++ {
			joined := pooltest.Await(t, d.Spy, func(e event.PartitionJoined) bool { return e.Partition == i })
			assert.Contains(t, pooltest.WorkerIDs(pool), joined.Worker)
		}
		d.fill(1, "load", 1)
		d.fill(2, "load", 1)
		shares.Began(t, 2)
		assert.Equal(t, map[int]int{0: 1, 1: 1, 2: 1}, shares.of(3))
		shares.Release()
		d.Drained(pool)
	})
}

// TestAPoolLeavesPartitionsThatAreClosed and loses nothing that it had in hand there.
func TestAPoolLeavesPartitionsThatAreClosed(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares := newDivided(t, s, 2), newShares()
		defer shares.Release()
		d.fill(1, "load", 3)
		pool := d.Start(work.NewWorkerPool(nil, 2, d.Options()).Job("load", shares.handle))
		shares.Began(t, 2)
		d.change(func(m *partition.Map) {
			m.States[1] = partition.Closed
			clear(m.Buckets)
		})
		d.Until("a worker stops", func() bool { return len(pooltest.WorkerIDs(pool)) == 1 })
		shares.Release()
		left := pooltest.Await[event.PartitionLeft](t, d.Spy, nil)
		assert.Equal(t, 1, left.Partition)
		require.NoError(t, left.Err)
		known, _, err := d.store(1).Workers(d.Ctx())
		require.NoError(t, err)
		assert.Empty(t, known)
		assert.Equal(t, int64(2), shares.Done.Load(), "what ran has ended")
		jobs, err := d.store(1).Load(d.Ctx(), []string{"load"})
		require.NoError(t, err)
		assert.Equal(t, 1, jobs, "what had not begun waits")
		d.fill(0, "load", 2)
		d.Drained(pool)
		assert.Equal(t, int64(4), shares.Done.Load())
	})
}

// TestAPartitionThatIsDownIsJoinedLater and keeps the pool from nothing else.
func TestAPartitionThatIsDownIsJoinedLater(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares := newDivided(t, s, 3), newShares()
		shares.Release()
		o := d.Options()
		faults := d.faulty(&o)
		faults.set(faults.down, 1, true)
		d.fill(0, "load", 5)
		d.fill(2, "load", 5)
		d.fill(1, "load", 5)
		pool := d.Start(work.NewWorkerPool(nil, 2, o).Job("load", shares.handle))
		shares.Began(t, 10)
		pooltest.Await(t, d.Spy, func(e event.Trouble) bool { return e.Component == "partition 1" })
		var unhealthy *work.UnhealthyError
		require.ErrorAs(t, pool.Healthy(d.Ctx()), &unhealthy)
		assert.Equal(t, "partition 1", unhealthy.Problems[0].Component)
		require.ErrorContains(t, pool.Drain(d.Ctx()), "partition 1", "nobody can tell what is left there")
		faults.set(faults.down, 1, false)
		pooltest.Await(t, d.Spy, func(e event.PartitionJoined) bool { return e.Partition == 1 })
		shares.Began(t, 5)
		d.Drained(pool)
		d.healthyAgain("partition 1")
		require.NoError(t, pool.Healthy(d.Ctx()))
	})
}

// TestAPoolStartsWithoutTheFirstPartition if others know the map.
func TestAPoolStartsWithoutTheFirstPartition(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares := newDivided(t, s, 2), newShares()
		shares.Release()
		o := d.Options()
		faults := d.faulty(&o)
		faults.set(faults.down, 0, true)
		d.fill(1, "load", 3)
		pool := work.NewWorkerPool(nil, 2, o).Job("load", shares.handle)
		require.NoError(t, pool.Start(d.Ctx()))
		shares.Began(t, 3)
		require.NoError(t, d.Stop(pool))
	})
}

// TestAPoolStartsNowhere if all partitions are down, and says which.
func TestAPoolStartsNowhere(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 2)
		o := d.Options()
		faults := d.faulty(&o)
		pool := work.NewWorkerPool(nil, 2, o).Job("load", pooltest.Nothing)
		for i := range 2 {
			faults.set(faults.down, i, true)
		}
		require.ErrorIs(t, pool.Start(d.Ctx()), errDown)
		for i := range 2 {
			faults.set(faults.down, i, false)
		}
		d.Start(pool)
	})
}

// TestAPartitionThatHangsHoldsNobodyUp although it has places for a fetch, and outcomes that nobody takes.
func TestAPartitionThatHangsHoldsNobodyUp(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		const jobs = 400
		d := newDivided(t, s, 2)
		o := d.Options()
		faults := d.faulty(&o)
		d.fill(1, "load", 2*jobs)
		d.fill(0, "load", jobs)
		ran, enough := [2]atomic.Int64{}, make(chan struct{})
		pool := work.NewWorkerPool(nil, 4, o).Job("load", func(i int) error {
			if ran[i].Add(1) == 20 && i == 1 {
				faults.set(faults.hangs, 1, true)
			}
			if i == 0 && ran[0].Load() == jobs {
				close(enough)
			}
			return nil
		})
		d.Start(pool)
		begun := time.Now()
		pooltest.Receive(t, enough)
		assert.Less(t, time.Since(begun), 9*time.Second, "one fetch that hangs takes 10 s")
		faults.set(faults.hangs, 1, false)
		d.Drained(pool)
	})
}

// TestAStopGivesBackInEachPartition what has not ended, to the front of its queue.
func TestAStopGivesBackInEachPartition(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares := newDivided(t, s, 3), newShares()
		defer shares.Release()
		for i := range 3 {
			d.fill(i, "load", 4)
		}
		o := d.Options()
		o.ShutdownTimeout = time.Millisecond
		began := make(chan struct{}, 100)
		pool := work.NewWorkerPool(nil, 6, o).Job("load", func(ctx context.Context, _ int) error {
			began <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
		require.NoError(t, pool.Start(d.Ctx()))
		for range 6 {
			pooltest.Receive(t, began)
		}
		var stopped *work.StopError
		require.ErrorAs(t, pool.Stop(d.Ctx()), &stopped)
		assert.Len(t, stopped.Released, 6)
		for i := range 3 {
			heads, err := d.store(i).QueueHeads(d.Ctx(), []string{"load"})
			require.NoError(t, err)
			assert.Equal(t, 4, heads[0].Length, "partition %d", i)
			known, _, err := d.store(i).Workers(d.Ctx())
			require.NoError(t, err)
			assert.Empty(t, known)
		}
	})
}

// TestMaxRunningHoldsOverAllPartitions of a pool, and is reached.
func TestMaxRunningHoldsOverAllPartitions(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares := newDivided(t, s, 3), newShares()
		defer shares.Release()
		for i := range 3 {
			d.fill(i, "few", 10)
		}
		pool := d.Start(work.NewWorkerPool(nil, 8, d.Options()).
			JobWithOptions("few", work.JobOptions{MaxRunning: 2}, shares.handle))
		shares.Began(t, 2)
		for range 28 {
			shares.Pass(t, 1)
			shares.Began(t, 1)
		}
		shares.Release()
		d.Drained(pool)
		assert.Equal(t, int64(2), shares.Most.Load())
	})
}

// TestTheJobsOfADeadPoolComeBackInEachPartition.
func TestTheJobsOfADeadPoolComeBackInEachPartition(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 3)
		for i := range 3 {
			d.fill(i, "load", 2)
		}
		began, never := make(chan struct{}, 10), make(chan struct{})
		defer close(never)
		dead := d.Start(work.NewWorkerPool(nil, 6, d.Options()).Job("load", func(int) error {
			began <- struct{}{}
			<-never
			return nil
		}))
		for range 6 {
			pooltest.Receive(t, began)
		}
		d.Crash(dead)
		shares := newShares()
		shares.Release()
		alive := d.Start(work.NewWorkerPool(nil, 2, d.Options()).Job("load", shares.handle))
		shares.Began(t, 6)
		d.Drained(alive)
		assert.Equal(t, map[int]int{0: 2, 1: 2, 2: 2}, shares.of(6))
	})
}

// TestAScheduleLivesInOnePartition and is ticked there alone.
func TestAScheduleLivesInOnePartition(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 4)
		ticks := make(chan struct{}, 100)
		d.Start(work.NewWorkerPool(nil, 2, d.Options()).
			Job("tick", func() error { ticks <- struct{}{}; return nil }).
			PeriodicWithOptions("@every 1s", "tick", work.PeriodicOptions{ID: "each-second"}))
		home := d.m.OfSchedule("each-second", partition.Job{Name: "tick"}).Partition
		for i := range 4 {
			all, _, err := d.store(i).Schedules(d.Ctx())
			require.NoError(t, err)
			if i == home {
				assert.Len(t, all, 1)
			} else {
				assert.Empty(t, all, "partition %d", i)
			}
		}
		pooltest.Receive(t, ticks)
		enqueued := pooltest.Await[event.PeriodicEnqueued](t, d.Spy, nil)
		assert.Equal(t, "each-second", enqueued.Schedule)
	})
}
