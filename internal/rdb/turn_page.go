package rdb

import (
	"context"
	"math"
	"strconv"
)

// Turns reads up to n jobs of a queue that wait by turns, in the order of their turns, and moves the cursor behind
// them; its zero value, but for Newest, is the beginning. It is empty at the end.
func (s *Store) Turns(ctx context.Context, queue string, cursor *ShelfCursor, n int) ([]SeenJob, error) {
	t, err := s.turning(ctx)
	if err != nil || !t.has(queue) {
		return nil, err
	}
	from, to := float64(t[queue]), float64(t[queue]+laneWidth)
	if cursor.Score == "" {
		start := t[queue] - 1
		if cursor.Newest {
			start = t[queue] + laneWidth
		}
		cursor.Score = strconv.FormatInt(start, 10)
	}
	page, err := s.ShelfPage(ctx, Turns, cursor, n)
	for i := range page {
		page[i].Queue, page[i].At = queue, 0
		if score := parseScore(page[i].Score); score < from || score >= to || math.IsNaN(score) {
			return page[:i], err
		}
	}
	return page, err
}
