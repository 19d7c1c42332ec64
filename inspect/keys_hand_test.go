package inspect_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// All jobs of one key are found and changed together, those that are parked as well; its places go to nobody else, and
// what is left runs.
func TestAllJobsOfAKeyAreChangedByHand(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, ctx := k.inspector(), k.Ctx()
		pool, letGo := k.held("sync", work.JobOptions{PerKey: work.Limit{Concurrent: 1}})
		k.keyed("sync", "large", 5)
		k.keyed("sync", "small", 3)
		k.Until("one of each runs", func() bool {
			return k.key("sync", "large").Parked == 4 && k.key("sync", "small").Parked == 2
		})
		large := inspect.Selection{Key: "large"}
		found, err := i.Search(ctx, large, inspect.SearchOptions{})
		require.NoError(t, err)
		assert.Len(t, found.Jobs, 5, "the one that runs too")
		large.State = work.StateQueued
		report, err := i.Bulk(ctx, large, inspect.ActionStall, inspect.BulkOptions{})
		require.NoError(t, err)
		assert.Equal(t, 4, report.Done)
		assert.Equal(t, 0, k.key("sync", "large").Parked)
		assert.Equal(t, 2, k.key("sync", "small").Parked, "others are left alone")
		large.State = work.StateStalled
		report, err = i.Bulk(ctx, large, inspect.ActionResume, inspect.BulkOptions{})
		require.NoError(t, err)
		assert.Equal(t, 4, report.Done)
		k.Until("they are parked again", func() bool { return k.key("sync", "large").Parked == 4 })
		large.State = work.StateQueued
		report, err = i.Bulk(ctx, large, inspect.ActionDelete, inspect.BulkOptions{})
		require.NoError(t, err)
		assert.Equal(t, 4, report.Done)
		letGo()
		k.Drained(pool)
		assert.Zero(t, k.Number("ZCARD", "holding"))
		assert.Zero(t, k.Number("ZCARD", "parked"))
	})
}
