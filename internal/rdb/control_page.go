package rdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// SeenJob is a job on a shelf or in a queue as a page of it told.
type SeenJob struct {
	JobPlace
	At            int64  // ms: the score of a shelf
	Record, Trail []byte // Record is nil where there is none
	Flagged       bool   // it is to end as cancelled
}

// QueuePage reads up to n ids of a queue, from the given one on, counted from its back.
func (s *Store) QueuePage(ctx context.Context, queue string, from, n int) ([]SeenJob, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "LRANGE",
		Args: []any{s.keys.queue(queue).queue, from, from + n - 1}})
	if err != nil || value == nil {
		return nil, err
	}
	r := redisconn.Read("LRANGE", value)
	var page []SeenJob
	for r.More() {
		page = append(page, SeenJob{JobPlace: JobPlace{ID: r.Text(), Queue: queue}})
	}
	return page, r.Err()
}

// NextPage is how many jobs to read after a page of so many, which had so many bytes: what one reply brings stays near
// a megabyte.
func NextPage(size, bytes int) int {
	switch {
	case bytes > 1<<20:
		return max(2, size/4)
	case bytes < 1<<18:
		return min(MaxBatch, 2*size)
	}
	return size
}

// Describe reads records, trails, names and flags of a page, and returns Redis' clock and about how many bytes they
// had.
func (s *Store) Describe(ctx context.Context, page []SeenJob) (now int64, bytes int, err error) {
	return s.describe(ctx, page, true, true)
}

// Skim is Describe without the names of jobs on a shelf, and without trails but where they are wanted. In a hash of
// millions each look is a way through the main memory, so that this is half of the cost.
func (s *Store) Skim(ctx context.Context, page []SeenJob, trails bool) (now int64, bytes int, err error) {
	return s.describe(ctx, page, trails, false)
}

// describe fills in the page in place. The reads go out together but are no transaction: a job may move between them,
// so whoever acts on it names where it was seen.
func (s *Store) describe(ctx context.Context, page []SeenJob, withTrails, withNames bool) (now int64, bytes int,
	err error) {
	k := s.keys
	ids := make([]any, 0, len(page))
	for _, entry := range page {
		ids = append(ids, entry.ID)
	}
	of := func(command, key string) redisconn.Call {
		return redisconn.Call{Command: command, Args: append([]any{key}, ids...)}
	}
	calls := []redisconn.Call{of("HMGET", k.jobs), of("SMISMEMBER", k.cancelled), {Command: "TIME"}}
	if withTrails {
		calls = append(calls, of("HMGET", k.trail))
	}
	if withNames {
		calls = append(calls, of("HMGET", k.names))
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return 0, 0, err
	}
	all := redisconn.NewReader("HMGET", values, values)
	records, flags, clock := all.List(), all.List(), all.List()
	for i := range page {
		page[i].Record, page[i].Flagged = records.Bytes(), flags.Number() == 1
		bytes += len(page[i].Record)
	}
	if withTrails {
		trails := all.List()
		for i := range page {
			page[i].Trail = trails.Bytes()
			bytes += len(page[i].Trail)
		}
	}
	if withNames {
		names := all.List()
		for i := range page {
			if name := names.Text(); page[i].Shelf != "" {
				page[i].Queue = name
			}
		}
	}
	seconds, micros := clock.Number(), clock.Number()
	return seconds*1000 + micros/1000, bytes, all.Err()
}

// Length is how many jobs are on a shelf, or in a queue where shelf is "".
func (s *Store) Length(ctx context.Context, queue string, shelf Shelf) (int, error) {
	command := "ZCARD"
	if shelf == "" {
		command = "LLEN"
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: command, Args: []any{s.placeKey(queue, shelf)}})
	n, _ := value.(int64)
	if err != nil || shelf != "" {
		return int(n), err
	}
	turning, err := s.turning(ctx)
	if err != nil || !turning.has(queue) {
		return int(n), err
	}
	counts, err := s.numbers(ctx, s.countTurns(turning, queue))
	if err != nil {
		return 0, err
	}
	return int(n) + counts[0] + counts[1], nil
}

// Overdue reads the oldest jobs of the morgue, at most n: those that are more than it may hold, or if there are none
// those that have been there for too long.
func (s *Store) Overdue(ctx context.Context, limit int, retention time.Duration, n int) ([]SeenJob, error) {
	held, err := s.Length(ctx, "", ShelfMorgue)
	if err != nil {
		return nil, err
	}
	call := redisconn.Call{Command: "ZRANGE", Args: []any{s.keys.morgue, 0, min(held-limit, n) - 1, "WITHSCORES"}}
	if held <= limit {
		now, err := s.Time(ctx)
		if err != nil {
			return nil, err
		}
		until := now.Add(-retention).UnixMilli()
		call = redisconn.Call{Command: "ZRANGEBYSCORE",
			Args: []any{s.keys.morgue, "-inf", until, "WITHSCORES", "LIMIT", 0, n}}
	}
	value, err := redisconn.Do(ctx, s.driver, call)
	if err != nil {
		return nil, err
	}
	return parseShelf(ShelfMorgue, value)
}
