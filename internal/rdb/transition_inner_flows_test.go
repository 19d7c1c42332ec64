package rdb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// anInner is how the flow "f/in" of these tests is kept, which is in the flow "f".
var anInner = flowdb.Keeping{ID: "f/in", Digest: "d", Token: "t", Keep: aFlow.Keep, Listed: true}

// outerFilled stores "f": in waits for a1, if it does, and b1 waits for in.
func outerFilled(t *testing.T, s *site, free bool) {
	t.Helper()
	edges := []flowdb.Edge{{From: "in", To: "b1", Rule: flowdb.RuleCancel}}
	if !free {
		edges = append(edges, flowdb.Edge{From: "a1", To: "in", Rule: flowdb.RuleCancel})
	}
	answer, _, err := flowdb.Of(s.store).Store(background, aFlow, []flowdb.Member{memberOf("a1", true),
		{Name: "in", Free: free}, memberOf("b1", false), memberOf("@done", false)}, edges)
	require.NoError(t, err)
	require.Equal(t, flowdb.Filling, answer)
}

// theInner are the members of "f/in".
func theInner() []flowdb.Member {
	return []flowdb.Member{{Name: "a1", Free: true, Queue: "a", Record: record("f/in/a1")}}
}

// innerFilled stores "f/in" as well.
func innerFilled(t *testing.T, s *site, free bool) {
	t.Helper()
	outerFilled(t, s, free)
	answer, _, err := flowdb.Of(s.store).Store(background, anInner, theInner(), nil)
	require.NoError(t, err)
	require.Equal(t, flowdb.Filling, answer)
}

// innerHeld seals both. The turn of "f/in" has come if it is free.
func innerHeld(free bool) func(t *testing.T, s *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		innerFilled(t, s, free)
		for _, of := range []flowdb.Keeping{anInner, aFlow} {
			count := map[string]int{"f": 3, "f/in": 1}[of.ID]
			answer, _, err := flowdb.Of(s.store).Seal(background, of, count, nil)
			require.NoError(t, err)
			require.Equal(t, flowdb.Sealed, answer)
		}
	}
}

// innerEnded has "f/in" end in that state.
func innerEnded(state string) func(t *testing.T, s *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		innerHeld(true)(t, s)
		began, err := flowdb.Of(s.store).Turn(background, "f/in", false)
		require.NoError(t, err)
		require.Equal(t, flowdb.IsRunning, began)
		s.cmd(t, "HSET", "flow:f/in", "state", state)
	}
}

func flowingInFlows() []transition {
	turn := func(name string, cancel bool, prepare func(*testing.T, *site)) transition {
		return transition{name: name, script: "flow/turn", timed: true, prepare: prepare,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return flowdb.Of(store).Turn(background, "f/in", cancel)
			}}
	}
	held := turn("look at a flow that is held", false, innerHeld(false))
	held.reads = true
	return []transition{held,
		{name: "store a flow in a flow", script: "flow/store", storing: true, timed: true,
			prepare: func(t *testing.T, s *site) { outerFilled(t, s, true) },
			send: func(_ *site, store *rdb.Store) (any, error) {
				a, _, err := flowdb.Of(store).Store(background, anInner, theInner(), nil)
				return a, err
			}},
		{name: "hold a flow in a flow", script: "flow/seal", timed: true,
			prepare: func(t *testing.T, s *site) { innerFilled(t, s, true) },
			send: func(_ *site, store *rdb.Store) (any, error) {
				a, _, err := flowdb.Of(store).Seal(background, anInner, 1, nil)
				return a, err
			}},
		turn("begin a flow in a flow", false, innerHeld(true)),
		turn("cancel a flow that is held", true, innerHeld(false)),
		turn("cancel a flow that is held and has one in it", true, func(t *testing.T, s *site) {
			innerHeld(false)(t, s)
			s.cmd(t, "HSET", "flow:f/in", "inner", 1)
		}),
		turn("tell the end of a flow in a flow", false, innerEnded("done")),
		turn("tell the death of a flow in a flow", false, innerEnded("dead")),
		turn("tell that a flow in a flow is lost", false, func(t *testing.T, s *site) {
			innerEnded("done")(t, s)
			s.cmd(t, "UNLINK", "flow:f/in")
		}),
		{name: "remove a flow with one in it", script: "flow/remove", timed: true, once: true,
			prepare: func(t *testing.T, s *site) {
				innerEnded("done")(t, s)
				s.cmd(t, "HSET", "flow:f", "state", "done")
				s.cmd(t, "ZADD", "flows:over", 1, "f")
			},
			send: func(_ *site, store *rdb.Store) (any, error) { return flowdb.Of(store).Remove(background, "f", 0) }},
	}
}
