package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// Jobs with keys go to another partition as what they are: those that wait line up there, and what comes back from a
// shelf does too.
func TestKeyedJobsThatAreMovedLineUpThere(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		to := s.another(t)
		jobs := append(keyedJobs("a", "x", 1, 3), keyedJobs("a", "y", 2, 2)...)
		jobs[4].Place, jobs[4].When = rdb.In, time.Hour.Milliseconds()
		s.store500(t, jobs)
		lead := rdb.Lead{Token: "t", Life: time.Minute}
		leads, err := s.store.TakeLead(t.Context(), lead)
		require.NoError(t, err)
		require.True(t, leads)
		var items []rdb.MoveItem
		for _, job := range jobs {
			items = append(items, rdb.MoveItem{Kind: rdb.MoveBound, ID: job.ID, Queue: "a"})
		}
		frozen, err := s.store.Freeze(t.Context(), lead, rdb.Target{Partition: 1}, items)
		require.NoError(t, err)
		require.Len(t, frozen.Moved, 5)
		for range 2 { // the second time it is sent again
			_, err = to.store.Receive(t.Context(), rdb.Reception{Batch: frozen.Batch}, frozen.Moved)
			require.NoError(t, err)
		}
		_, err = s.store.HandOver(t.Context(), lead, frozen.Number, rdb.HandedOver{Moved: frozen.Moved})
		require.NoError(t, err)
		for _, key := range []string{"turns", "keyed", "jobs", "scheduled", "ready", "frozen"} {
			wanted := int64(0)
			if key == "frozen" {
				wanted = 1 // the number of the batch
			}
			assert.Equal(t, wanted, s.cmd(t, "EXISTS", key), key)
		}
		assert.Equal(t, int64(4), to.cmd(t, "ZCARD", "turns"))
		assert.Equal(t, int64(5), to.cmd(t, "HLEN", "keyed"))
		assert.Equal(t, []string{"a"}, to.set(t, "ready"))
		assert.Equal(t, []string{"y1", "x1", "x2", "x3"}, to.draw(t, to.worker(t, "w1", "a"), 1, "a", 10))
		assert.Equal(t, int64(1), to.cmd(t, "ZCARD", "scheduled"))
		assert.Equal(t, []byte("2 y"), to.cmd(t, "HGET", "keyed", "y2"))
	})
}

// A worker gives back what it holds of keys, and Redis may lose and learn again what it holds.
func TestKeyedJobsThatAreGivenBackOrRestored(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.store500(t, keyedJobs("a", "x", 1, 4))
		w := s.worker(t, "w1", "a")
		held := s.take(t, w, 1, 2, "a")
		require.Len(t, held, 2)
		replies, err := s.driver.Pipeline(t.Context(), w.Release(rdb.Released{Queue: "a",
			Elements: []string{held[0].Element, held[1].Element}, Ended: true}))
		require.NoError(t, err)
		require.NoError(t, replies[0].Err)
		assert.Equal(t, []string{"x1"}, s.draw(t, w, 2, "a", 1), "its old place")

		held = s.take(t, w, 3, 1, "a")
		require.Len(t, held, 1)
		assert.Equal(t, "3:x2", held[0].Element)
		// A replica that takes over may not know that it was fetched: it waits by turns again.
		s.cmd(t, "HDEL", "claimed", "x2")
		s.cmd(t, "UNLINK", "worker:w1:inprocess:a")
		s.cmd(t, "ZADD", "turns", 1, "x2")
		restored, state, err := w.Restore(t.Context(), 3, 1, []rdb.Held{{Claim: held[0], ID: "x2",
			Record: keyedJobs("a", "x", 1, 2)[1].Record, Turn: rdb.Turn{Key: "x"}}})
		require.NoError(t, err)
		assert.Equal(t, rdb.Registered, state)
		assert.Equal(t, 1, restored.Reclaimed)
		assert.Equal(t, []string{"x3", "x4"}, s.draw(t, w, 4, "a", 10), "x2 runs, and does not begin again")
		assert.Equal(t, []byte("1 x"), s.cmd(t, "HGET", "keyed", "x2"))
	})
}

// another is a second namespace of the same Redis.
func (s *site) another(t *testing.T) *site {
	t.Helper()
	namespace := redistest.Namespace(t) + "-other"
	return &site{driver: s.driver, store: rdb.NewStore(s.driver, namespace), namespace: namespace, clock: s.clock}
}
