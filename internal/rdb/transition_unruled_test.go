package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// lined has x1 to x3 wait by turns in queue a, whose list is empty, and whose keys have no rule: what scripts look at
// only for those that have one they may still use.
func lined(t *testing.T, s *site) {
	t.Helper()
	s.store500(t, keyedJobs("a", "x", 1, 3))
	s.cmd(t, "RPUSH", "log:x2", "# 1", "1 {}")
	s.cmd(t, "ZADD", "pacing", s.now(t).Add(time.Hour).UnixMicro(), "0000\x00x")
	s.cmd(t, "UNLINK", "wake:a")
}

// withoutRules are transitions of jobs that have keys, and of queues with such jobs, where no key has a rule.
func withoutRules() []transition {
	end := func(spot rdb.Spot, id, queue string) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			_, err := store.EndUnheld(background, []rdb.UnheldJob{{Spot: spot, Ending: rdb.Ending{ID: id, Queue: queue,
				State:      "deleted",
				Belongings: rdb.Belongings{Log: true, Completion: "ends", Objects: []string{"sha"}}}}})
			return nil, err
		}
	}
	coming := []rdb.Moved{
		{What: rdb.MovedJob, ID: "y", Place: "queue", Queue: "a", Record: []byte("ry")},
		{What: rdb.MovedJob, ID: "n1", Place: "turns", Score: "5", Queue: "a", Record: []byte("rn"), Turn: "2 n",
			Paced: "7"},
		{What: rdb.MovedHeld, ID: "h", Queue: "a", Key: "n", Paced: "9"},
	}
	paused := rdb.Rule{Paused: true}.Text()
	return []transition{
		{name: "unruled, freeze", script: "partition/freeze", timed: true, prepare: func(t *testing.T, s *site) {
			lined(t, s)
			s.enqueue(t, "a", "a1")
			s.cmd(t, "HSET", "frozen", "", "9999999999998 last 0") // later than any clock
			_, err := s.store.TakeLead(background, leading)
			require.NoError(t, err)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.Freeze(background, leading, rdb.Target{Partition: 1}, []rdb.MoveItem{
				{Kind: rdb.MoveBound, ID: "a1", Queue: "a"}, {Kind: rdb.MoveBound, ID: "x2", Queue: "a", Key: "x"}})
		}},
		{name: "unruled, receive", script: "partition/receive", storing: true, prepare: lined,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.Receive(background, rdb.Reception{Source: 1, Batch: rdb.Batch{Number: 4, Name: "one"}},
					coming)
			}},
		{name: "unruled, end by turns", script: "job/end", prepare: lined, send: end("turns", "x2", "a")},
		{name: "unruled, end of the last in a list", script: "job/end", prepare: func(t *testing.T, s *site) {
			s.enqueue(t, "b", "b1")
			s.cmd(t, "HSET", "turning", "b", "0")
			s.cmd(t, "SADD", "object:sha:jobs", "b1")
		}, send: end(rdb.SpotQueue, "b1", "b")},
		{name: "unruled, purge", script: "inspect/purge", prepare: lined,
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, err := store.Purge(background, "a", 0, []string{"x2", "x3"})
				return nil, err
			}},
		{name: "unruled, a limit", script: "limit/define", prepare: func(t *testing.T, s *site) {
			lined(t, s)
			s.cmd(t, "HSET", "limits", "a", paused)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.SetRule(background, "a", paused, "", false)
		}},
		{name: "unruled, resume", script: "limit/pause", prepare: func(t *testing.T, s *site) {
			lined(t, s)
			s.cmd(t, "HSET", "limits", "a", paused)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			answers, err := store.SetPauses(background, []rdb.Pause{{Name: "a"}})
			if err != nil {
				return nil, err
			}
			return answers, answers[0].Err
		}},
		{name: "register, beside a newer layout", script: "worker/register", timed: true,
			prepare: func(t *testing.T, s *site) { s.cmd(t, "SET", "layout", "999999 1") },
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, epoch, err := store.Worker("w3").Register(background,
					rdb.Registration{Life: time.Minute, Epoch: "epoch-3", Queues: []string{"a"}})
				return epoch, err
			}},
	}
}
