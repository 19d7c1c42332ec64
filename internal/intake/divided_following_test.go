package intake_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

func TestJobsFollowTheMap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at landed
		d := newDivided(t, 2, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
			elapse(time.Millisecond)
			at.note(i, call)
			return stored, nil
		})
		var callers sync.WaitGroup
		var mu sync.Mutex
		told := map[string]bool{}
		for n := range 100 {
			callers.Go(func() {
				for range 60 {
					j := generated()
					if n%4 == 0 {
						j = ofLock(5)
					}
					if !assert.Equal(t, intake.Stored, d.Put(t.Context(), j).Outcome) {
						return
					}
					mu.Lock()
					told[j.ID] = true
					mu.Unlock()
				}
			})
		}
		for n := 2; n <= 16; n++ {
			elapse(3 * time.Millisecond)
			d.change(func(m *partition.Map) {
				m.States = append(m.States, partition.Open)
				m.Buckets[5] = n % len(m.States)
				if n == 9 {
					m.States[1] = partition.Draining
				}
			})
		}
		callers.Wait()
		assert.Len(t, at.at, 6000)
		for id, where := range at.at {
			assert.Len(t, where, 1, "stored once")
			assert.True(t, told[id])
		}
		assert.LessOrEqual(t, d.asked, 100*15, "nobody polls")
	})
}

func TestJobsWaitForWhatIsBeingMoved(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct{ begin, end func(m *partition.Map) }{
		"a bucket": {
			begin: func(m *partition.Map) { m.Moving[3] = 1 },
			end:   func(m *partition.Map) { m.Buckets[3] = 1; delete(m.Moving, 3) },
		},
		"a name": {
			begin: func(m *partition.Map) { m.Binding = []string{"a"} },
			end: func(m *partition.Map) {
				m.Binding, m.Bound = nil, []string{"a"}
				m.Buckets[partition.BucketOfName("a")] = 1
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var at landed
				d := newDivided(t, 4, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
					at.note(i, call)
					return stored, nil
				})
				d.change(change.begin)
				began, j := time.Now(), ofLock(3)
				result := d.Put(t.Context(), j)
				assert.Equal(t, intake.NotStored, result.Outcome)
				assert.Equal(t, timeout, time.Since(began))
				require.ErrorContains(t, result.Err, `job "a" is bound to bucket`)
				assert.ErrorContains(t, result.Err, "partition")

				var caller sync.WaitGroup
				caller.Go(func() {
					assert.Equal(t, intake.Stored, d.Put(t.Context(), j).Outcome)
				})
				elapse(2 * time.Second)
				d.change(change.end)
				began = time.Now()
				caller.Wait()
				assert.LessOrEqual(t, time.Since(began), 100*time.Millisecond)
				assert.Equal(t, []int{1}, at.at[j.ID])
			})
		})
	}
}

func TestWhoKnowsNothingFindsTheMapWhileTheFirstPartitionIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at landed
		d := newDivided(t, 3, func(_ context.Context, i int, call sentCall) (rdb.Enqueued, error) {
			at.note(i, call)
			return stored, nil
		})
		d.known = &partition.Map{}
		d.stores[0].play = func(context.Context, sentCall) (rdb.Enqueued, error) { return rdb.Enqueued{}, errNoRedis }
		began, j := time.Now(), generated()
		assert.Equal(t, intake.Stored, d.Put(t.Context(), j).Outcome)
		assert.Less(t, time.Since(began), 100*time.Millisecond)
		assert.Len(t, at.at[j.ID], 1)
	})
}

func TestMapThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDivided(t, 2, func(context.Context, int, sentCall) (rdb.Enqueued, error) { return stored, nil })
		d.change(func(*partition.Map) {})
		d.away = true
		result := d.Put(t.Context(), generated())
		assert.Equal(t, intake.NotStored, result.Outcome)
		require.ErrorIs(t, result.Err, errNoRedis)
		assert.ErrorIs(t, result.Err, context.DeadlineExceeded)
	})
}
