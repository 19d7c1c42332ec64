package rdb

import (
	"context"
	"errors"
	"strconv"

	"github.com/265d0351/work/internal/redisconn"
)

// laneWidth is how far the turns of two queues are apart. Those of jobs that are parked come behind those of all that
// may be drawn.
const laneWidth = 1 << 42

// turning has the queues that have had jobs with keys, and where the turns of each begin.
type turning map[string]int64

func (t turning) has(queue string) bool {
	_, is := t[queue]
	return is
}

// turning reads which queues have turns.
func (s *Store) turning(ctx context.Context) (turning, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HGETALL", Args: []any{s.keys.turning}})
	var refused *redisconn.ServerError
	if errors.As(err, &refused) && refused.Code == "WRONGTYPE" { // which is for the doctor to say, and to mend
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("HGETALL", value, nil)
	words := r.TextsOf(value)
	all := make(turning, len(words)/2)
	for i := 0; i+1 < len(words); i += 2 {
		if number, err := strconv.ParseInt(words[i+1], 10, 64); err == nil {
			all[words[i]] = number * laneWidth
		}
	}
	return all, r.Err()
}

// parkedFrom is by how much the scores of parked jobs are above those of others.
const parkedFrom = MaxTurning * laneWidth

// countTurns counts the jobs of a queue that wait by turns: those that may be drawn, and those that are parked.
func (s *Store) countTurns(t turning, queue string) []redisconn.Call {
	count := func(bounds []any) redisconn.Call {
		return redisconn.Call{Command: "ZCOUNT", Args: append([]any{s.keys.turns}, bounds...)}
	}
	return []redisconn.Call{count(t.bounds(queue)), count(t.parkedBounds(queue))}
}

// bounds are those of the scores of jobs of a queue that may be drawn.
func (t turning) bounds(queue string) []any { return scoresFrom(t[queue]) }

// parkedBounds are those of the scores of its jobs that are parked.
func (t turning) parkedBounds(queue string) []any { return scoresFrom(t[queue] + parkedFrom) }

// scoresFrom are the bounds of a lane.
func scoresFrom(base int64) []any { return []any{base, "(" + strconv.FormatInt(base+laneWidth, 10)} }

// lined is how many jobs of some queues wait by turns.
func (s *Store) lined(ctx context.Context, queues []string) (total int, err error) {
	t, err := s.turning(ctx)
	if err != nil {
		return 0, err
	}
	var calls []redisconn.Call
	for _, queue := range queues {
		if t.has(queue) {
			calls = append(calls, s.countTurns(t, queue)...)
		}
	}
	counts, err := s.many(ctx, calls)
	for _, count := range counts {
		n, _ := count.(int64)
		total += int(n)
	}
	return total, err
}
