package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redisconn"
)

// A member counts once: one that is not left, as it has ended or was never there, changes nothing but itself.
func TestTheEndOfOneThatIsNotLeftDoesNotCount(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		memberHeld(t, s)
		s.cmd(t, "SREM", "flow.left:f", "a1")
		w := s.store.Worker("w1")
		assert.Empty(t, settle(t, w, w.End(rdb.Claim{Queue: "a", Element: "1:f/a1"}, rdb.Ending{ID: "f/a1", Queue: "a",
			State: "done", Belongings: rdb.Belongings{Flow: part("a1", "a", "b")}})))
		assert.False(t, s.exists(t, "flow.results:f") || s.exists(t, "flow.todo:f") || s.exists(t, "queue:b"))
		assert.Equal(t, []string{"a2", "b1", "b2"}, s.set(t, "flow.left:f"))
	})
}

// A flow is broken by itself: a key of another type keeps its members from ending, and nobody else.
func TestABrokenFlowIsNamedAndChangesNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		memberHeld(t, s)
		s.cmd(t, "SET", "flow.todo:f", "a string")
		before := s.dump(t)
		w := s.store.Worker("w1")
		call := w.End(rdb.Claim{Queue: "a", Element: "1:f/a1"}, rdb.Ending{ID: "f/a1", Queue: "a", State: "done",
			Belongings: rdb.Belongings{Flow: part("a1")}})
		settled, err := w.Settle(t.Context(), []redisconn.Call{call})
		assert.NoError(t, err)
		assert.ErrorContains(t, settled[0].Err, "flow.todo:f has the wrong type for LLEN")
		assert.Equal(t, before, s.dump(t))
	})
}

// However the parts of a batch are cut, and whoever sends them again, each member is to be put into its queue once.
func TestAMemberOfABatchIsStoredOnceHoweverItsPartsAreCut(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		batch := flowdb.Keeping{ID: "f", Digest: "d", Token: "one", Keep: time.Hour}
		store := func(token string, names ...string) {
			of := batch
			of.Token = token
			var members []flowdb.Member
			for _, name := range names {
				members = append(members, memberOf(name, true))
			}
			answer, _, err := flowdb.Of(s.store).Store(t.Context(), of, members, nil)
			require.NoError(t, err)
			require.Equal(t, flowdb.Filling, answer)
		}
		store("one", "a1", "a2")
		store("one", "a1", "a2") // the reply was lost
		store("two", "a1", "a2", "a3")
		store("one", "a3", "a4")
		store("two", "a4", "b5")
		store("two", "b6")
		store("one", "b5")
		store("one", "b6", "b7") // it came last, and has not stored the first of these
		assert.Equal(t, []string{"a1", "a2", "a3", "a4", "b5", "b6", "b7"}, s.set(t, "flow.left:f"))
		assert.Len(t, s.list(t, "flow.todo:f"), 7)
		answer, detail, err := flowdb.Of(s.store).Seal(t.Context(), batch, 7, []string{"a", "b"})
		require.NoError(t, err)
		require.Equal(t, flowdb.Sealed, answer, detail)
		assert.ElementsMatch(t, []string{"f/a1", "f/a2", "f/a3", "f/a4"}, s.list(t, "queue:a"))
		assert.ElementsMatch(t, []string{"f/b5", "f/b6", "f/b7"}, s.list(t, "queue:b"))
	})
}

// Members of several flows, and jobs of none, end by one call: each flow goes on.
func TestMembersOfSeveralFlowsEndByOneCall(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		var ended []rdb.Ended
		for _, flow := range []string{"f", "g"} {
			of := aFlow
			of.ID = flow
			members, edges := theMembers()
			for i := range members {
				members[i].Record = record(flow + "/" + members[i].Name)
			}
			_, _, err := flowdb.Of(s.store).Store(t.Context(), of, members, edges)
			require.NoError(t, err)
			_, _, err = flowdb.Of(s.store).Seal(t.Context(), of, 4, []string{"a"})
			require.NoError(t, err)
			ended = append(ended, rdb.Ended{Claim: rdb.Claim{Queue: "a", Element: "1:" + flow + "/a1"},
				ID: flow + "/a1", State: "done",
				Flow: rdb.Membership{Flow: flow, Member: "a1", Queues: []string{"a", "b"}}})
		}
		s.enqueue(t, "a", "plain")
		ended = append(ended, rdb.Ended{Claim: rdb.Claim{Queue: "a", Element: "1:plain"}, ID: "plain", State: "done"})
		w := s.worker(t, "w1", "a", "b", "ends")
		s.take(t, w, 1, 3, "a")
		assert.Empty(t, settle(t, w, w.Complete(ended)))
		assert.ElementsMatch(t, []string{"f/a2", "g/a2"}, s.list(t, "queue:a"))
		assert.ElementsMatch(t, []string{"f/b1", "g/b1"}, s.list(t, "queue:b"))
		for _, flow := range []string{"f", "g"} {
			assert.Equal(t, []string{"a2", "b1", "b2"}, s.set(t, "flow.left:"+flow))
		}
		assert.Zero(t, s.cmd(t, "HLEN", "claimed"))
	})
}

// A flow that is new is stored by the newest map of the partitions alone; one that is there is completed by any.
func TestANewFlowIsStoredByTheNewestMap(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		store := func(version int64, name string) error {
			_, _, err := flowdb.Of(s.store.AtMap(version)).Store(t.Context(), aFlow,
				[]flowdb.Member{memberOf(name, true)}, nil)
			return err
		}
		s.cmd(t, "HSET", "lanes", "", 5)
		var newer *rdb.RouteError
		require.ErrorAs(t, store(4, "a1"), &newer)
		assert.EqualValues(t, 5, newer.Version)
		require.ErrorAs(t, store(0, "a1"), &newer)
		assert.False(t, s.exists(t, "flow:f") || s.exists(t, "flows"))
		require.NoError(t, store(5, "a1"))
		s.cmd(t, "HSET", "lanes", "", 6)
		require.NoError(t, store(5, "a2"))
		assert.Equal(t, []string{"a1", "a2"}, s.set(t, "flow.left:f"))
	})
}

// Whoever opens a flow again may be cut off at any step, and another one begins anew: each member is put into its queue
// once.
func TestAFlowThatIsOpenedAgainTwicePutsAMemberIntoItsQueueOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		memberHeld(t, s)
		w := s.store.Worker("w1")
		require.Empty(t, settle(t, w, w.Shelve(rdb.Shelved{Claim: rdb.Claim{Queue: "a", Element: "1:f/a1"},
			Shelf: rdb.ShelfMorgue, Flow: part("a1", "a", "b", "ends")})))
		_, err := flowdb.Of(s.store).Cancel(t.Context(), "f", []string{"b1", "b2"}, true)
		require.NoError(t, err)
		reopen := func(step flowdb.Reopening, named ...string) {
			_, err := flowdb.Of(s.store).Reopen(t.Context(), "f", step, named)
			require.NoError(t, err)
		}
		all := []string{"a1", "a2", "b1", "b2"}
		for range 2 {
			reopen(flowdb.ReopenBegin)
			reopen(flowdb.ReopenBack, all...)
			reopen(flowdb.ReopenFree, all...)
		}
		reopen(flowdb.ReopenSeal)
		_, err = flowdb.Of(s.store).Finish(t.Context(), "f")
		require.NoError(t, err)
		assert.Equal(t, []string{"f/a1"}, s.list(t, "queue:a"))
	})
}

// A member of which nothing is left stays as it has ended when its flow is opened again, and those that wait for it do
// not wait for ever.
func TestAFlowIsOpenedAgainWithoutAMemberThatIsLost(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		sealed(t, s)
		s.cmd(t, "UNLINK", "jobs", "queue:a")
		flows, all := flowdb.Of(s.store), []string{"a1", "a2", "b1", "b2"}
		faults, err := flows.Agree(t.Context(), "f", all, true, true)
		require.NoError(t, err)
		require.Equal(t, []rdb.Fault{{ID: "a1", What: flowdb.FaultGone}}, faults)
		_, err = flows.Cancel(t.Context(), "f", all, true)
		require.NoError(t, err)
		for _, step := range []flowdb.Reopening{flowdb.ReopenBegin, flowdb.ReopenBack, flowdb.ReopenFree,
			flowdb.ReopenSeal} {
			named := all
			if step == flowdb.ReopenSeal {
				named = nil
			}
			_, err = flows.Reopen(t.Context(), "f", step, named)
			require.NoError(t, err)
		}
		_, err = flows.Finish(t.Context(), "f")
		require.NoError(t, err)
		assert.Equal(t, []string{"b2"}, s.set(t, "flow.left:f"), "it runs even so, and the others are cancelled")
		assert.Equal(t, []string{"f/b2"}, s.list(t, "queue:b"))
	})
}
