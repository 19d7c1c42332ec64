package partitions_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// TestADrainWaitsForJobsThatWaitForTheirLimit, of what runs at once and of a rate, wherever they live.
func TestADrainWaitsForJobsThatWaitForTheirLimit(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			each(t, func(t *testing.T, s redistest.Server) {
				d := newDivided(t, s, n)
				var ended atomic.Int64
				handle := func(int) error { ended.Add(1); return nil }
				for i := range n {
					d.fill(i, "narrow", 5)
					d.fill(i, "slow", 2)
				}
				pool := d.Start(work.NewWorkerPool(nil, 6, d.Options()).
					JobWithOptions("narrow", work.JobOptions{Limit: work.Limit{Concurrent: 1}}, handle).
					JobWithOptions("slow",
						work.JobOptions{Limit: work.Limit{Rate: 10, Per: time.Second, Burst: 1}}, handle))
				require.NoError(t, pool.Drain(d.Ctx()))
				assert.Equal(t, int64(7*n), ended.Load())
			})
		})
	}
}

// TestADrainWaitsForJobsThatAreOnTheirWay to another partition: they stand in no queue meanwhile.
func TestADrainWaitsForJobsThatAreOnTheirWay(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 3)
		i, err := inspect.New("", work.WithConnection(d.Options().Connection), work.Namespace(d.Namespace))
		require.NoError(t, err)
		defer i.Close()
		require.NoError(t, i.PauseAll(d.Ctx()))
		var ended atomic.Int64
		pool := d.Start(work.NewWorkerPool(nil, 2, d.Options()).Job("a", func(int) error { ended.Add(1); return nil }))
		d.fill(1, "a", 1)
		ids, err := d.store(1).FrontOf(d.Ctx(), "a")
		require.NoError(t, err)
		require.Len(t, ids, 1)
		lead := rdb.Lead{Token: "mover", Life: time.Minute}
		leads, err := d.store(1).TakeLead(d.Ctx(), lead)
		require.NoError(t, err)
		require.True(t, leads)
		f, err := d.store(1).Freeze(d.Ctx(), lead, rdb.Target{Partition: 2},
			[]rdb.MoveItem{{Kind: rdb.MoveBound, ID: ids[0], Queue: "a"}})
		require.NoError(t, err)
		require.Len(t, f.Moved, 1)
		brief, cancel := context.WithTimeout(d.Ctx(), 100*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, pool.Drain(brief), context.DeadlineExceeded)

		require.NoError(t, d.store(1).GiveUpLead(d.Ctx(), lead))
		directory := partition.NewDirectory(d.Raw().Driver(), d.Namespace)
		require.NoError(t, directory.Refresh(d.Ctx()))
		_, err = resize.Settle(d.Ctx(), directory, 1)
		require.NoError(t, err)
		require.NoError(t, i.ResumeAll(d.Ctx()))
		require.NoError(t, pool.Drain(d.Ctx()))
		assert.Equal(t, int64(1), ended.Load())
	})
}
