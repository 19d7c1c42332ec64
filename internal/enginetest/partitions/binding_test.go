package partitions_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestAPoolWithANewLimitStartsWithoutAPartition: what it declares a limit of waits until that is back, all else runs.
func TestAPoolWithANewLimitStartsWithoutAPartition(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares, limited := newDivided(t, s, 3), newShares(), newShares()
		shares.Release()
		defer limited.Release()
		d.fill(0, "load", 5)
		for i := range 3 {
			d.fill(i, "new", 2)
		}
		o := d.Options()
		faults := d.faulty(&o)
		faults.set(faults.down, 2, true)
		pool := d.Start(work.NewWorkerPool(nil, 6, o).Job("load", shares.handle).
			JobWithOptions("new", work.JobOptions{Limit: work.Limit{Concurrent: 3}}, limited.handle))
		shares.Began(t, 5)
		told := pooltest.Await(t, d.Spy, func(e event.Trouble) bool { return e.Component == "limits" })
		require.ErrorContains(t, told.Err, "will be served once")
		d.Until("it tells which partition it waits for", func() bool { // a first try may be cut off elsewhere
			var unhealthy *work.UnhealthyError
			require.ErrorAs(t, pool.Healthy(d.Ctx()), &unhealthy)
			last := unhealthy.Problems[len(unhealthy.Problems)-1]
			return last.Component == "limits" && strings.Contains(last.Err.Error(), "partition 2")
		})
		assert.Zero(t, limited.Most.Load(), "its limit does not hold yet")
		faults.set(faults.down, 2, false)
		limited.Began(t, 3)
		limited.Release()
		limited.Began(t, 3)
		d.Drained(pool)
		assert.Equal(t, int64(3), limited.Most.Load())
		d.healthyAgain("limits")      // which follows the first jobs
		d.healthyAgain("partition 2") // it may be joined later than the name is bound
		require.NoError(t, pool.Healthy(d.Ctx()))
	})
}
