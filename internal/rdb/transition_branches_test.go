package rdb_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redisconn"
)

// a1OfFlow is the claim of member a1.
var a1OfFlow = rdb.Claim{Queue: "a", Element: "1:f/a1"}

// settledAs has a member of the flow "f" end so while worker w1 holds it.
func settledAs(t *testing.T, s *site, state string) {
	t.Helper()
	w := s.store.Worker("w1")
	settle(t, w, w.End(a1OfFlow, rdb.Ending{ID: "f/a1", Queue: "a", State: state,
		Belongings: rdb.Belongings{Flow: part("a1")}}))
}

// ofFlows are branches of the scripts of flows that flowing does not take.
func ofFlows() []transition {
	ending := func(name string, prepare func(*testing.T, *site), part rdb.Membership) transition {
		return transition{name: name, script: "job/complete", timed: true, prepare: prepare,
			send: func(_ *site, store *rdb.Store) (any, error) {
				w := store.Worker("w1")
				settled, err := w.Settle(background, []redisconn.Call{
					w.Complete([]rdb.Ended{{Claim: a1OfFlow, ID: "f/a1", State: "done", Flow: part}})})
				if err != nil {
					return nil, err
				}
				return settled[0], settled[0].Err
			}}
	}
	plain := part("a1", "a", "ends")
	plain.Result = nil
	reopen := func(name string, step flowdb.Reopening, named []string, prepare func(*testing.T, *site)) transition {
		return transition{name: name, script: "flow/reopen", timed: true, prepare: prepare,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return flowdb.Of(store).Reopen(background, "f", step, named)
			}}
	}
	seal := func(name string, of flowdb.Keeping, prepare func(*testing.T, *site)) transition {
		return transition{name: name, script: "flow/seal", timed: true, prepare: prepare,
			send: func(_ *site, store *rdb.Store) (any, error) {
				answer, _, err := flowdb.Of(store).Seal(background, of, 1, []string{"a"})
				return answer, err
			}}
	}
	free := reopen("reopen a flow, free", flowdb.ReopenFree, []string{"a1\n0 f 0 d1 0 ", "a2"},
		func(t *testing.T, s *site) {
			specialSealed(t, s)
			flows := flowdb.Of(s.store)
			_, err := flows.Cancel(background, "f", []string{"a1", "a2", "b1", "b2"}, true)
			require.NoError(t, err)
			for _, step := range []flowdb.Reopening{flowdb.ReopenBegin, flowdb.ReopenBack} {
				_, err := flows.Reopen(background, "f", step, []string{"a1", "a2"})
				require.NoError(t, err)
			}
		})
	free.once = true // sent twice, it notes a member twice, which is put into its queue once
	return []transition{free,
		ending("end a member of a flow without edges", freeHeld("a1", "a2"), plain),
		ending("end the last member of a flow", freeHeld("a1"), plain),
		ending("end the last member of a flow, without its queue", freeHeld("a1"),
			rdb.Membership{Flow: "f", Member: "a1"}),
		ending("end a member of a flow that is paused", func(t *testing.T, s *site) {
			memberHeld(t, s)
			_, err := flowdb.Of(s.store).Pause(background, "f", true)
			require.NoError(t, err)
		}, plain),
		ending("end a member of a flow that is cancelled", func(t *testing.T, s *site) {
			memberHeld(t, s)
			_, err := flowdb.Of(s.store).Cancel(background, "f", []string{"a2"}, false)
			require.NoError(t, err)
		}, plain),
		ending("end a member that was dead", func(t *testing.T, s *site) {
			memberHeld(t, s)
			s.cmd(t, "SREM", "flow.left:f", "a1")
			s.cmd(t, "ZADD", "flow.ends:f", 1, "a1")
		}, part("a1", "a", "b")),
		{name: "let a flow go on", script: "flow/pause", timed: true, prepare: func(t *testing.T, s *site) {
			memberHeld(t, s)
			_, err := flowdb.Of(s.store).Pause(background, "f", true)
			require.NoError(t, err)
			settledAs(t, s, "done")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return flowdb.Of(store).Pause(background, "f", false)
		}},
		{name: "advance a flow to its end", script: "flow/advance", timed: true, prepare: func(t *testing.T, s *site) {
			freeHeld("a1")(t, s)
			settledAs(t, s, "done")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return flowdb.Of(store).Advance(background, "f", []string{"ends"})
		}},
		{name: "add a member behind one that has ended", script: "flow/add", storing: true, timed: true,
			prepare: func(t *testing.T, s *site) {
				memberHeld(t, s)
				s.cmd(t, "SREM", "flow.left:f", "a2")
				s.cmd(t, "ZADD", "flow.ends:f", 2, "a2")
			}, send: func(_ *site, store *rdb.Store) (any, error) {
				answer, _, err := flowdb.Of(store).Add(background, flowdb.Addition{Flow: "f", By: "a1",
					Member: memberOf("b3", true), After: []string{"a2"}})
				return answer, err
			}},
		seal("seal a flow of one member", aFlow, func(t *testing.T, s *site) { freeFilled(t, s, "a1") }),
		reopen("reopen a flow, back, with a key", flowdb.ReopenBack, []string{"a1"}, func(t *testing.T, s *site) {
			reopening(flowdb.ReopenBack).prepare(t, s)
			s.cmd(t, "HSET", "keyed", "f/a1", "1 x")
			s.cmd(t, "HSET", "turning", "a", 0)
			s.cmd(t, "HSET", "keyrules", "a", "1 1 - - - - -")
			s.cmd(t, "ZADD", "holding", 0, "0000\x00x\x00f/a1")
			s.cmd(t, "ZADD", "turns", 1<<52, "p")
			s.cmd(t, "ZADD", "parked", 0, "0000\x00x\x000000000000000000\x00p")
		}),
	}
}

// freeFilled stores a flow whose members wait for nobody.
func freeFilled(t *testing.T, s *site, names ...string) {
	t.Helper()
	members := []flowdb.Member{memberOf("@done", false)}
	for _, name := range names {
		members = append(members, memberOf(name, true))
	}
	answer, _, err := flowdb.Of(s.store).Store(background, aFlow, members, nil)
	require.NoError(t, err)
	require.Equal(t, flowdb.Filling, answer)
}

// freeHeld has worker w1 hold a1 of such a flow.
func freeHeld(names ...string) func(t *testing.T, s *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		freeFilled(t, s, names...)
		answer, _, err := flowdb.Of(s.store).Seal(background, aFlow, len(names), []string{"a"})
		require.NoError(t, err)
		require.Equal(t, flowdb.Sealed, answer)
		w := s.worker(t, "w1", "a", "ends")
		fetched, err := w.Fetch(background, 1, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
		require.NoError(t, err)
		require.Equal(t, "f/a1", fetched.Jobs[0].ID)
	}
}

// ofLongJobs are branches of the scripts of long jobs, and of restores and moves, that others do not take.
func ofLongJobs() []transition {
	logged := func(name string, lines ...any) transition {
		return transition{name: name, script: "job/log", storing: true, prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "RPUSH", "log:a2", lines...)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return sendLog(store, rdb.LogBatch{Claim: rdb.Claim{Queue: "a", Element: "1:a2"}, ID: "a2", Number: 2,
				Lines: [][]byte{[]byte("x"), []byte("y")}})
		}}
	}
	long := "1 " + strings.Repeat("x", rdb.MaxLogBytes-10)
	mailed := func(of string) func(*testing.T, *site) {
		return func(t *testing.T, s *site) {
			holding(t, s)
			if of == "" {
				of = rdb.RecordDigest([]byte(text(s.cmd(t, "HGET", "jobs", "a2"))))
			}
			s.cmd(t, "RPUSH", "mail:a2", of+" 10", "5 other\x001")
		}
	}
	return []transition{
		logged("log, more", "# 2 3 1 w1 1", "1 z"),
		logged("log, too much", "# 3 262146 1 w1 1", long, "2 z"),
		logged("log, in place of another", "# 2 "+"262144"+" 1 w1 1", long),
		{name: "steps, more", script: "job/step", storing: true, send: writeSteps,
			prepare: func(t *testing.T, s *site) {
				holding(t, s)
				s.cmd(t, "HSET", "steps:a2", "", digest+" 10", "one", "done 1 2 int\n3")
			}},
		{name: "a wait in place of an earlier job's", script: "job/receive", timed: true, send: askWait(time.Hour),
			prepare: func(t *testing.T, s *site) {
				holding(t, s)
				s.cmd(t, "HSET", "steps:a2", "", "other 10", "mail", "wait 1")
			}},
		{name: "a message, sent after another", script: "job/send", timed: true, storing: true, send: sendTo("a2"),
			prepare: mailed("")},
		{name: "a message, sent in place of an earlier job's", script: "job/send", timed: true, send: sendTo("a2"),
			prepare: mailed("other")},
		{name: "restore, of what waits", script: "job/restore", timed: true, prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.plan(t, "b", "b2", 60_000)
			s.cmd(t, "HSET", "limits", "a", "0 2 - - -")
			s.cmd(t, "HSET", "unique", "d2", "b2 0 s", "d3", "a3 0 t")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, _, err := store.Worker("w1").Restore(background, 4, 1, []rdb.Held{
				{Claim: rdb.Claim{Queue: "a", Element: "4:a3"}, ID: "a3", Record: record("a3"), Trail: []byte("{}"),
					Lock: "d3", Kind: rdb.UntilEnded},
				{Claim: rdb.Claim{Queue: "b", Element: "4:b2"}, ID: "b2", Record: record("b2"), Lock: "d2",
					Kind: "-"},
			})
			return nil, err
		}},
	}
}
