package inspect_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// The share of a key is of what runs, whether anybody notes who has a place or not.
func TestTheShareOfAKeyIsOfWhatRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, opts := range map[string]work.JobOptions{
			"without": {}, "with": {PerKey: work.Limit{Concurrent: 6}}, // in this order: a limit is of the namespace
		} {
			k := newKit(t, s)
			pool, letGo := k.held(name, opts)
			k.keyed(name, "large", 6)
			k.keyed(name, "small", 2)
			_, err := k.Enq.Enqueue(k.Ctx(), name) // without a key: it is in no share
			require.NoError(t, err)
			k.Until("all run", func() bool { return k.Number("HLEN", "claimed") == 9 })
			assert.Equal(t, []int{6, 2}, []int{k.key(name, "large").Running, k.key(name, "small").Running}, name)
			assert.InDelta(t, .75, k.key(name, "large").Share, 0)
			assert.InDelta(t, .25, k.key(name, "small").Share, 0)
			page, err := k.inspector().Keys(k.Ctx(), inspect.KeysOptions{Name: name, Limit: 1})
			require.NoError(t, err)
			assert.Equal(t, 8, page.Running)
			letGo()
			k.Drained(pool)
			assert.Zero(t, k.key(name, "large").Share)
		}
	})
}

// Who removes in bulk what has the place of a key calls somebody for the job that is given it.
func TestWhatIsRemovedInBulkGivesItsPlaceOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		opts := work.JobOptions{Ordered: true, Backoff: func(*work.Job, error) time.Duration { return time.Hour }}
		pool := k.Start(work.NewWorkerPool(nil, 3, k.Options()).JobWithOptions("sync", opts,
			func(*work.Job) error { return errors.New("not now") }))
		k.keyed("sync", "ann", 3)
		k.Until("one waits for its retry", func() bool { return k.Number("ZCARD", "retry") == 1 })
		k.Until("the others are parked", func() bool { return k.key("sync", "ann").Parked == 2 })
		require.NoError(t, k.Stop(pool))
		require.Zero(t, k.Number("LLEN", "wake:sync"))
		report, err := k.inspector().Bulk(k.Ctx(), inspect.Selection{Key: "ann", State: work.StateRetrying},
			inspect.ActionDelete, inspect.BulkOptions{})
		require.NoError(t, err)
		assert.Equal(t, 1, report.Done)
		assert.Equal(t, 1, k.key("sync", "ann").Parked)
		assert.Positive(t, k.Number("LLEN", "wake:sync"))
	})
}
