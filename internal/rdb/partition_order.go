package rdb

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

// FrontOf returns the first ids of the list of a queue, at most [MaxBatch], in the order in which they would be
// fetched.
func (s *Store) FrontOf(ctx context.Context, name string) ([]string, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "LRANGE",
		Args: []any{s.keys.queue(name).queue, -MaxBatch, -1}})
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("LRANGE", value, nil)
	ids := r.TextsOf(value)
	slices.Reverse(ids)
	return ids, r.Err()
}

// FrontTurns returns the first ids of those of a queue that wait by turns, at most [MaxBatch], in the order of their
// turns.
func (s *Store) FrontTurns(ctx context.Context, name string) ([]string, error) {
	t, err := s.turning(ctx)
	if err != nil || !t.has(name) {
		return nil, err
	}
	var page []SeenJob
	for _, base := range []int64{t[name], t[name] + parkedFrom} {
		part, err := s.lane(ctx, base, &ShelfCursor{Score: strconv.FormatInt(base-1, 10)}, MaxBatch)
		if err != nil {
			return nil, err
		}
		page = append(page, part...)
	}
	slices.SortStableFunc(page, func(a, b SeenJob) int { return cmp.Compare(passOf(a.Score), passOf(b.Score)) })
	ids := make([]string, min(len(page), MaxBatch))
	for i := range ids {
		ids[i] = page[i].ID
	}
	return ids, nil
}

// passOf is the pass of a score, whether its job may be drawn or is parked.
func passOf(score string) float64 {
	pass := parseScore(score)
	if pass >= parkedFrom {
		pass -= parkedFrom
	}
	return pass
}

// Passes returns where some jobs with keys stand in the order of their queues: what is smaller comes first among those
// of one queue. Those that have a place of their key come before all others, with -1; one that does not wait by turns
// comes behind them.
func (s *Store) Passes(ctx context.Context, items []MoveItem) (passes []float64, err error) {
	t, err := s.turning(ctx)
	if err != nil {
		return nil, err
	}
	var calls []redisconn.Call
	for batch := range slices.Chunk(items, maxExamined) {
		turns, seats := []any{s.keys.turns}, []any{s.keys.holding}
		for _, item := range batch {
			turns, seats = append(turns, item.ID), append(seats, t.of(item.Queue, item.Key, item.ID))
		}
		calls = append(calls, redisconn.Call{Command: "ZMSCORE", Args: turns},
			redisconn.Call{Command: "ZMSCORE", Args: seats})
	}
	values, err := s.many(ctx, calls)
	for i := 0; i+1 < len(values); i += 2 {
		turns, seats := redisconn.Read("ZMSCORE", values[i]), redisconn.Read("ZMSCORE", values[i+1])
		for turns.More() && seats.More() {
			switch score, seat := turns.Text(), seats.Text(); {
			case seat != "":
				passes = append(passes, -1)
			case score == "":
				passes = append(passes, math.Inf(1))
			default:
				passes = append(passes, passOf(score))
			}
		}
	}
	return passes, err
}

// Holders returns the jobs of a queue that have places of their keys.
func (s *Store) Holders(ctx context.Context, name string) (items []MoveItem, err error) {
	t, err := s.turning(ctx)
	if err != nil || !t.has(name) {
		return nil, err
	}
	number := fmt.Sprintf("%04d", t[name]/laneWidth)
	for from := "[" + number + "\x00"; ; {
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZRANGE",
			Args: []any{s.keys.holding, from, "(" + number + "\x01", "BYLEX", "LIMIT", 0, MaxBatch}})
		if err != nil {
			return nil, err
		}
		members := redisconn.NewReader("ZRANGE", value, nil).TextsOf(value)
		for _, member := range members {
			if parts := strings.SplitN(member, "\x00", 3); len(parts) == 3 {
				items = append(items, MoveItem{Kind: MoveBound, ID: parts[2], Queue: name, Key: parts[1]})
			}
		}
		if len(members) < MaxBatch {
			return items, nil
		}
		from = "(" + members[len(members)-1]
	}
}
