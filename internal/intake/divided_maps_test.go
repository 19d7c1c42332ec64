package intake_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// A call that may have been executed names the map by which it was sent for ever: by a newer one it could be stored
// where its jobs do not belong any more.
func TestACallThatIsSentAgainNamesTheSameMap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at landed
		d := newDivided(t, 4, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
			at.note(i, call)
			return stored, nil
		})
		honest := d.stores[3].play
		d.stores[3].play = func(ctx context.Context, call sentCall) (rdb.Enqueued, error) {
			if call.nth > 0 {
				return honest(ctx, call)
			}
			d.change(func(m *partition.Map) { m.Buckets[3] = 2 })
			d.learn(t) // by another call
			return rdb.Enqueued{}, errLost
		}
		j := ofLock(3)
		require.Equal(t, intake.Stored, d.Put(t.Context(), j).Outcome)
		assert.Equal(t, []int{2}, at.at[j.ID], "where it belongs now, and nowhere else")
		calls := d.stores[3].sent()
		require.Len(t, calls, 2)
		assert.Equal(t, calls[0].version, calls[1].version)
		assert.Equal(t, calls[0].number, calls[1].number)
	})
}

// Who stands in line while the map changes finds out anew where to go.
func TestWhoStandsInLineWhileTheMapChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at landed
		released := make(chan struct{})
		d := newDivided(t, 2, func(ctx context.Context, i int, call sentCall) (rdb.Enqueued, error) {
			if call.version == 1 {
				<-released
			}
			at.note(i, call)
			return stored, nil
		})
		var callers sync.WaitGroup
		for range intake.Lanes {
			callers.Go(func() { assert.Equal(t, intake.Stored, d.Put(t.Context(), generated()).Outcome) })
		}
		synctest.Wait()
		var jobs []*intake.Job
		for range 10 {
			j := generated()
			jobs = append(jobs, j)
			callers.Go(func() { assert.Equal(t, intake.Stored, d.Put(t.Context(), j).Outcome) })
		}
		synctest.Wait()
		home := 1
		d.change(func(m *partition.Map) {
			m.Bound = []string{"a"}
			m.Buckets[partition.BucketOfName("a")] = home
		})
		d.learn(t)
		close(released)
		callers.Wait()
		for _, j := range jobs {
			assert.Equal(t, []int{home}, at.at[j.ID])
		}
	})
}
