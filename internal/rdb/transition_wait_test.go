package rdb_test

import (
	"testing"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// awaiting are the scripts for those who wait for jobs.
func awaiting() []transition {
	return []transition{
		{name: "await", script: "result/await", timed: true, prepare: func(t *testing.T, s *site) {
			waiting(t, s)
			s.cmd(t, "HSET", "outcomes", "old", "result")
			s.cmd(t, "ZADD", "morgue", 1, "a2")
			s.cmd(t, "HSET", "trail", "a2", "news")
			s.cmd(t, "SADD", "cancelled", "a3")
			s.cmd(t, "HSET", "waited", "old", 1)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.Await(background, []string{"a1", "a2", "a3", "old", "nobody"}, time.Minute)
		}},
		{name: "unwait", script: "result/stop_waiting", prepare: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "waited", "a1", 1, "a2", "99999999999999", "a3", "odd")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.ForgetWaiters(background, "")
		}},
		{name: "collect", script: "result/collect", timed: true, prepare: func(t *testing.T, s *site) {
			s.cmd(t, "LPUSH", "completion:c", "done a1", "dead a2")
			s.cmd(t, "HSET", "lanes", "reader", "6 1 done a0")
		}, send: func(_ *site, store *rdb.Store) (any, error) { return store.Collect(background, "c", "reader", 7) }},
	}
}

// callsOfAwaiting makes the calls of awaiting.
func callsOfAwaiting(r *recorder) {
	store := rdb.NewStore(r, "ns")
	ignore := func(...any) {}
	ignore(store.Await(background, []string{"x", "y"}, time.Minute))
	ignore(store.Collect(background, "c", "lane", 1))
	ignore(rdb.NewStore(&oneLane{recorder: r}, "ns").ForgetWaiters(background, ""))
}
