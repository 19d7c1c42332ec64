package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// theLodging is of a member of the flow "f", which is in partition 0; it is at home in partition 1.
var theLodging = flowdb.Lodging{Flow: "f", At: 1, Epoch: flowdb.Epoch{Stored: "5", Generation: "1"}, Keep: time.Hour}

// theLodged is that member, with a lock if it has one.
func theLodged(lock string) flowdb.Member {
	m := flowdb.Member{Name: "x", Queue: "a", Record: record("f/x/@job")}
	if lock != "" {
		m.Terms.Lock = rdb.Lock{Digest: lock, Kind: rdb.UntilEnded}
	}
	return m
}

// lodgedHere stores it.
func lodgedHere(lock string) func(t *testing.T, s *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		answers, _, err := flowdb.Of(s.store).Lodge(background, theLodging, []flowdb.Member{theLodged(lock)})
		require.NoError(t, err)
		require.Equal(t, []flowdb.Answer{flowdb.Filling}, answers)
	}
}

// lodgedIn has it be in a state.
func lodgedIn(state string) func(t *testing.T, s *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		lodgedHere("")(t, s)
		if state != "held" {
			ordered(t, s, flowdb.OrderBegin, "1")
		}
		if state != "held" && state != "running" {
			s.cmd(t, "HSET", "flow:f/x", "state", state)
			s.cmd(t, "SREM", "flow.left:f/x", "@job")
		}
	}
}

// ordered gives it an order.
func ordered(t *testing.T, s *site, word, generation string) flowdb.Report {
	t.Helper()
	return orderedOf(t, s, flowdb.Order{Word: word, Epoch: flowdb.Epoch{Stored: "5", Generation: generation}})
}

func orderedOf(t *testing.T, s *site, order flowdb.Order) flowdb.Report {
	t.Helper()
	report, err := flowdb.Of(s.store).Order(background, "f/x", order)
	require.NoError(t, err)
	return report
}

// namedAway seals the flow "f", of a1, of x, which is at home in partition 1 and waits for nobody, and of b1, which
// waits for x. It was stored at that ms.
func namedAway(t *testing.T, s *site) {
	t.Helper()
	answer, _, err := flowdb.Of(s.store).Store(background, aFlow, []flowdb.Member{memberOf("a1", true),
		{Name: "x", Free: true, Queue: "a", Away: true, At: 1}, memberOf("b1", false), memberOf("@done", false)},
		[]flowdb.Edge{{From: "x", To: "b1", Rule: flowdb.RuleCancel}})
	require.NoError(t, err)
	require.Equal(t, flowdb.Filling, answer)
	s.cmd(t, "HSET", "flow:f", "created", "5")
	answer, _, err = flowdb.Of(s.store).Seal(background, aFlow, 3, nil)
	require.NoError(t, err)
	require.Equal(t, flowdb.Sealed, answer)
	_, err = flowdb.Of(s.store).Finish(background, "f")
	require.NoError(t, err)
}

func flowingAway() []transition {
	order := func(name, word, generation string, prepare func(*testing.T, *site)) transition {
		return transition{name: name, script: "flow/order", timed: true, prepare: prepare,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return flowdb.Of(store).Orders(background, []string{"f/x"}, []flowdb.Order{{Word: word, How: "done",
					Epoch: flowdb.Epoch{Stored: "5", Generation: generation}}}, []string{"a"})
			}}
	}
	hear := func(name string, report flowdb.Report) transition {
		report.Epoch = flowdb.Epoch{Stored: "5", Generation: "1"}
		return transition{name: name, script: "flow/agree", timed: true, prepare: namedAway,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return flowdb.Of(store).Hear(background, []string{"f/x"}, 1, []flowdb.Report{report})
			}}
	}
	lodge := func(name, lock string) transition {
		return transition{name: name, script: "flow/lodge", timed: true, storing: true, prepare: waiting,
			send: func(_ *site, store *rdb.Store) (any, error) {
				answers, _, err := flowdb.Of(store).Lodge(background, theLodging, []flowdb.Member{theLodged(lock)})
				return answers, err
			}}
	}
	remove := order("remove a lodged member", flowdb.OrderRemove, "1", lodgedHere("d"))
	remove.timed = false
	held := hear("hear of a member that is held", flowdb.Report{State: "held"})
	held.reads = true
	return []transition{lodge("lodge a member", ""), lodge("lodge a member with a lock", "d"),
		order("have a lodged member begin", flowdb.OrderBegin, "1", lodgedIn("held")),
		order("have a lodged member with a lock begin", flowdb.OrderBegin, "1", lodgedHere("d")),
		order("cancel a lodged member", flowdb.OrderCancel, "1", lodgedHere("d")),
		order("cancel a lodged member that runs", flowdb.OrderCancel, "1", lodgedIn("running")),
		order("hold a lodged member", flowdb.OrderHold, "2", lodgedIn("dead")),
		order("tell a lodged member that its end counts", flowdb.OrderTold, "1", lodgedIn("done")), remove,
		held,
		hear("hear of a member that runs", flowdb.Report{State: "running"}),
		hear("hear of a member that is done", flowdb.Report{State: "done", How: "done", Result: "1"}),
		hear("hear of a member that is dead", flowdb.Report{State: "dead", How: "dead"}),
		hear("hear of a member that is gone", flowdb.Report{State: "gone"}),
		{name: "remove a flow with a member elsewhere", script: "flow/remove", timed: true, once: true,
			prepare: func(t *testing.T, s *site) {
				namedAway(t, s)
				s.cmd(t, "HSET", "flow:f", "state", "done")
				s.cmd(t, "ZADD", "flows:over", 1, "f")
			},
			send: func(_ *site, store *rdb.Store) (any, error) { return flowdb.Of(store).Remove(background, "f", 0) }},
	}
}

// What comes late changes nothing: an order of a former generation, or of another flow of that id, and what has had its
// effect.
func TestALodgedMemberObeysItsOwnGeneration(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		lodgedHere("d")(t, s)
		assert.Equal(t, "held", ordered(t, s, flowdb.OrderHold, "2").State)
		assert.Equal(t, "held", ordered(t, s, flowdb.OrderBegin, "1").State, "of a former generation")
		other := flowdb.Order{Word: flowdb.OrderBegin, Epoch: flowdb.Epoch{Stored: "6", Generation: "2"}}
		report := orderedOf(t, s, other)
		assert.Equal(t, "held", report.State, "of another flow")
		report = ordered(t, s, flowdb.OrderBegin, "2")
		assert.Equal(t, "running", report.State)
		assert.True(t, report.More, "it is special")
		ordered(t, s, flowdb.OrderRemove, "2")
		assert.Equal(t, "running", ordered(t, s, flowdb.OrderTold, "2").State, "it runs")
		assert.Equal(t, "f/x/@job 0 t", string(s.cmd(t, "HGET", "unique", "d").([]byte)))
	})
}

// A member that was dead, and was retried by hand while its flow heard of that, is done: that its flow has counted the
// death does not keep it from telling so.
func TestALodgedMemberIsToldOfTheEndThatItHas(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		lodgedIn("done")(t, s)
		s.cmd(t, "ZADD", "flows:busy", 1, "f/x")
		told := flowdb.Order{Word: flowdb.OrderTold, Epoch: flowdb.Epoch{Stored: "5", Generation: "1"}, How: "dead"}
		assert.Equal(t, "done", orderedOf(t, s, told).How)
		assert.NotNil(t, s.cmd(t, "ZSCORE", "flows:busy", "f/x"), "its flow is still to hear of it")
		told.How = "done"
		orderedOf(t, s, told)
		assert.Nil(t, s.cmd(t, "ZSCORE", "flows:busy", "f/x"))
	})
}

// A flow hears of a member as often as somebody likes: its end counts once, and a report of a former generation, or of
// a member that it does not have, counts nothing.
func TestAFlowCountsTheEndOfAMemberElsewhereOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		namedAway(t, s)
		hear := func(id string, from int, stored, generation, state, how string) string {
			t.Helper()
			report := flowdb.Report{State: state, How: how, Epoch: flowdb.Epoch{Stored: stored, Generation: generation}}
			orders, err := flowdb.Of(s.store).Hear(background, []string{id}, from, []flowdb.Report{report})
			require.NoError(t, err)
			return orders[0].Word
		}
		left := func() int { return int(s.cmd(t, "SCARD", "flow.left:f").(int64)) }
		assert.Equal(t, flowdb.OrderBegin, hear("f/x", 1, "5", "1", "held", ""))
		assert.Equal(t, flowdb.OrderRemove, hear("f/x", 2, "5", "1", "done", "done"), "it is at home elsewhere")
		assert.Equal(t, flowdb.OrderRemove, hear("f/x", 1, "4", "1", "done", "done"), "it is of another flow")
		assert.Equal(t, flowdb.OrderRemove, hear("f/y", 1, "5", "1", "done", "done"), "there is no such member")
		assert.Equal(t, flowdb.OrderBegin, hear("f/x", 1, "5", "0", "done", "done"), "of a former generation")
		assert.Equal(t, 3, left())
		for range 2 {
			assert.Equal(t, flowdb.OrderTold, hear("f/x", 1, "5", "1", "done", "done"))
			assert.Equal(t, 2, left())
		}
		assert.Equal(t, flowdb.OrderTold, hear("f/x", 1, "5", "1", "dead", "dead"), "it was dead before")
		assert.Equal(t, 2, left())
		assert.Nil(t, s.cmd(t, "ZSCORE", "flow.ends:f", "x"), "it is done")
		assert.Equal(t, flowdb.OrderCancel, hear("f/x", 1, "5", "1", "held", ""), "Redis has forgotten that it has run")
		s.cmd(t, "UNLINK", "flow:f")
		assert.Equal(t, flowdb.OrderRemove, hear("f/x", 1, "5", "1", "done", "done"))
		assert.Equal(t, flowdb.OrderWait, hear("f/x", 1, "5", "1", "gone", ""))
	})
}
