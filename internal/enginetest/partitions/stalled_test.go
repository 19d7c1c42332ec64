package partitions_test

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
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// halfway is a driver of which a program dies once it has announced new partitions.
type halfway struct {
	redisconn.Driver
	die context.CancelFunc
}

func (h *halfway) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if calls[0].Script != nil && calls[0].Script.Name == "partition/lead" {
		h.die()
		return nil, errDown
	}
	return h.Driver.Pipeline(ctx, calls...)
}

// now is the newest map that any partition knows.
func (d *divided) now() *partition.Map {
	d.T.Helper()
	directory := partition.NewDirectory(d.Raw().Driver(), d.Namespace)
	require.NoError(d.T, directory.Refresh(d.Ctx()))
	return directory.Map()
}

// TestAPoolGoesOnWithAChangeThatNobodyFinishes: who has begun it died, and all is where it belongs in the end. While a
// partition is away somebody is told that it waits for that.
func TestAPoolGoesOnWithAChangeThatNobodyFinishes(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d, shares := newDivided(t, s, 2), newShares()
		shares.Release()
		o := d.Options()
		faults := d.faulty(&o)
		pool := work.NewWorkerPool(nil, 3, o).Job("load", shares.handle)
		pooltest.Times(pool).Stalled = 50 * time.Millisecond
		d.Start(pool)
		faults.set(faults.down, 1, true)
		life, die := context.WithCancel(d.Ctx())
		defer die()
		require.Error(t, resize.To(life,
			partition.NewDirectory(&halfway{d.Raw().Driver(), die}, d.Namespace), 3, nil))
		told := pooltest.Await(t, d.Spy,
			func(e event.Trouble) bool { return e.Component == "change of the partitions" })
		require.ErrorContains(t, told.Err, "partition 1")
		require.Equal(t, 3, d.now().Wanted)
		faults.set(faults.down, 1, false)
		d.Until("it is done", func() bool { return d.now().Wanted == 0 })
		m := d.now()
		assert.Equal(t, []int{0, 1, 2}, m.Open())
		assert.False(t, m.Tracking)
		counts := map[int]int{}
		for _, at := range m.Buckets {
			counts[at]++
		}
		assert.InDelta(t, partition.Buckets/3, counts[2], 1, "%v", counts)
		d.healthyAgain("change of the partitions")
	})
}
