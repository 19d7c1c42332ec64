package rdb_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb/flowdb"
)

// A flow is stored into another one while that is stored, after the part that names it: else nobody would find it.
func TestAFlowIsStoredIntoOneThatIsBeingStored(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		store := func(of flowdb.Keeping) flowdb.Answer {
			answer, _, err := flowdb.Of(s.store).Store(t.Context(), of, theInner(), nil)
			require.NoError(t, err)
			return answer
		}
		assert.Equal(t, flowdb.Gone, store(anInner), "there is no outer one")
		assert.False(t, s.exists(t, "flow:f/in"))
		innerHeld(false)(t, s)
		assert.Equal(t, flowdb.Sealed, store(anInner))
		late := anInner
		late.ID = "f/late"
		assert.Equal(t, flowdb.Gone, store(late), "the outer one is sealed")
		assert.False(t, s.exists(t, "flow:f/late"))
		assert.Equal(t, []string{"f"}, s.sorted(t, "flows"), "an inner one is in no list")
		assert.Empty(t, s.sorted(t, "flows:filling"))
	})
}

// Whoever goes on with a flow that is held, or has ended, leaves it among the busy ones: its turn may have come
// meanwhile, or its end is to be told.
func TestAStepOfAFlowThatIsHeldForgetsNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		innerHeld(true)(t, s)
		_, err := flowdb.Of(s.store).Finish(t.Context(), "f")
		require.NoError(t, err)
		require.Equal(t, []string{"f/in"}, s.sorted(t, "flows:busy"))
		_, err = flowdb.Of(s.store).Advance(t.Context(), "f/in", []string{"a"})
		require.NoError(t, err)
		assert.Equal(t, []string{"f/in"}, s.sorted(t, "flows:busy"))
		assert.Equal(t, []string{"f/a1"}, s.list(t, "queue:a"), "it has not begun")
		for _, want := range []string{flowdb.IsRunning, flowdb.IsRunning} {
			state, err := flowdb.Of(s.store).Turn(t.Context(), "f/in", false)
			require.NoError(t, err)
			assert.Equal(t, want, state)
		}
		_, err = flowdb.Of(s.store).Advance(t.Context(), "f/in", []string{"a"})
		require.NoError(t, err)
		assert.Equal(t, []string{"f/a1", "f/in/a1"}, s.list(t, "queue:a"))
		assert.Empty(t, s.sorted(t, "flows:busy"))
	})
}

// While the outer flow is opened again an inner one is what it is, whoever looks at it.
func TestAFlowThatIsHeldAgainIsNotCancelledMeanwhile(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		innerEnded("dead")(t, s)
		flows := flowdb.Of(s.store)
		turn := func(want string) {
			t.Helper()
			state, err := flows.Turn(t.Context(), "f/in", false)
			require.NoError(t, err)
			assert.Equal(t, want, state)
		}
		turn(flowdb.Told)
		turn(flowdb.Told)
		assert.Equal(t, []string{"in", "b1"}, s.sorted(t, "flow.ends:f"), "dead, and cancelled with it")
		s.cmd(t, "HSET", "flow:f", "state", "reopening")
		s.cmd(t, "HSET", "flow:f/in", "state", "held")
		turn(flowdb.IsHeld) // its end counts there still
		_, err := flows.Reopen(t.Context(), "f", flowdb.ReopenBack, []string{"in", "b1"})
		require.NoError(t, err)
		turn(flowdb.IsHeld)
		assert.Equal(t, []string{"a1", "b1", "in"}, s.set(t, "flow.left:f"))
	})
}

// sorted are the members of a sorted set, by their scores.
func (s *site) sorted(t *testing.T, key string) []string {
	return texts(t, s.cmd(t, "ZRANGE", key, 0, -1))
}
