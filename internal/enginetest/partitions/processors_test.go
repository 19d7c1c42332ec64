package partitions_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// shares counts how many jobs of each partition have begun, in the order in which they did.
type shares struct {
	*pooltest.Gauge

	mu    sync.Mutex
	order []int
}

func newShares() *shares { return &shares{Gauge: pooltest.NewGauge()} }

func (s *shares) handle(partition int) error {
	s.mu.Lock()
	s.order = append(s.order, partition)
	s.mu.Unlock()
	return s.Handle()
}

// of is how many of the first so many jobs were of each partition.
func (s *shares) of(first int) map[int]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[int]int{}
	for _, partition := range s.order[:first] {
		counts[partition]++
	}
	return counts
}

// TestBusyPartitionsShareTheProcessors about equally, and never run more than the concurrency. Shares are counted from
// when each partition knows of its work and waits for its turn, all processors being busy: before that, whichever is
// the first to look has more, as it should.
func TestBusyPartitionsShareTheProcessors(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		const partitions, concurrency, jobs = 4, 6, 60
		d, shares := newDivided(t, s, partitions), newShares()
		defer shares.Release()
		for i := range partitions {
			d.fill(i, "load", jobs)
		}
		pool := d.Start(work.NewWorkerPool(nil, concurrency, d.Options()).Job("load", shares.handle))
		shares.Began(t, concurrency)
		places := pooltest.Parts(pool).Slots.Places()
		d.Until("all partitions wait for their turn", func() bool { return places.Waiting() == partitions })
		const all, counted = partitions * jobs, partitions * jobs / 2
		before := shares.of(concurrency)
		for range all - concurrency {
			shares.Pass(t, 1)
			shares.Began(t, 1)
		}
		assert.Equal(t, int64(concurrency), shares.Most.Load())
		after := shares.of(concurrency + counted)
		for partition, n := range after {
			assert.InDelta(t, counted/partitions, n-before[partition], jobs/4, "partition %d: %v", partition, after)
		}
		shares.Release()
	})
}

// TestShortJobsOfAllPartitionsRunOnce: the places that become free go to those who wait, in turn.
func TestShortJobsOfAllPartitionsRunOnce(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		const partitions, concurrency, jobs = 4, 10, 300
		d, shares := newDivided(t, s, partitions), newShares()
		shares.Release()
		for i := range partitions {
			d.fill(i, "load", jobs)
		}
		pool := d.Start(work.NewWorkerPool(nil, concurrency, d.Options()).Job("load", shares.handle))
		d.Drained(pool)
		assert.Equal(t, int64(partitions*jobs), shares.Done.Load())
		assert.LessOrEqual(t, shares.Most.Load(), int64(concurrency))
	})
}

// TestOneBusyPartitionHasAllProcessors while the others have nothing, and one that gets work later gets its share.
func TestOneBusyPartitionHasAllProcessors(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		const partitions, concurrency = 4, 6
		d, shares := newDivided(t, s, partitions), newShares()
		defer shares.Release()
		d.fill(2, "load", 200)
		pool := d.Start(work.NewWorkerPool(nil, concurrency, d.Options()).Job("load", shares.handle))
		shares.Began(t, concurrency)
		assert.Equal(t, map[int]int{2: concurrency}, shares.of(concurrency))
		waits := pooltest.Parts(pool).Waiter.Waits // for a call in partition 0
		d.Until("no call is waited for while there is no processor", func() bool { return !waits() })
		d.fill(0, "load", 1)
		for n := concurrency; shares.of(n)[0] == 0; n++ {
			// it looks up to 160 ms after its last look, in which many more than those 200 may pass
			require.Less(t, n, 10_000, "a job of partition 0 waits while those of partition 2 begin")
			if n%100 == 0 {
				d.fill(2, "load", 100) // that one stays busy
			}
			shares.Pass(t, 1)
			shares.Began(t, 1)
		}
		shares.Release()
	})
}

// TestALimitHoldsOverAllPartitions although its jobs waited in all of them when it was declared.
func TestALimitHoldsOverAllPartitions(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares := newDivided(t, s, 3), newShares()
		defer shares.Release()
		for i := range 3 {
			d.fill(i, "narrow", 5)
		}
		pool := d.Start(work.NewWorkerPool(nil, 6, d.Options()).
			JobWithOptions("narrow", work.JobOptions{Limit: work.Limit{Concurrent: 2}}, shares.handle))
		shares.Began(t, 2)
		for range 13 {
			shares.Pass(t, 1)
			shares.Began(t, 1)
		}
		shares.Release()
		d.Drained(pool)
		assert.Equal(t, int64(2), shares.Most.Load())
		assert.Equal(t, map[int]int{0: 5, 1: 5, 2: 5}, shares.of(15))
	})
}
