package inspect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

func TestFlowsAreCounted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		none := newKit(t, s)
		nothing, err := none.inspector().FlowCounts(none.Ctx())
		require.NoError(t, err)
		assert.Equal(t, inspect.FlowCounts{AsOf: nothing.AsOf}, nothing)
		require.False(t, nothing.AsOf.IsZero())

		k := newFlowKit(t, s)
		count := func() inspect.FlowCounts {
			c, err := k.i.FlowCounts(k.Ctx())
			require.NoError(t, err)
			return c
		}
		c := count()
		assert.Equal(t, []int{1, 2, 3, 0}, []int{c.Unsealed, c.Running, c.Ended, c.Releasing})
		assert.Equal(t, []int{4, 2}, []int{c.MembersLeft, c.MembersOf}, "of those that run")
		runs, err := k.i.Flow(k.Ctx(), "runs")
		require.NoError(t, err)
		assert.Equal(t, runs.Sealed, c.OldestRunning)
		assert.WithinRange(t, c.OldestUnsealed, c.OldestRunning, c.AsOf)
		assert.Zero(t, c.OldestReleasing)

		k.Number("ZADD", "flows:busy", c.AsOf.Add(-time.Hour).UnixMilli(), "gone")
		assert.Equal(t, c.AsOf.Add(-time.Hour).Truncate(time.Millisecond), count().OldestReleasing)
		k.Number("ZREM", "flows:busy", "gone")

		_, err = k.i.RetryFlow(k.Ctx(), "cancelled")
		require.NoError(t, err)
		c = count()
		assert.Equal(t, []int{3, 2}, []int{c.Running, c.Ended}, "one runs again")
		assert.Equal(t, 6, c.MembersLeft)
		for _, id := range []string{"runs", "paused", "cancelled"} {
			_, err = k.i.CancelFlow(k.Ctx(), id)
			require.NoError(t, err)
		}
		c = count()
		assert.Equal(t, []int{0, 5, 0}, []int{c.Running, c.Ended, c.MembersLeft})
		assert.Zero(t, c.OldestRunning)
	})
}
