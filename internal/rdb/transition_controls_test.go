package rdb_test

import (
	"testing"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// controlling are the orders by hand, from and to all kinds of places.
func controlling() []transition {
	stands := func(t *testing.T, s *site) {
		t.Helper()
		holding(t, s)
		s.enqueue(t, "a", "a4", "a5")
		for at, shelf := range []string{"scheduled", "retry", "morgue", "stalled"} {
			id := "on-" + shelf
			s.enqueue(t, "b", id)
			s.cmd(t, "LREM", "queue:b", 0, id)
			s.cmd(t, "ZADD", shelf, at+10, id)
			s.cmd(t, "HSET", "names", id, "b")
			s.cmd(t, "HSET", "trail", id, "past")
		}
	}
	obey := func(order func(store *rdb.Store) rdb.Order) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			obeyed, err := store.Execute(background, []rdb.Order{order(store)})
			if err != nil {
				return nil, err
			}
			return nil, obeyed[0].Err
		}
	}
	move := func(name string, from rdb.JobPlace, to rdb.Destination, timed bool) transition {
		return transition{name: "move, " + name, script: "inspect/move", prepare: stands, timed: timed,
			send: obey(func(store *rdb.Store) rdb.Order { return store.Move(from, to) })}
	}
	queued := rdb.JobPlace{ID: "a3", Queue: "a"}
	on := func(shelf rdb.Shelf, score string) rdb.JobPlace {
		return rdb.JobPlace{ID: "on-" + string(shelf), Queue: "b", Shelf: shelf, Score: score}
	}
	return []transition{
		move("stalled", queued, rdb.Destination{Shelf: rdb.ShelfStalled}, true),
		move("to the front", rdb.JobPlace{ID: "a5", Queue: "a"}, rdb.Destination{Front: true}, false),
		move("resumed", on(rdb.ShelfStalled, "13"), rdb.Destination{}, false),
		move("run now", on(rdb.ShelfScheduled, "10"), rdb.Destination{Trail: []byte("news")}, false),
		move("retried, with its lock", on(rdb.ShelfMorgue, "12"), rdb.Destination{Lock: "digest"}, false),
		move("another time", on(rdb.ShelfRetry, "11"), rdb.Destination{
			Shelf: rdb.ShelfRetry, At: 5, Trail: []byte("news"),
		}, false),
		{name: "foretell, deleted", script: "result/keep_outcome", prepare: stands,
			send: obey(func(store *rdb.Store) rdb.Order {
				return store.Flag(queued, rdb.Ending{Keep: time.Minute, Outcome: []byte("deleted")})
			})},
		{name: "foretell, details kept", script: "result/keep_outcome", prepare: stands,
			send: obey(func(store *rdb.Store) rdb.Order {
				e := rdb.Ending{State: "deleted", Keep: time.Minute}
				e.Outcome, e.Details = withDetails("deleted", "a", "a3")
				return store.Flag(queued, e)
			})},
		{name: "drop outcome", script: "result/drop_outcome", prepare: func(t *testing.T, s *site) {
			pastOf(t, s, "a1", "a2")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := store.DropOutcome(background, "a1")
			return nil, err
		}},
		{name: "again", script: "inspect/again", storing: true, timed: true, prepare: func(t *testing.T, s *site) {
			pastOf(t, s, "a1", "a2")
			s.cmd(t, "ZADD", "objects", 1, "sha")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.Again(background, again("a1", "new", "sha"))
		}},
		{name: "forget ended", script: "inspect/forget_ended", prepare: func(t *testing.T, s *site) {
			pastOf(t, s, "a1", "a2")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			_, left, err := store.ForgetEnded(background, doneOf, doneBeginning)
			return left, err
		}},
		{name: "forget queue", script: "inspect/forget_queue", prepare: func(t *testing.T, s *site) {
			s.cmd(t, "ZADD", "queues", 1, "a")
			s.cmd(t, "SADD", "ready", "a")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.ForgetQueue(background, "a", true)
		}},
		{name: "forget date", script: "inspect/forget_date", prepare: func(t *testing.T, s *site) {
			s.cmd(t, "ZADD", "doomed", 5, "a")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return nil, store.ForgetDate(background, "a", time.UnixMilli(5))
		}},
		{name: "end, in its queue", script: "job/end", prepare: stands, send: obey(func(store *rdb.Store) rdb.Order {
			return store.Remove(queued,
				rdb.Ending{State: "deleted", Belongings: rdb.Belongings{Log: true, Completion: "ends"}})
		})},
		{name: "end, on its shelf", script: "job/end", prepare: stands, send: obey(func(store *rdb.Store) rdb.Order {
			return store.Remove(on(rdb.ShelfMorgue, "12"), rdb.Ending{State: "deleted"})
		})},
	}
}

// callsOfControls has the methods that move and end jobs by hand make their calls.
func callsOfControls(store *rdb.Store) {
	queued, shelved := rdb.JobPlace{ID: "x", Queue: "a"},
		rdb.JobPlace{ID: "x", Queue: "a", Shelf: rdb.ShelfMorgue, Score: "1"}
	_, _, _ = store.ForgetEnded(background, doneOf, doneBeginning)
	_, _ = store.ForgetQueue(background, "a", true)
	_ = store.ForgetDate(background, "a", time.UnixMilli(5))
	_, _ = store.Again(background, again("x", "y", "sha"))
	for _, order := range []rdb.Order{
		store.Move(queued, rdb.Destination{Shelf: rdb.ShelfStalled}), store.Move(shelved, rdb.Destination{}),
		store.Flag(queued, rdb.Ending{State: "deleted"}),
		store.Move(shelved, rdb.Destination{Shelf: rdb.ShelfMorgue, At: 1}), store.Remove(shelved, rdb.Ending{}),
		store.Remove(queued, rdb.Ending{Belongings: rdb.Belongings{Log: true, State: true, Completion: "c",
			Objects: []string{"sha"}}}),
	} {
		_, _ = store.Execute(background, []rdb.Order{order}) // only the call counts
	}
}
