package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// A batch is received once, and another one by its number never passes for it.
func TestAnotherBatchByTheSameNumber(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		receive := func(name, id string) error {
			_, err := s.store.Receive(background,
				rdb.Reception{Source: 1, Batch: rdb.Batch{Number: 4, Name: name}},
				[]rdb.Moved{{What: rdb.MovedJob, ID: id, Place: "queue", Queue: "a", Record: []byte("{}")}})
			return err
		}
		require.NoError(t, receive("one", "x"))
		require.NoError(t, receive("one", "x"))
		before := s.dump(t)
		assert.ErrorContains(t, receive("other", "y"), "BATCH 4 of lane move:1 was another one")
		assert.Equal(t, before, s.dump(t))
	})
}

// A batch that is delivered again has no entries of jobs that are held: what is said of the first of them is not about
// the job that is first now. It leaves, or the batch would be outstanding for ever.
func TestWhatIsSaidOfHeldJobsIsNotAboutThoseOfABatchThatWasLeftBehind(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.enqueue(t, "a", "x")
		lead := rdb.Lead{Token: "t", Life: time.Minute}
		leads, err := s.store.TakeLead(background, lead)
		require.NoError(t, err)
		require.True(t, leads)
		items := []rdb.MoveItem{{Kind: rdb.MoveBound, ID: "x", Queue: "a"}}
		_, err = s.store.Freeze(background, lead, rdb.Target{Partition: 1}, items)
		require.NoError(t, err)
		again, err := s.store.Freeze(background, lead, rdb.Target{Partition: 1}, items)
		require.NoError(t, err)
		require.True(t, again.Outstanding)
		require.Len(t, again.Moved, 1)
		_, err = s.store.HandOver(background, lead, again.Number, rdb.HandedOver{Moved: again.Moved,
			Received: rdb.Received{Home: []int{0}}})
		require.NoError(t, err)
		last, err := s.store.Freeze(background, lead, rdb.Target{Partition: 1}, nil)
		require.NoError(t, err)
		assert.False(t, last.Outstanding)
	})
}
