package partitions_test

import (
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

// known is how many workers each of the partitions knows.
func (d *divided) known() (counts []int) {
	d.T.Helper()
	for i := range d.m.Len() {
		workers, _, err := d.store(i).Workers(d.Ctx())
		require.NoError(d.T, err)
		counts = append(counts, len(workers))
	}
	return counts
}

// TestALargePoolGrowsInAllPartitions: each group has a worker in each, never more run than the concurrency, all groups
// work in a partition that is added, and those that are idle leave all of them.
func TestALargePoolGrowsInAllPartitions(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 3)
		const concurrency = 2*pooltest.MaxPerWorker + 10
		goOn, running, most := make(chan struct{}), atomic.Int64{}, atomic.Int64{}
		pool := work.NewWorkerPool(nil, concurrency, d.Options()).Job("load", func(int) error {
			for now := running.Add(1); ; {
				if before := most.Load(); now <= before || most.CompareAndSwap(before, now) {
					break
				}
			}
			<-goOn
			running.Add(-1)
			return nil
		})
		pooltest.Times(pool).ScaleLook, pooltest.Times(pool).ScaleIdle = 20*time.Millisecond, 100*time.Millisecond
		d.Start(pool)
		require.Equal(t, []int{1, 1, 1}, d.known(), "nobody more is there before there is work")
		d.fill(1, "load", concurrency+50) // one partition alone wants all of them
		d.Until("as many run as may", func() bool { return running.Load() == concurrency })
		d.Until("all groups are in all partitions", func() bool {
			return assert.ObjectsAreEqual([]int{3, 3, 3}, d.known())
		})
		d.change(func(m *partition.Map) { spread(m, 4) })
		d.Until("also in one that is new", func() bool { return assert.ObjectsAreEqual([]int{3, 3, 3, 3}, d.known()) })
		d.fill(3, "load", 20)
		close(goOn)
		d.Drained(pool)
		assert.LessOrEqual(t, most.Load(), int64(concurrency))
		d.Until("the idle ones have left all of them",
			func() bool { return assert.ObjectsAreEqual([]int{1, 1, 1, 1}, d.known()) })
		assert.Zero(t, pooltest.Count[event.ClaimGone](d.Spy))
		assert.Empty(t, pooltest.Troubles(d.Spy))
	})
}

// TestTheNextJobThatIsDueInAnyPartition is told, and it is an error where one of them cannot say.
func TestTheNextJobThatIsDueInAnyPartition(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 3)
		o := d.Options()
		faults := d.faulty(&o)
		pool := d.Start(work.NewWorkerPool(nil, 2, o).Job("load", pooltest.Nothing))
		next, err := pool.NextDue(d.Ctx())
		require.NoError(t, err)
		assert.Zero(t, next)
		times := map[int]time.Time{}
		for n, i := range []int{1, 0, 2} { // the first one in the partition of the middle
			for len(times) == n {
				receipt, err := d.Enq.EnqueueIn(d.Ctx(), "load", time.Duration(n+1)*time.Hour, i)
				require.NoError(t, err)
				raw, err := d.store(i).Record(d.Ctx(), receipt.ID)
				require.NoError(t, err)
				if raw == nil {
					require.NoError(t, cancelled(d, receipt.ID))
					continue
				}
				times[i] = receipt.RunAt
			}
		}
		for range 10 { // they are asked in no order
			next, err := pool.NextDue(d.Ctx())
			require.NoError(t, err)
			assert.WithinDuration(t, times[1], next, time.Second)
		}
		faults.set(faults.down, 2, true)
		_, err = pool.NextDue(d.Ctx())
		require.ErrorContains(t, err, "partition 2")
		faults.set(faults.down, 2, false)
	})
}

func cancelled(d *divided, id string) error {
	results, err := d.Enq.Cancel(d.Ctx(), id)
	if err != nil {
		return err
	}
	return results[0].Err()
}
