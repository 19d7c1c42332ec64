package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// keyed lets worker w1 hold x1 and y1 of queue a, whose keys have one place each, by the rule of that order; x2 to x4
// are parked.
func keyed(order string) func(t *testing.T, s *site) {
	return func(t *testing.T, s *site) {
		s.keyRule(t, "a", "1 1 - - - "+order+" -")
		s.store500(t, keyedJobs("a", "x", 1, 4))
		s.store500(t, keyedJobs("a", "y", 1, 1))
		w := s.worker(t, "w1", "a")
		ids, _ := s.bring(t, w, 1, 10)
		require.ElementsMatch(t, []string{"x1", "y1"}, ids)
	}
}

// rationed lets the rate of a key be used up, with a second job that waits for it.
func rationed(t *testing.T, s *site) {
	t.Helper()
	s.keyRule(t, "a", "1 - 1 3600000 1 - -")
	s.store500(t, keyedJobs("a", "x", 1, 3))
	ids, _ := s.bring(t, s.worker(t, "w1", "a"), 1, 10)
	require.Equal(t, []string{"x1"}, ids)
}

// keying are the transitions of jobs whose keys have rules.
func keying() []transition {
	x1 := rdb.Claim{Queue: "a", Element: "1:x1"}
	settling := func(name, script, order string, call func(w *rdb.Worker) redisconn.Call) transition {
		return transition{name: "keys, " + name, script: script, prepare: keyed(order),
			send: func(_ *site, store *rdb.Store) (any, error) {
				w := store.Worker("w1")
				settled, err := w.Settle(background, []redisconn.Call{call(w)})
				if err != nil {
					return nil, err
				}
				return settled[0], settled[0].Err
			}}
	}
	shelving := func(name, order string, shelf rdb.Shelf) transition {
		return settling(name, "job/shelve", order, func(w *rdb.Worker) redisconn.Call {
			return w.Shelve(rdb.Shelved{Claim: x1, Shelf: shelf, Delay: time.Hour, Keyed: true})
		})
	}
	fetch := func(number int64) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			fetched, err := store.Worker("w1").
				Fetch(background, number, 10, true, []rdb.Share{{Queue: "a", Jobs: 10}})
			return fetched.State, err
		}
	}
	front := keyedJobs("a", "f", 1, 1)
	front[0].Place = rdb.Front
	return []transition{
		settling("complete", "job/complete", "-", func(w *rdb.Worker) redisconn.Call {
			return w.Complete([]rdb.Ended{{Claim: x1, ID: "x1", Keyed: true}})
		}),
		settling("end", "job/end", "-", func(w *rdb.Worker) redisconn.Call {
			return w.End(x1, rdb.Ending{ID: "x1", Queue: "a", State: "done", Belongings: rdb.Belongings{Log: true}})
		}),
		shelving("retry, unordered", "-", rdb.ShelfRetry), shelving("retry, ordered", "ohg", rdb.ShelfRetry),
		shelving("morgue, going on", "ohg", rdb.ShelfMorgue), shelving("morgue, stopping", "ohs", rdb.ShelfMorgue),
		settling("release", "job/release", "ohg", func(w *rdb.Worker) redisconn.Call {
			return w.Release(rdb.Released{Queue: "a", Elements: []string{"1:x1"}})
		}),
		{name: "keys, fetch", script: "job/fetch", prepare: func(t *testing.T, s *site) {
			keyed("-")(t, s)
			s.store500(t, keyedJobs("a", "z", 1, 3))
		}, send: fetch(2)},
		{name: "keys, fetch, too early for a rate", script: "job/fetch", prepare: rationed, send: fetch(2)},
		{name: "keys, fetch, a rate that has room again", script: "job/fetch", prepare: func(t *testing.T, s *site) {
			rationed(t, s)
			s.keyRule(t, "a", "2 - 1 1 1 - -")
			s.cmd(t, "ZADD", "waking", 1, "0000\x00x")
			s.cmd(t, "ZADD", "pacing", 1, "0000\x00x")
		}, send: fetch(2)},
		{name: "keys, wake", script: "job/wake", prepare: func(t *testing.T, s *site) {
			rationed(t, s)
			s.cmd(t, "UNLINK", "wake:a")
		}, send: func(_ *site, store *rdb.Store) (any, error) { return nil, store.Wake(background, []string{"a"}) }},
		{name: "keys, due, one that holds its key", script: "job/move_due", prepare: func(t *testing.T, s *site) {
			keyed("ohg")(t, s)
			w := s.store.Worker("w1")
			_, err := w.Settle(background, []redisconn.Call{w.Shelve(rdb.Shelved{Claim: x1, Shelf: rdb.ShelfRetry,
				Delay: time.Millisecond, Keyed: true})})
			require.NoError(t, err)
			s.pass(t, 5*time.Millisecond)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := store.Due(background, rdb.ShelfRetry,
				rdb.DueCall{Move: []rdb.Waiting{{ID: "x1", Queue: "a"}}})
			return nil, err
		}},
		{name: "keys, restore", script: "job/restore", timed: true, prepare: func(t *testing.T, s *site) {
			keyed("ohg")(t, s)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, _, err := store.Worker("w1").Restore(background, 4, 1, []rdb.Held{
				{Claim: rdb.Claim{Queue: "a", Element: "2:x3"}, ID: "x3", Record: []byte(`{"jid":"x3","name":"a"}`),
					Turn: rdb.Turn{Key: "x"}},
				{Claim: rdb.Claim{Queue: "b", Element: "3:n1"}, ID: "n1", Record: []byte("{}"),
					Turn: rdb.Turn{Key: "n"}},
			})
			return nil, err
		}},
		{name: "keys, enqueue at the front", script: "job/enqueue_mixed", prepare: func(*testing.T, *site) {},
			send: func(_ *site, store *rdb.Store) (any, error) { return store.Enqueue(background, "lane", 7, front) }},
		{name: "keys, rule", script: "limit/define_keys", prepare: keyed("-"),
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.SetKeyRule(background, rdb.KeyRuleOf{Queue: "a"}, "1 1 - - - - -", "2 2 - - - - -")
			}},
		{name: "keys, first rule", script: "limit/define_keys", prepare: func(t *testing.T, s *site) {
			s.store500(t, keyedJobs("a", "x", 1, 4))
			_, jobs := s.bring(t, s.worker(t, "w1", "a"), 1, 3)
			require.Len(t, jobs, 3)
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.SetKeyRule(background, rdb.KeyRuleOf{Queue: "a"}, "", "2 2 - - - - -")
		}},
		{name: "keys, places of what runs", script: "limit/seat", prepare: func(t *testing.T, s *site) {
			keyed("-")(t, s)
			s.cmd(t, "UNLINK", "holding")
		}, send: func(_ *site, store *rdb.Store) (any, error) { return nil, store.SeatRunning(background) }},
		{name: "keys, rule of one key, taken away", script: "limit/define_keys", prepare: func(t *testing.T, s *site) {
			s.keyRule(t, "a\x00x", "1 1 - - - - -")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.SetKeyRule(background, rdb.KeyRuleOf{Queue: "a", Key: "x"}, "1 1 - - - - -", "")
		}},
		{name: "keys, places by a new rule", script: "limit/grant", prepare: func(t *testing.T, s *site) {
			keyed("-")(t, s)
			s.keyRule(t, "a", "1 3 - - - - -")
		}, send: func(_ *site, store *rdb.Store) (any, error) { return nil, store.GrantParked(background, "a", "") }},
		{name: "keys, a rate by a new rule", script: "limit/grant", prepare: func(t *testing.T, s *site) {
			keyed("-")(t, s)
			s.keyRule(t, "a", "1 - 1 3600000 1 - -")
			s.cmd(t, "ZADD", "pacing", s.now(t).Add(time.Hour).UnixMicro(), "0000\x00x")
		}, send: func(_ *site, store *rdb.Store) (any, error) { return nil, store.GrantParked(background, "a", "") }},
	}
}
