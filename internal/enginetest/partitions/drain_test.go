package partitions_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
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

// refusing is a driver that changes no map of the partitions.
type refusing struct {
	redisconn.Driver
	refuses atomic.Bool
}

func (r *refusing) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if r.refuses.Load() && calls[0].Script != nil && calls[0].Script.Name == "partition/write_map" {
		return nil, pooltest.ErrLuck
	}
	return r.Driver.Pipeline(ctx, calls...)
}

// TestADrainWaitsForNamesThatAreStillToBeBound: they are served as soon as their limit holds.
func TestADrainWaitsForNamesThatAreStillToBeBound(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 3)
		for i := range 3 {
			d.fill(i, "narrow", 2)
		}
		o := d.Options()
		driver, err := o.Connection.Driver()
		require.NoError(t, err)
		r := &refusing{Driver: driver}
		r.refuses.Store(true)
		o.Connection = pooltest.Connection{Of: r}
		var ended atomic.Int64
		pool := d.Start(work.NewWorkerPool(nil, 6, o).JobWithOptions("narrow",
			work.JobOptions{Limit: work.Limit{Concurrent: 1}}, func(int) error { ended.Add(1); return nil }))
		d.Until("it tells what it waits for", func() bool {
			brief, cancel := context.WithTimeout(d.Ctx(), 100*time.Millisecond)
			defer cancel()
			err := pool.Drain(brief)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return strings.Contains(err.Error(), "its limit does not hold over all partitions yet")
		})
		r.refuses.Store(false)
		d.Drained(pool)
		assert.Equal(t, int64(6), ended.Load())
	})
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
		arrives := d.onItsWay(1, 2, "a")
		brief, cancel := context.WithTimeout(d.Ctx(), 100*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, pool.Drain(brief), context.DeadlineExceeded)

		arrives()
		require.NoError(t, i.ResumeAll(d.Ctx()))
		require.NoError(t, pool.Drain(d.Ctx()))
		assert.Equal(t, int64(1), ended.Load())
	})
}

// onItsWay takes the only job that waits of a name out of one partition to bring it to another, and returns what has it
// arrive.
func (d *divided) onItsWay(from, to int, name string) (arrives func()) {
	d.T.Helper()
	ids, err := d.store(from).FrontOf(d.Ctx(), name)
	require.NoError(d.T, err)
	require.Len(d.T, ids, 1)
	return d.moves(from, to, name, ids[0])
}

// moves does so with a job, wherever it stands.
func (d *divided) moves(from, to int, name, id string) (arrives func()) {
	d.T.Helper()
	lead := rdb.Lead{Token: "mover", Life: time.Minute}
	leads, err := d.store(from).TakeLead(d.Ctx(), lead)
	require.NoError(d.T, err)
	require.True(d.T, leads)
	f, err := d.store(from).Freeze(d.Ctx(), lead, rdb.Target{Partition: to},
		[]rdb.MoveItem{{Kind: rdb.MoveBound, ID: id, Queue: name}})
	require.NoError(d.T, err)
	require.Len(d.T, f.Moved, 1)
	return func() {
		d.T.Helper()
		require.NoError(d.T, d.store(from).GiveUpLead(d.Ctx(), lead))
		directory := partition.NewDirectory(d.Raw().Driver(), d.Namespace)
		require.NoError(d.T, directory.Refresh(d.Ctx()))
		_, err = resize.Settle(d.Ctx(), directory, from)
		require.NoError(d.T, err)
	}
}
