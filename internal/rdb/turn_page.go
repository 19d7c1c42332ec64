package rdb

import (
	"context"
	"slices"
	"strconv"
)

// Turns reads up to n jobs of a queue that wait by turns, in the order of their turns and behind them those that are
// parked, and moves the cursor behind them; its zero value, but for Newest, is the beginning. It is empty at the end.
func (s *Store) Turns(ctx context.Context, queue string, cursor *ShelfCursor, n int) ([]SeenJob, error) {
	t, err := s.turning(ctx)
	if err != nil || !t.has(queue) {
		return nil, err
	}
	lanes := []int64{t[queue], t[queue] + parkedFrom}
	if cursor.Newest {
		slices.Reverse(lanes)
	}
	var page []SeenJob
	for _, base := range lanes {
		switch at := int64(parseScore(cursor.Score)); {
		case len(page) == n:
			return page, nil
		case cursor.Score == "", len(page) > 0: // from its beginning
			cursor.Score, cursor.ID = strconv.FormatInt(base-1, 10), ""
			if cursor.Newest {
				cursor.Score = strconv.FormatInt(base+laneWidth, 10)
			}
		case at < base-1 || at > base+laneWidth: // it was read
			continue
		}
		part, err := s.lane(ctx, base, cursor, n-len(page))
		for i := range part {
			part[i].Queue, part[i].At = queue, 0
		}
		if page = append(page, part...); err != nil {
			return page, err
		}
		if len(page) == 0 {
			cursor.Score = ""
		}
	}
	return page, nil
}

// drawable reads up to n jobs of a queue that wait for their turn, and none that are parked.
func (s *Store) drawable(ctx context.Context, queue string, n int) ([]SeenJob, error) {
	t, err := s.turning(ctx)
	if err != nil || !t.has(queue) {
		return nil, err
	}
	return s.lane(ctx, t[queue], &ShelfCursor{Score: strconv.FormatInt(t[queue]-1, 10)}, n)
}

// lane reads up to n jobs of a lane behind the cursor.
func (s *Store) lane(ctx context.Context, base int64, cursor *ShelfCursor, n int) ([]SeenJob, error) {
	page, err := s.ShelfPage(ctx, Turns, cursor, n)
	end := slices.IndexFunc(page, func(job SeenJob) bool {
		score := int64(parseScore(job.Score))
		return score < base || score >= base+laneWidth
	})
	if end >= 0 {
		page = page[:end]
	}
	if len(page) > 0 {
		cursor.MoveTo(page[len(page)-1])
	}
	return page, err
}
