package rdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// cancelling are the transitions of those who cancel: of a job in each place, and of flags that belong to none.
func cancelling() []transition {
	everywhere := func(t *testing.T, s *site) {
		holding(t, s)
		s.plan(t, "b", "b2", 60_000)
		s.cmd(t, "HSET", "outcomes", "a0", `{"state":"done"}`)
	}
	flagged := func(t *testing.T, s *site) {
		everywhere(t, s)
		s.cmd(t, "SADD", "cancelled", "a1", "a3", "b2", "ghost")
		s.cmd(t, "HSET", "waited", "a3", "1")
	}
	cancelled := func(id, queue string) rdb.Ending {
		return rdb.Ending{ID: id, Queue: queue, State: "cancelled", Keep: time.Minute, Outcome: []byte("cancelled")}
	}
	resting := func(jobs ...rdb.UnheldJob) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			_, err := store.EndUnheld(background, jobs)
			return nil, err
		}
	}
	return []transition{
		{name: "cancel", script: "inspect/cancel", timed: true, prepare: everywhere,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.Cancel(background, []string{"a0", "a2", "a3", "b2", "nobody"})
			}},
		{name: "end, in a queue", script: "job/end", prepare: flagged,
			send: resting(rdb.UnheldJob{Spot: rdb.SpotQueue, Ending: cancelled("a3", "a")})},
		{name: "end, on a shelf", script: "job/end", prepare: flagged,
			send: resting(rdb.UnheldJob{Spot: rdb.Spot(rdb.ShelfScheduled), Ending: cancelled("b2", "b")})},
		{name: "foretell", script: "result/keep_outcome", prepare: flagged,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return nil, store.KeepOutcomes(background,
					[]rdb.Ending{cancelled("a3", "a"), cancelled("a1", "a"), cancelled("ghost", "a")})
			}},
		{name: "unflag", script: "repair/remove_flags", prepare: flagged,
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, _, _, err := rdb.Mender{Store: store, Mend: true}.Flags(background, "0")
				return nil, err
			}},
	}
}

// oneFlag answers SSCAN with one id, so that the script is called for it.
type oneFlag struct{ *recorder }

func (o oneFlag) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if calls[0].Command == "SSCAN" {
		return []redisconn.Reply{{Value: []any{[]byte("0"), []any{[]byte("x")}}}}, nil
	}
	return o.recorder.Pipeline(ctx, calls...)
}

// callsOfCancelling has every method of those who cancel make its call.
func callsOfCancelling(r *recorder) {
	store := rdb.NewStore(oneFlag{r}, "ns")
	ending := rdb.Ending{ID: "x", Queue: "a", State: "cancelled"}
	ignore := func(...any) {}
	ignore(store.Cancel(background, []string{"x", "y"}))
	ignore(store.EndUnheld(background,
		[]rdb.UnheldJob{{Spot: rdb.SpotQueue, Ending: ending}, {Spot: rdb.Spot(rdb.ShelfStalled), Ending: ending}}))
	ignore(store.KeepOutcomes(background, []rdb.Ending{ending}))
	ignore(rdb.Mender{Store: store}.Flags(background, "0"))
}
