package rdb

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

// OnItsWay returns to which partition each of these jobs is on its way: those that are frozen here, so that they stand
// in no other place. Of those that it does not name nothing is known here. Who asks partitions one beside the other may
// meet a job in none, where it was handed over in between: while something is being moved it asks all of them twice.
func (s *Store) OnItsWay(ctx context.Context, ids []string) (map[string]int, error) {
	var calls []redisconn.Call
	for batch := range slices.Chunk(ids, MaxBatch) {
		calls = append(calls, redisconn.Call{Command: "HMGET", Args: appendTexts([]any{s.keys.frozen}, batch)})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	targets := map[string]int{}
	for i, value := range values {
		r := redisconn.Read("HMGET", value)
		for _, id := range ids[i*MaxBatch : min(len(ids), (i+1)*MaxBatch)] {
			target, _, frozen := strings.Cut(r.Text(), " ")
			if to, err := strconv.Atoi(target); frozen && err == nil {
				targets[id] = to
			}
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return targets, nil
}
