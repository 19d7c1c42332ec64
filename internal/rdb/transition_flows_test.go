package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redisconn"
)

// aFlow is how the flows of these tests are kept.
var aFlow = flowdb.Keeping{ID: "f", Digest: "d", Token: "t", Keep: time.Hour, Listed: true}

// memberOf is a member of the flow "f", whose queue is "a" unless its name begins with another letter of these tests.
func memberOf(name string, free bool) flowdb.Member {
	queue := "a"
	if name[0] == 'b' {
		queue = "b"
	}
	if name[0] == '@' {
		queue = "ends"
	}
	return flowdb.Member{Name: name, Free: free, Queue: queue, Record: record("f/" + name)}
}

// theMembers are a1, which a2 and b1 wait for; b2 waits for these two and runs even if they are dead.
func theMembers() ([]flowdb.Member, []flowdb.Edge) {
	return []flowdb.Member{memberOf("a1", true), memberOf("a2", false), memberOf("b1", false), memberOf("b2", false),
			memberOf("@done", false), memberOf("@dead", false)},
		[]flowdb.Edge{{From: "a1", To: "a2", Rule: flowdb.RuleCancel}, {From: "a1", To: "b1", Rule: flowdb.RuleHold},
			{From: "a2", To: "b2", Rule: flowdb.RuleEven}, {From: "b1", To: "b2", Rule: flowdb.RuleEven}}
}

// filled stores all of the flow.
func filled(t *testing.T, s *site) {
	t.Helper()
	members, edges := theMembers()
	answer, _, err := flowdb.Of(s.store).Store(background, aFlow, members, edges)
	require.NoError(t, err)
	require.Equal(t, flowdb.Filling, answer)
}

// sealed seals it, so that a1 waits in its queue.
func sealed(t *testing.T, s *site) {
	t.Helper()
	filled(t, s)
	answer, _, err := flowdb.Of(s.store).Seal(background, aFlow, 4, []string{"a"})
	require.NoError(t, err)
	require.Equal(t, flowdb.Sealed, answer)
}

// memberHeld has worker w1 hold a1.
func memberHeld(t *testing.T, s *site) {
	t.Helper()
	sealed(t, s)
	s.take(t, s.worker(t, "w1", "a", "b", "ends"), 1, 1, "a")
}

// part is the membership of a member.
func part(name string, queues ...string) rdb.Membership {
	return rdb.Membership{Flow: "f", Member: name, Queues: queues, Result: []byte(`"result"`)}
}

func flowing() []transition {
	settling := func(name, script string, call func(w *rdb.Worker) redisconn.Call) transition {
		send := func(_ *site, store *rdb.Store) (any, error) {
			w := store.Worker("w1")
			settled, err := w.Settle(background, []redisconn.Call{call(w)})
			if err != nil {
				return nil, err
			}
			return settled[0], settled[0].Err
		}
		return transition{name: name, script: script, prepare: memberHeld, send: send}
	}
	a1 := rdb.Claim{Queue: "a", Element: "1:f/a1"}
	ends := func(state string, queues ...string) func(w *rdb.Worker) redisconn.Call {
		return func(w *rdb.Worker) redisconn.Call {
			return w.End(a1, rdb.Ending{ID: "f/a1", Queue: "a", State: state,
				Belongings: rdb.Belongings{Flow: part("a1", queues...)}})
		}
	}
	type answer struct {
		Answer flowdb.Answer
		Detail string
	}
	members, edges := theMembers()
	store := func(_ *site, store *rdb.Store) (any, error) {
		a, detail, err := flowdb.Of(store).Store(background, aFlow, members, edges)
		return answer{a, detail}, err
	}
	advance := func(queues ...string) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) { return flowdb.Of(store).Advance(background, "f", queues) }
	}
	remove := func(unsealed time.Duration) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			return flowdb.Of(store).Remove(background, "f", unsealed)
		}
	}
	return append(specialFlowing(), []transition{
		{name: "store a flow", script: "flow/store", prepare: waiting, send: store, storing: true, timed: true},
		{name: "store a part of a flow", script: "flow/store", prepare: func(t *testing.T, s *site) {
			_, _, err := flowdb.Of(s.store).Store(background, aFlow, members[:2], edges[:1])
			require.NoError(t, err)
			s.cmd(t, "ZADD", "flows:filling", 1, "f")
		}, send: store, storing: true, timed: true},
		{name: "seal a flow", script: "flow/seal", prepare: filled, timed: true,
			send: func(_ *site, store *rdb.Store) (any, error) {
				a, detail, err := flowdb.Of(store).Seal(background, aFlow, 4, []string{"a"})
				return answer{a, detail}, err
			}},
		{name: "advance a flow", script: "flow/advance", timed: true, prepare: func(t *testing.T, s *site) {
			filled(t, s)
			_, _, err := flowdb.Of(s.store).Seal(background, aFlow, 4, nil)
			require.NoError(t, err)
		}, send: advance("a")},
		{name: "advance a flow of which nothing is left", script: "flow/advance", prepare: sealed, reads: true,
			send: advance("a")},
		{name: "remove a flow", script: "flow/remove", prepare: func(t *testing.T, s *site) {
			sealed(t, s)
			s.cmd(t, "HSET", "flow:f", "state", "done")
			s.cmd(t, "ZADD", "flows:over", 1, "f")
		}, send: remove(0)},
		{name: "remove a flow that was not sealed", script: "flow/remove", prepare: func(t *testing.T, s *site) {
			filled(t, s)
			s.cmd(t, "ZADD", "flows:filling", 1, "f")
		}, send: remove(time.Hour)},
		{name: "cancel a flow", script: "flow/cancel", timed: true, prepare: memberHeld,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return flowdb.Of(store).Cancel(background, "f", []string{"a1", "a2", "b1"}, false)
			}},
		{name: "cancel a flow to its end", script: "flow/cancel", prepare: func(t *testing.T, s *site) {
			memberHeld(t, s)
			_, err := flowdb.Of(s.store).Cancel(background, "f", []string{"a2", "b1", "b2"}, false)
			require.NoError(t, err)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return flowdb.Of(store).Cancel(background, "f", nil, true)
		}},
		{name: "pause a flow", script: "flow/pause", prepare: sealed,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return flowdb.Of(store).Pause(background, "f", true)
			}},
		adding("add a member"), adding("add a member that waits", "a1", "b1"),
		reopening(flowdb.ReopenBegin), reopening(flowdb.ReopenBack, "a1", "a2", "b1", "b2"),
		reopening(flowdb.ReopenEven, "a1\na2\ncancel", "a2\nb2\neven"),
		reopening(flowdb.ReopenSeal, "@dead", "ends\nrecord"),
		{name: "mend a flow", script: "repair/agree_flow", timed: true, prepare: func(t *testing.T, s *site) {
			sealed(t, s)
			s.cmd(t, "HDEL", "jobs", "f/a1")
			s.cmd(t, "UNLINK", "flow.unmet:f")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return flowdb.Of(store).Agree(background, "f", []string{"a1", "a2"}, true, true)
		}},
		settling("end a member", "job/end", ends("done", "a", "b")),
		settling("end a member, without a queue", "job/end", ends("done", "a")),
		settling("end a member otherwise", "job/end", ends("discarded", "a", "b", "ends")),
		settling("end members together", "job/complete", func(w *rdb.Worker) redisconn.Call {
			return w.Complete([]rdb.Ended{{Claim: a1, ID: "f/a1", State: "done", Flow: part("a1", "a", "b")}})
		}),
		settling("end members together, without a queue", "job/complete", func(w *rdb.Worker) redisconn.Call {
			return w.Complete([]rdb.Ended{{Claim: a1, ID: "f/a1", State: "done", Flow: part("a1", "a")}})
		}),
		settling("end members together, otherwise", "job/complete", func(w *rdb.Worker) redisconn.Call {
			return w.Complete([]rdb.Ended{{Claim: a1, ID: "f/a1", State: "discarded", Keep: time.Minute,
				Outcome: []byte(`{"state":"discarded"}`), Flow: part("a1", "a", "b", "ends")}})
		}),
		settling("bury a member", "job/shelve", func(w *rdb.Worker) redisconn.Call {
			return w.Shelve(rdb.Shelved{Claim: a1, Shelf: rdb.ShelfMorgue, Completion: "ends", Flow: part("a1", "b")})
		}),
	}...)
}

// adding adds a member that waits for these.
func adding(name string, after ...string) transition {
	return transition{name: name, script: "flow/add", prepare: memberHeld, storing: true, timed: true,
		send: func(_ *site, store *rdb.Store) (any, error) {
			answer, _, err := flowdb.Of(store).Add(background, flowdb.Addition{Flow: "f", By: "a1",
				Member: memberOf("b3", true), After: after})
			return answer, err
		}}
}

// reopening is a step of opening a flow again whose member a1 is dead.
func reopening(step flowdb.Reopening, named ...string) transition {
	prepare := func(t *testing.T, s *site) {
		memberHeld(t, s)
		w := s.store.Worker("w1")
		require.Empty(t, settle(t, w, w.Shelve(rdb.Shelved{Claim: rdb.Claim{Queue: "a", Element: "1:f/a1"},
			Shelf: rdb.ShelfMorgue, Flow: part("a1", "a", "b", "ends")})))
		_, err := flowdb.Of(s.store).Cancel(background, "f", []string{"b1", "b2"}, true)
		require.NoError(t, err)
		if step != flowdb.ReopenBegin {
			_, err := flowdb.Of(s.store).Reopen(background, "f", flowdb.ReopenBegin, nil)
			require.NoError(t, err)
		}
		if step == flowdb.ReopenEven {
			_, err := flowdb.Of(s.store).Reopen(background, "f", flowdb.ReopenBack, []string{"a1", "a2", "b1", "b2"})
			require.NoError(t, err)
			s.cmd(t, "ZREM", "flow.unmet:f", "b2\na2")
		}
	}
	return transition{name: "reopen a flow, " + string(step), script: "flow/reopen", prepare: prepare,
		send: func(_ *site, store *rdb.Store) (any, error) {
			return flowdb.Of(store).Reopen(background, "f", step, named)
		}}
}

// callsOfFlows has every method of flows make its call.
func callsOfFlows(r *recorder) {
	store := rdb.NewStore(r, "ns")
	ignore := func(...any) {}
	members, edges := theMembers()
	ignore(flowdb.Of(store).Store(background, aFlow, members, edges))
	ignore(flowdb.Of(store).Seal(background, aFlow, 4, []string{"a", "b"}))
	ignore(flowdb.Of(store).Advance(background, "f", []string{"a", "b"}))
	ignore(flowdb.Of(store).Advance(background, "f", []string{"\x1ea", "\x1eb"}))
	ignore(store.FreeWaiting(background, []rdb.WaitingLock{{Digest: "d", Flow: "f", Member: "x"},
		{Digest: "e", Flow: "g", Member: "y"}}))
	ignore(flowdb.Of(store).Turn(background, "f/in", true))
	ignore(flowdb.Of(store).Store(background, anInner, theInner(), nil))
	ignore(flowdb.Of(store).Remove(background, "f/in", 0))
	ignore(flowdb.Of(store).Remove(background, "f", 0))
	ignore(flowdb.Of(store).Cancel(background, "f", []string{"x"}, true))
	ignore(flowdb.Of(store).Pause(background, "f", true))
	ignore(flowdb.Of(store).Add(background, flowdb.Addition{Flow: "f", By: "x",
		Member: flowdb.Member{Name: "y", Queue: "a"}}))
	ignore(flowdb.Of(store).Reopen(background, "f", flowdb.ReopenBack, []string{"x"}))
	ignore(flowdb.Of(store).Agree(background, "f", []string{"x"}, true, true))
	ignore(flowdb.Of(store).Lodge(background, theLodging, []flowdb.Member{theLodged("")}))
	ignore(flowdb.Of(store).Orders(background, []string{"f/x"}, make([]flowdb.Order, 1), []string{"a"}))
	ignore(flowdb.Of(store).Hear(background, []string{"f/x"}, 1, make([]flowdb.Report, 1)))
}
