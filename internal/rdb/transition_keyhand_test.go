package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// seated has x2 wait with the place of its key, before x3 and x4, which are parked; y1 runs.
func seated(t *testing.T, s *site) {
	t.Helper()
	keyed("ohs")(t, s)
	w := s.store.Worker("w1")
	x1 := rdb.FetchedJob{Claim: rdb.Claim{Queue: "a", Element: "1:x1"}, ID: "x1"}
	s.end(t, w, x1)
	holding, _ := s.places(t, "x")
	require.Equal(t, []string{"x2"}, holding)
}

// handling are the transitions of people and movers, with jobs whose keys have rules.
func handling() []transition {
	order := func(name, script, id string, order func(store *rdb.Store, at rdb.JobPlace) rdb.Order) transition {
		var at rdb.JobPlace
		return transition{name: "keys, by hand, " + name, script: script, timed: script == "inspect/move",
			prepare: func(t *testing.T, s *site) {
				seated(t, s)
				at = s.stands(t, id, rdb.Turns)
			}, send: func(_ *site, store *rdb.Store) (any, error) {
				answers, err := store.Execute(background, []rdb.Order{order(store, at)})
				if err != nil {
					return nil, err
				}
				return nil, answers[0].Err // the second one finds it done
			}}
	}
	move := func(name, id string, to rdb.Destination) transition {
		return order(name, "inspect/move", id,
			func(store *rdb.Store, at rdb.JobPlace) rdb.Order { return store.Move(at, to) })
	}
	items := []rdb.MoveItem{{Kind: rdb.MoveBound, ID: "x2", Queue: "a", Key: "x"},
		{Kind: rdb.MoveBound, ID: "x3", Queue: "a", Key: "x"}, {Kind: rdb.MoveBound, ID: "y1", Queue: "a", Key: "y"}}
	coming := []rdb.Moved{
		{What: rdb.MovedJob, ID: "n1", Place: "turns", Score: "5", Queue: "a", Turn: "2 n", Holds: true, Paced: "7"},
		{What: rdb.MovedJob, ID: "x9", Place: "turns", Score: "6", Queue: "a", Turn: "1 x"},
		{What: rdb.MovedHeld, ID: "h", Queue: "a", Key: "n", Paced: "9"},
		{What: rdb.MovedGone, ID: "x2", Queue: "a", Key: "x"},
	}
	agree := func(name string, set rdb.KeySet, damage func(t *testing.T, s *site)) transition {
		return transition{name: "keys, mended, " + name, script: "repair/agree_keys",
			prepare: func(t *testing.T, s *site) {
				seated(t, s)
				damage(t, s)
			}, send: func(_ *site, store *rdb.Store) (any, error) {
				_, _, err := rdb.Mender{Store: store, Mend: true}.AgreeKeys(background, set, "")
				return nil, err
			}}
	}
	return []transition{
		agree("a place of one that is gone", rdb.KeysHolding, func(t *testing.T, s *site) {
			s.cmd(t, "ZREM", "turns", "x2")
			s.cmd(t, "HDEL", "jobs", "x2")
		}),
		agree("parked without a line", rdb.KeysParked, func(t *testing.T, s *site) { s.cmd(t, "ZREM", "turns", "x3") }),
		agree("parked, and not found", rdb.KeysLined, func(t *testing.T, s *site) { s.cmd(t, "UNLINK", "parked") }),
		agree("parked without a key", rdb.KeysLined, func(t *testing.T, s *site) {
			s.cmd(t, "UNLINK", "parked")
			s.cmd(t, "HDEL", "keyed", "x3")
		}),
		move("a place, to the morgue", "x2", rdb.Destination{Shelf: rdb.ShelfMorgue}),
		move("a place, to the back", "x2", rdb.Destination{}),
		move("parked, to the front", "x3", rdb.Destination{Front: true}),
		move("parked, stalled", "x3", rdb.Destination{Shelf: rdb.ShelfStalled}),
		order("deleted", "job/end", "x2", func(store *rdb.Store, at rdb.JobPlace) rdb.Order {
			return store.Remove(at, rdb.Ending{State: "deleted"})
		}),
		{name: "keys, purge", script: "inspect/purge", prepare: seated,
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, err := store.Purge(background, "a", 0, []string{"x2", "x3"})
				return nil, err
			}},
		{name: "keys, freeze", script: "partition/freeze", timed: true, prepare: func(t *testing.T, s *site) {
			seated(t, s)
			s.cmd(t, "HSET", "frozen", "", "9999999999998 last 0") // later than any clock
			_, err := s.store.TakeLead(background, leading)
			require.NoError(t, err)
			s.cmd(t, "ZADD", "pacing", s.now(t).Add(time.Hour).UnixMicro(), "0000\x00x")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.Freeze(background, leading, rdb.Target{Partition: 1}, items)
		}},
		{name: "keys, receive", script: "partition/receive", storing: true, prepare: func(t *testing.T, s *site) {
			seated(t, s)
			s.cmd(t, "HSET", "foreign", "x2", "1 a\x00\x00x")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.Receive(background, rdb.Reception{Source: 1, Batch: rdb.Batch{Number: 4, Name: "one"}}, coming)
		}},
		{name: "keys, hand over", script: "partition/hand_over", prepare: func(t *testing.T, s *site) {
			led(t, s)
			s.cmd(t, "HSET", "turning", "a", 0)
			s.cmd(t, "HSET", "foreign", "h", "1 a\x00\x00x")
			s.cmd(t, "ZADD", "holding", 0, "0000\x00x\x00h")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return store.HandOver(background, leading, 0, rdb.HandedOver{
				Moved:    []rdb.Moved{{What: rdb.MovedHeld, ID: "h", Queue: "a", Key: "x"}},
				Received: rdb.Received{Home: []int{0}}})
		}},
		{name: "keys, held", script: "partition/hold_keys", prepare: led,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return nil, store.HoldKeys(background, leading, rdb.Leaving{Buckets: []int{7}, Names: []string{"a"}})
			}},
		{name: "keys, held no more", script: "partition/hold_keys", prepare: func(t *testing.T, s *site) {
			led(t, s)
			s.keyRule(t, "", " 7 \x00a\x00")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return nil, store.HoldKeys(background, leading, rdb.Leaving{})
		}},
	}
}
