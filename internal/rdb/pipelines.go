package rdb

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/redisconn"
)

// How many calls are sent together. What is done for thousands of names takes a few round trips then, and Redis serves
// others in between: it reads what a client sends in parts of 16 KiB.
const (
	maxPipeline = 64    // whose answers may be long, or of scripts that work through hundreds of ids
	maxBrief    = 2_000 // whose answers are a word, a number or an id
)

// pipelines makes calls, so many in one round trip, and returns all answers, refusals as well.
func (s *Store) pipelines(ctx context.Context, most int, calls []redisconn.Call) ([]redisconn.Reply, error) {
	all := make([]redisconn.Reply, 0, len(calls))
	for batch := range slices.Chunk(calls, most) {
		replies, err := s.driver.Pipeline(ctx, batch...)
		if err != nil {
			return nil, err
		}
		all = append(all, replies...)
	}
	return all, nil
}

// many makes calls in pipelines and returns their answers; the first refusal is an error.
func (s *Store) many(ctx context.Context, calls []redisconn.Call) ([]any, error) {
	return s.values(ctx, maxPipeline, calls)
}

// brief is many for calls with short answers: those about thousands of names take a few round trips.
func (s *Store) brief(ctx context.Context, calls []redisconn.Call) ([]any, error) {
	return s.values(ctx, maxBrief, calls)
}

// values makes reads in pipelines of so many calls at the most: see redisconn.Values.
func (s *Store) values(ctx context.Context, most int, calls []redisconn.Call) ([]any, error) {
	replies, err := s.pipelines(ctx, most, calls)
	if err != nil {
		return nil, err
	}
	return redisconn.Values(replies)
}

// MaxBatch is how many ids one script handles at the most, so that none holds Redis for more than a few milliseconds.
const MaxBatch = 500

// MaxOlder is how many older jobs a call that releases others may name, and among how many in front of the queue it
// looks for them. With all of them it holds Redis for about a millisecond more.
const MaxOlder = 1_000

func (s *Store) numbers(ctx context.Context, calls []redisconn.Call) ([]int, error) {
	values, err := s.brief(ctx, calls)
	if err != nil {
		return nil, err
	}
	numbers := make([]int, len(values))
	for i, value := range values {
		n, _ := value.(int64)
		numbers[i] = int(n)
	}
	return numbers, nil
}
