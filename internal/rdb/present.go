package rdb

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/redisconn"
)

// Present returns the workers, by id, that have a heartbeat, serve all of those names, and are not on their way out:
// nobody wants them to be quiet or to stop.
func (s *Store) Present(ctx context.Context, names []string) ([]string, error) {
	ids, err := s.Registered(ctx)
	if err != nil {
		return nil, err
	}
	var calls []redisconn.Call
	for _, id := range ids {
		k := s.keys.worker(id)
		calls = append(calls, redisconn.Call{Command: "EXISTS", Args: []any{k.heart}},
			redisconn.Call{Command: "HGET", Args: []any{k.info, "wanted"}})
		for _, name := range names {
			calls = append(calls, redisconn.Call{Command: "SISMEMBER", Args: []any{k.queues, name}})
		}
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("EXISTS", values, values)
	present := slices.DeleteFunc(ids, func(string) bool {
		alive, wanted, serves := r.Number() == 1, Command(r.Text()), true
		for range names {
			serves = r.Number() == 1 && serves
		}
		return !alive || !serves || wanted == CommandQuiet || wanted == CommandStop
	})
	slices.Sort(present)
	return present, r.Err()
}
