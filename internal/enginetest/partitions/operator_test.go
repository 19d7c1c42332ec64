package partitions_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// told waits until the workers of a pool have heard what is wanted of them.
func (d *divided) told(i *inspect.Inspector, ids []string, wanted string) {
	d.T.Helper()
	heard := map[string]bool{}
	for len(heard) < len(ids) {
		e := pooltest.Await(d.T, d.Spy, func(e event.WorkerTold) bool {
			return e.Wanted == wanted && slices.Contains(ids, e.Worker) && !heard[e.Worker]
		})
		heard[e.Worker] = true
	}
	workers, err := i.Workers(d.Ctx())
	require.NoError(d.T, err)
	for _, w := range workers {
		if slices.Contains(ids, w.ID) {
			assert.Equal(d.T, wanted, w.Wanted, "partition %d", w.Partition)
		}
	}
}

// TestAPoolIsPausedInAllPartitions when one of its workers is, and goes on in all of them.
func TestAPoolIsPausedInAllPartitions(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 3)
		var mine, others atomic.Int64
		pool := d.Start(work.NewWorkerPool(nil, 2, d.Options()).Job("a", func(int) error { mine.Add(1); return nil }))
		i := inspect.Of(pool)
		workers, err := i.Workers(d.Ctx())
		require.NoError(t, err)
		require.Len(t, workers, 3)
		ids := []string{workers[0].ID, workers[1].ID, workers[2].ID}
		other := d.Start(work.NewWorkerPool(nil, 2, d.Options()).
			Job("a", func(int) error { others.Add(1); return nil }))
		load := func() {
			for n := range 3 {
				d.fill(n, "a", 4)
			}
			d.Drained(other)
		}

		require.NoError(t, i.PauseWorker(d.Ctx(), ids[1]))
		d.told(i, ids, "pause")
		load()
		assert.Equal(t, []int64{0, 12}, []int64{mine.Load(), others.Load()})
		require.NoError(t, i.ResumeWorker(d.Ctx(), ids[2]))
		d.told(i, ids, "")
		require.NoError(t, i.QuietWorker(d.Ctx(), ids[0]))
		d.told(i, ids, "quiet")
		load()
		assert.Equal(t, []int64{0, 24}, []int64{mine.Load(), others.Load()})
		require.NoError(t, i.ResumeWorker(d.Ctx(), ids[0]))
		d.told(i, ids, "quiet")
	})
}

// TestWorkersOfAllPartitionsAnswer pings and questions.
func TestWorkersOfAllPartitionsAnswer(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 3)
		pool := d.Start(work.NewWorkerPool(nil, 2, d.Options()).Job("a", pooltest.Nothing))
		i := inspect.Of(pool)
		workers, err := i.Workers(d.Ctx())
		require.NoError(t, err)
		require.Len(t, workers, 3)
		for _, w := range workers {
			took, err := i.Ping(d.Ctx(), w.ID)
			require.NoError(t, err)
			assert.Less(t, took, time.Minute)
		}
		answers, err := i.Ask(d.Ctx(), nil, "echo", "hello")
		require.NoError(t, err)
		require.Len(t, answers, 3)
		for _, a := range answers {
			require.NoError(t, a.Err)
			assert.JSONEq(t, `"hello"`, string(a.Value))
		}
	})
}

// TestALimitSetByHandIsOneForAllPartitions, whoever looks or changes it.
func TestALimitSetByHandIsOneForAllPartitions(t *testing.T) {
	each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, 3)
		for n := range 3 {
			d.fill(n, "narrow", 3)
		}
		var views []*inspect.Inspector
		for range 3 { // which know the map from before
			i, err := inspect.New("", work.WithConnection(d.Options().Connection), work.Namespace(d.Namespace))
			require.NoError(t, err)
			defer i.Close()
			_, err = i.Limits(d.Ctx())
			require.NoError(t, err)
			views = append(views, i)
		}
		limits := func() (all []inspect.LimitInfo) {
			for n, i := range views {
				limits, err := i.Limits(d.Ctx())
				require.NoError(t, err)
				if n > 0 {
					assert.Equal(t, all, limits)
				}
				all = limits
			}
			return all
		}
		require.NoError(t, views[0].SetLimit(d.Ctx(), "narrow", work.Limit{Concurrent: 2}))
		require.Len(t, limits(), 1)
		assert.Equal(t, work.Limit{Concurrent: 2}, limits()[0].Limit)
		require.NoError(t, views[1].SetLimit(d.Ctx(), "narrow", work.Limit{Concurrent: 1}))
		assert.Equal(t, work.Limit{Concurrent: 1}, limits()[0].Limit)
		holders := 0
		for n := range 3 {
			rules, err := d.store(n).Rules(d.Ctx())
			require.NoError(t, err)
			holders += len(rules)
		}
		assert.Equal(t, 1, holders)

		shares := newShares()
		defer shares.Release()
		pool := d.Start(work.NewWorkerPool(nil, 6, d.Options()).Job("narrow", shares.handle))
		shares.Began(t, 1)
		for range 3 {
			shares.Pass(t, 1)
			shares.Began(t, 1)
		}
		assert.Equal(t, int64(1), shares.Most.Load())
		require.NoError(t, views[2].ResetLimit(d.Ctx(), "narrow"))
		assert.Empty(t, limits())
		shares.Began(t, 5) // all that are left, at once
		shares.Release()
		d.Drained(pool)
	})
}
