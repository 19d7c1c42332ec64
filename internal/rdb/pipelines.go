package rdb

import (
	"context"
	"slices"
)

// How many calls are sent together. What is done for thousands of names takes a few round trips then, and Redis serves
// others in between: it reads what a client sends in parts of 16 KiB.
const (
	maxPipeline = 64    // whose answers may be long, or of scripts that work through hundreds of ids
	maxBrief    = 2_000 // whose answers are a word, a number or an id
)

// pipelines makes calls, so many in one round trip, and returns all answers, refusals as well.
func (s *Store) pipelines(ctx context.Context, most int, calls []Call) ([]Reply, error) {
	all := make([]Reply, 0, len(calls))
	for lot := range slices.Chunk(calls, most) {
		replies, err := s.driver.Pipeline(ctx, lot...)
		if err != nil {
			return nil, err
		}
		all = append(all, replies...)
	}
	return all, nil
}
