package rdb_test

import (
	"slices"
	"testing"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// turning are transitions of jobs that wait by turns, and have no rule, apart from those that workers send.
func turning() []transition {
	anew := again("a1", "new", "sha")
	anew.Turn = rdb.Turn{Key: "k", Weight: 2}
	byTurns := nextTick(timed)
	byTurns.Turn = anew.Turn
	return append(returning(), []transition{
		{name: "turns, again", script: "inspect/again", storing: true, timed: true,
			prepare: func(t *testing.T, s *site) {
				pastOf(t, s, "a1", "a2")
				s.cmd(t, "ZADD", "objects", 1, "sha")
				s.cmd(t, "HSET", "limits", "a", "0 2 5 1000 5")
			}, send: func(_ *site, store *rdb.Store) (any, error) { return store.Again(background, anew) }},
		{name: "turns, tick", script: "schedule/tick", prepare: timetable,
			send: func(_ *site, store *rdb.Store) (any, error) {
				answer, err := sendTick(store, byTurns)
				return answer.State, err
			}},
		{name: "turns, forget queue", script: "inspect/forget_queue", prepare: func(t *testing.T, s *site) {
			s.cmd(t, "ZADD", "queues", 1, "a")
			s.cmd(t, "HSET", "turning", "a", 0)
			s.cmd(t, "ZADD", "passes", 5, "a\x00k")
			s.cmd(t, "ZADD", "waking", 5, "0000\x00k")
		}, send: func(_ *site, store *rdb.Store) (any, error) { return store.ForgetQueue(background, "a", true) }},
		{name: "turns, a queue that is not empty", script: "inspect/forget_queue", reads: true,
			prepare: func(t *testing.T, s *site) { s.store500(t, keyedJobs("a", "x", 1, 2)) },
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.ForgetQueue(background, "a", true)
			}},
		{name: "turns, agree indexes", script: "repair/agree_indexes", timed: true,
			prepare: func(t *testing.T, s *site) {
				s.store500(t, keyedJobs("a", "x", 1, 2))
				s.cmd(t, "SREM", "ready", "a")
			}, send: func(_ *site, store *rdb.Store) (any, error) {
				_, err := rdb.Mender{Store: store, Mend: true}.AgreeIndexes(background, []string{"a"},
					func(string) bool { return false }, time.Hour)
				return nil, err
			}},
		{name: "turns, agree places", script: "repair/agree_places", prepare: func(t *testing.T, s *site) {
			s.store500(t, keyedJobs("a", "x", 1, 2))
			s.cmd(t, "HSET", "names", "x1", "a")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := rdb.Mender{Store: store, Mend: true}.AgreePlaces(background, []rdb.Named{{ID: "x1", Queue: "a"}})
			return nil, err
		}},
	}...)
}

// returning are the transitions that give a job with a key back to a queue that has no turns any more.
func returning() []transition {
	scripts := []string{"repair/return_claim", "repair/requeue_lost", "repair/agree_claim", "repair/remove_claim"}
	all := slices.DeleteFunc(append(mendingJobs(), maintaining()...), func(tr transition) bool {
		return !slices.Contains(scripts, tr.script)
	})
	for i, tr := range all {
		all[i].name = "turns, " + tr.name
		all[i].prepare = func(t *testing.T, s *site) {
			tr.prepare(t, s)
			s.cmd(t, "HSET", "keyed", "a1", "1 k", "a2", "1 k", "a3", "1 k")
		}
	}
	return all
}

// leaving are transitions of workers that go, or do not.
func leaving() []transition {
	forget := func(queues ...string) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			_, gone, err := store.Worker("w1").Forget(background, queues, "died {}")
			return gone, err
		}
	}
	return []transition{
		{name: "forget, which holds jobs", script: "worker/forget", reads: true, prepare: lapsed,
			send: forget("a", "b")},
		{name: "forget, some of its queues", script: "worker/forget", prepare: func(t *testing.T, s *site) {
			s.worker(t, "w1", "a", "b")
			s.cmd(t, "SMOVE", "workers", s.key("dead"), "w1")
		}, send: forget("a")},
		{name: "declare dead, which lives", script: "worker/declare_dead", timed: true,
			prepare: func(t *testing.T, s *site) {
				s.worker(t, "w1", "a")
				s.worker(t, "w2", "a")
				s.cmd(t, "PEXPIRE", "worker:w1", time.Hour.Milliseconds())
			}, send: func(_ *site, store *rdb.Store) (any, error) {
				return store.Worker("w2").DeclareDead(background, 0, "w1")
			}},
		{name: "settled, noted again", script: "worker/note_settled", prepare: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "lanes", "l", "5 1600000000000")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return noted(store, rdb.LaneCall{Lane: "l", Number: 7, Known: 5})
		}},
	}
}
