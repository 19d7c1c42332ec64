package partitions_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
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

// dividing is a driver under which a namespace is divided just before a limit is declared.
type dividing struct {
	redisconn.Driver
	once   sync.Once
	divide func()
}

func (d *dividing) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if calls[0].Script != nil && calls[0].Script.Name == "limit/define" {
		d.once.Do(d.divide)
	}
	return d.Driver.Pipeline(ctx, calls...)
}

// TestALimitIsDeclaredWhileTheNamespaceIsDivided for the first time: the pool knew of one partition when it looked
// whether the name is to be bound. Its limit holds over all of them.
func TestALimitIsDeclaredWhileTheNamespaceIsDivided(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		for _, later := range []bool{false, true} { // at the start, or when the name is served later
			d, shares := &divided{kit: newKit(t, s), m: &partition.Map{}}, newShares()
			o := d.Options()
			driver, err := o.Connection.Driver()
			require.NoError(t, err)
			o.Connection = pooltest.Connection{Of: &dividing{Driver: driver, divide: func() {
				directory := partition.NewDirectory(d.Raw().Driver(), d.Namespace)
				assert.NoError(t, resize.To(d.Ctx(), directory, 3, nil))
			}}}
			if later {
				o.Only = []string{"other"}
			}
			pool := work.NewWorkerPool(nil, 9, o).Job("other", pooltest.Nothing).
				JobWithOptions("narrow", work.JobOptions{Limit: work.Limit{Concurrent: 2}}, shares.handle)
			pooltest.Times(pool).Start = pooltest.Patience // all of the division is within it
			d.Start(pool)
			if later {
				require.NoError(t, pool.Serve(d.Ctx(), "narrow"))
			}
			require.NoError(t, inside.Enqueuer(d.Enq).Partitions.Refresh(d.Ctx()))
			for i := range 30 {
				d.Enqueue("narrow", i)
			}
			shares.Began(t, 2)
			for range 10 {
				shares.Pass(t, 1)
				shares.Began(t, 1)
			}
			shares.Release()
			d.Drained(pool)
			assert.Equal(t, int64(2), shares.Most.Load(), "served later: %v", later)
		}
	})
}
