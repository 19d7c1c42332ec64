package partitions_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// waiting is how many jobs of a name wait in each partition.
func (d *divided) waiting(name string) (jobs []int) {
	d.T.Helper()
	for i := range d.m.Len() {
		heads, err := d.store(i).QueueHeads(d.Ctx(), []string{name})
		require.NoError(d.T, err)
		jobs = append(jobs, heads[0].Length)
	}
	return jobs
}

// TestNamesAreServedAndWithdrawnInEachPartition while the pool runs.
func TestNamesAreServedAndWithdrawnInEachPartition(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares, others := newDivided(t, s, 3), newShares(), newShares()
		shares.Release()
		others.Release()
		pool := d.Start(work.NewWorkerPool(nil, 3, d.Options()).Job("load", shares.handle).Job("other", others.handle))
		require.Len(t, pooltest.WorkerIDs(pool), 3)
		require.NoError(t, pool.Withdraw(d.Ctx(), "load"))
		for i := range 3 {
			d.fill(i, "load", 2)
			d.fill(i, "other", 2)
		}
		others.Began(t, 6)
		assert.Equal(t, []int{2, 2, 2}, d.waiting("load"))
		require.NoError(t, pool.Serve(d.Ctx(), "load"))
		shares.Began(t, 6)
		assert.Equal(t, map[int]int{0: 2, 1: 2, 2: 2}, shares.of(6))
		d.Drained(pool)
	})
}

// TestStopNowGivesBackInEachPartition what runs, and leaves no worker.
func TestStopNowGivesBackInEachPartition(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 3)
		for i := range 3 {
			d.fill(i, "load", 2)
		}
		o := d.Options()
		o.ShutdownTimeout = time.Hour
		began := make(chan struct{}, 100)
		pool := work.NewWorkerPool(nil, 6, o).Job("load", func(ctx context.Context, _ int) error {
			began <- struct{}{}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.NoError(t, pool.Start(d.Ctx()))
		for range 6 {
			pooltest.Receive(t, began)
		}
		var stopped *work.StopError
		require.ErrorAs(t, pool.StopNow(d.Ctx()), &stopped)
		assert.Len(t, stopped.Released, 6)
		assert.Empty(t, stopped.Stuck)
		assert.Equal(t, []int{2, 2, 2}, d.waiting("load"))
		for i := range 3 {
			known, _, err := d.store(i).Workers(d.Ctx())
			require.NoError(t, err)
			assert.Empty(t, known, "partition %d", i)
		}
	})
}

// TestAPoolIsIdleWhereAllPartitionsAre: one that has a job in the last of them outlives one that has none anywhere,
// which began later.
func TestAPoolIsIdleWhereAllPartitionsAre(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		idle := func(d *divided, shares *shares) *work.WorkerPool {
			o := d.Options()
			o.IdleTimeout = 200 * time.Millisecond
			return d.Start(work.NewWorkerPool(nil, 3, o).Job("load", shares.handle))
		}
		d, shares := newDivided(t, s, 3), newShares()
		defer shares.Release()
		d.fill(2, "load", 1)
		busy := idle(d, shares)
		shares.Began(t, 1)
		pooltest.Receive(t, idle(newDivided(t, s, 3), newShares()).Done())
		assert.NoError(t, busy.Serve(d.Ctx(), "load"), "it stops beside a job that runs")
		shares.Release()
		pooltest.Receive(t, busy.Done())
		assert.Equal(t, []int{0, 0, 0}, d.waiting("load"))
	})
}

// TestAPoolIsNotIdleWhileJobsAreOnTheirWay from one partition to another: they stand in no queue, and it is to run
// them. One that has none anywhere ends meanwhile, which began later.
func TestAPoolIsNotIdleWhileJobsAreOnTheirWay(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		idle := func(d *divided, shares *shares) *work.WorkerPool {
			o := d.Options()
			o.IdleTimeout = 200 * time.Millisecond
			return d.Start(work.NewWorkerPool(nil, 3, o).Job("load", shares.handle))
		}
		d, shares := newDivided(t, s, 3), newShares()
		shares.Release()
		d.fill(1, "load", 1)
		arrives := d.onItsWay(1, 2, "load")
		waits := idle(d, shares)
		pooltest.Receive(t, idle(newDivided(t, s, 3), newShares()).Done())
		require.NoError(t, waits.Serve(d.Ctx(), "load"), "it stops although a job is to come")
		arrives()
		shares.Began(t, 1)
		pooltest.Receive(t, waits.Done())
		assert.Equal(t, []int{0, 0, 0}, d.waiting("load"))
	})
}
