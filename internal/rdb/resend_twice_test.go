package rdb_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every transition but fetch may be sent again when its reply was lost, and a fetch that is sent again does nothing.
func TestTransitionsSentTwiceLeaveTheSameState(t *testing.T) {
	t.Parallel()
	onEachTransition(t, func(t *testing.T, s *site, tr transition) {
		before := s.dump(t)
		first, err := tr.send(s, s.store)
		require.NoError(t, err)
		once := s.dump(t)
		require.Equal(t, tr.reads, assert.ObjectsAreEqual(before, once), "it does something, or only reads")

		if tr.once {
			return
		}
		second, err := tr.send(s, s.store)
		require.NoError(t, err)
		twice := s.dump(t)
		if tr.timed {
			once, twice = plain(once), plain(twice)
		}
		assert.Equal(t, once, twice)
		if tr.script == "job/enqueue" {
			assert.Equal(t, first, second)
		}
	})
}
