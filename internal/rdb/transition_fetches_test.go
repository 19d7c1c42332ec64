package rdb_test

import (
	"testing"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// withheld are fetches from queues of which no job may begin, or few: those of a full Redis go on, too.
func withheld() []transition {
	fetch := func(_ *site, store *rdb.Store) (any, error) {
		fetched, err := store.Worker("w1").
			Fetch(background, 2, 3, true, []rdb.Share{{Queue: "a", Jobs: 2}, {Queue: "b", Jobs: 1}})
		return fetched.State, err
	}
	under := func(rules ...any) func(t *testing.T, s *site) {
		return func(t *testing.T, s *site) {
			waiting(t, s)
			s.worker(t, "w1", "a", "b")
			s.cmd(t, "HSET", "limits", rules...)
			s.cmd(t, "SADD", "running:a", "ghost")
		}
	}
	paused := rdb.Rule{Paused: true}.Text()
	one := rdb.Rule{Limit: rdb.Limit{Concurrent: 1}}.Text()
	hourly := rdb.Rule{Limit: rdb.Limit{Jobs: 10, Per: time.Hour, Burst: 1}}.Text()
	broken := func(t *testing.T, s *site) {
		waiting(t, s)
		s.worker(t, "w1", "a", "b")
		s.cmd(t, "UNLINK", "queue:a", "{"+s.namespace+"}:queue:b")
		s.cmd(t, "HSET", "queue:a", "a", "no list")
	}
	return []transition{
		{name: "fetch, all are paused", script: "job/fetch", prepare: under("", paused), send: fetch},
		{name: "fetch, two are paused", script: "job/fetch", prepare: under("a", paused, "b", paused), send: fetch},
		{name: "fetch, one has no room", script: "job/fetch", prepare: under("a", one, "b", paused), send: fetch},
		{name: "fetch, a rate", script: "job/fetch", timed: true,
			prepare: under("a", hourly, "b", paused), send: fetch},
		{name: "fetch, nothing waits", script: "job/fetch",
			prepare: func(t *testing.T, s *site) { s.worker(t, "w1", "a", "b") }, send: fetch},
		{name: "fetch, a broken queue", script: "job/fetch", prepare: broken, send: fetch},
	}
}
