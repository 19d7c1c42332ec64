package resize_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// Names of queues that were resumed long ago are forgotten. One stays whose resume somebody may need to know: it is
// paused in a partition, or is to be told in one, or was said today.
func TestQueuesThatWereResumedLongAgoAreForgotten(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		ctx, d := context.Background(), newDivided(t, server)
		require.NoError(t, d.operator.PauseQueue(ctx, "plain"))
		require.NoError(t, d.operator.PauseQueue(ctx, "today"))
		require.NoError(t, d.operator.ResumeQueue(ctx, "today"))
		for i := range 3 {
			d.cmd(t, i, "HSET", "pauses", "old", 5, "hinted", 6, "late", 7, "uneven", 5+i, "", 9)
		}
		require.NoError(t, d.directory.Store(2).AtMap(1).AddHints(ctx,
			[]rdb.Hint{{Partition: 1, Pause: rdb.Pause{Name: "hinted", Version: 4, Paused: true}}}))
		d.cmd(t, 1, "HSET", "limits", "late", "1 - - - - code - - -") // it has not heard of the resume
		d.cmd(t, 1, "HSET", "pauses", "late", 3)
		names := func(i int) (names []string) {
			for name := range d.hash(t, i, "pauses") {
				names = append(names, name)
			}
			return names
		}
		d.outages.Set(1, partitiontest.Down)
		require.ErrorContains(t, resize.TrimPauses(ctx, d.directory), "partition 1")
		for i := range 3 {
			assert.Len(t, names(i), 7, "nothing is forgotten while a partition cannot be asked")
		}
		d.outages.Up(1)
		for range 2 {
			require.NoError(t, resize.TrimPauses(ctx, d.directory))
			for i := range 3 {
				assert.ElementsMatch(t, []string{"plain", "today", "hinted", "late"}, names(i), "partition %d", i)
			}
		}
		paused, _, err := d.operator.Paused(ctx)
		require.NoError(t, err)
		assert.Equal(t, []string{"late", "plain"}, paused)

		// the older hint is refused, as what was said since is known
		d.turn(t)
		assert.NotContains(t, d.hash(t, 1, "limits"), "hinted")
	})
}

// What is said of a queue while it is being forgotten stays, and so does who goes by a newer map.
func TestWhatIsSaidWhileItIsForgottenStays(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		ctx := context.Background()
		for trip, last := 1, 2; trip < last; trip++ {
			d := newDivided(t, server)
			for i := range 3 {
				d.cmd(t, i, "HSET", "pauses", "old", 5)
			}
			n := 0
			hook := &hooked{Driver: d.driver, before: func() {
				if n++; n == trip {
					require.NoError(t, d.operator.PauseQueue(ctx, "old"))
					require.NoError(t, d.operator.ResumeQueue(ctx, "old"))
					require.NoError(t, d.operator.PauseQueue(ctx, "plain"))
				}
			}}
			directory := d.another(hook)
			require.NoError(t, directory.Refresh(ctx))
			require.NoError(t, resize.TrimPauses(ctx, directory))
			last = max(last, n+1)
			said := d.hash(t, 0, "pauses")
			assert.NotEqual(t, "5", said["old"], "trip %d", trip)
			assert.NotEmpty(t, said["old"], "trip %d", trip)
			for i := range 3 {
				assert.Equal(t, said, d.hash(t, i, "pauses"), "trip %d, partition %d", trip, i)
			}
			d.all(t, "plain")
		}
		d := newDivided(t, server)
		d.cmd(t, 2, "HSET", "pauses", "old", 5)
		d.cmd(t, 2, "HSET", "lanes", "", 9)
		var newer *rdb.RouteError
		assert.True(t, errors.As(resize.TrimPauses(ctx, d.directory), &newer), "another partition may have been added")
		assert.Contains(t, d.hash(t, 2, "pauses"), "old")
	})
}
