package rdb

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/redisconn"
)

var serveScript = redisconn.Load("worker/serve")

// Serving is a change of what a registered worker serves.
type Serving struct {
	Add   []string
	Leave []string // a queue of which the worker holds jobs is not left
}

// Serve changes which queues the worker serves, and returns those that it does not leave, since it holds jobs of them.
// number is of the same series as those of its fetches and at least the last one; each call uses one more. After an
// error the worker surveys: so no call that was given up lands later. One that was cut off half-way may be repeated.
func (w *Worker) Serve(ctx context.Context, number func() int64, change Serving) (State, []string, error) {
	before := w.remembers()
	var calls []redisconn.Call
	for len(change.Add)+len(change.Leave) > 0 {
		leave := min(len(change.Leave), MaxBatch)
		add := min(len(change.Add), MaxBatch-leave)
		keys := append(make([]string, 0, 5+leave), w.keys.info, w.store.keys.workers, w.keys.queues,
			w.store.keys.queues, w.store.keys.served)
		for _, queue := range change.Leave[:leave] {
			keys = append(keys, w.keys.inprocess(queue))
		}
		args := appendTexts(appendTexts([]any{w.ID, number(), before.reached}, change.Leave[:leave]), change.Add[:add])
		calls = append(calls, redisconn.Call{Script: serveScript, Keys: keys, Args: args})
		change.Leave, change.Add = change.Leave[leave:], change.Add[add:]
	}
	values, err := w.store.many(ctx, calls)
	if err != nil {
		return "", nil, err
	}
	var stay []string
	for _, value := range values {
		r := redisconn.Read("worker/serve", value)
		state := State(r.Text())
		if state == Rewound {
			w.compare(before, r.Number())
			return state, nil, r.Err()
		}
		stay = append(stay, r.Texts()...)
		if state != Registered || r.Err() != nil {
			return state, stay, r.Err()
		}
	}
	return Registered, stay, nil
}

// NeverServed returns those of the names that no worker has served in the last 90 days, in one round trip.
func (s *Store) NeverServed(ctx context.Context, names []string) (never []string, err error) {
	var calls []redisconn.Call
	for part := range slices.Chunk(names, MaxBatch) {
		calls = append(calls, redisconn.Call{Command: "ZMSCORE", Args: appendTexts([]any{s.keys.served}, part)})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		r := redisconn.Read("ZMSCORE", value)
		for _, name := range names[i*MaxBatch : min(len(names), (i+1)*MaxBatch)] {
			if r.Next() == nil {
				never = append(never, name)
			}
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return never, nil
}

// LastServed returns up to so many of the names that workers have served, the last ones.
func (s *Store) LastServed(ctx context.Context, most int) ([]string, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZREVRANGE",
		Args: []any{s.keys.served, 0, most - 1}})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read("ZREVRANGE", value)
	names := slices.DeleteFunc(r.TextsOf(value), needs.Some) // the name is there as well
	return names, r.Err()
}
