package rdb

import (
	"context"

	"github.com/265d0351/work/internal/redisconn"
)

// EndedJob is a job that has ended, and what is kept of it.
type EndedJob struct {
	ID, Score        string // Score is ms of its end, as Redis writes it
	Details, Outcome []byte // nil where there are none
}

// EndedPage reads up to n jobs of a shelf behind the cursor, in the order of their ends, and moves the cursor behind
// them, like [Store.ShelfPage].
func (s *Store) EndedPage(ctx context.Context, of EndedShelf, cursor *ShelfCursor, n int) ([]SeenJob, error) {
	key, _ := s.keys.ended(of.State, of.Name)
	page, err := s.shelfPage(ctx, key, "", cursor, n)
	for i := range page {
		page[i].Queue = of.Name
	}
	return page, err
}

// EndedCounts counts the jobs of shelves.
func (s *Store) EndedCounts(ctx context.Context, of []EndedShelf) ([]int, error) {
	calls := make([]redisconn.Call, len(of))
	for i, shelf := range of {
		key, _ := s.keys.ended(shelf.State, shelf.Name)
		calls[i] = redisconn.Call{Command: "ZCARD", Args: []any{key}}
	}
	return s.numbers(ctx, calls)
}

// Ended reads what is kept of jobs of a shelf: their details, and their outcomes if these are wanted. It also tells how
// many bytes that were.
func (s *Store) Ended(ctx context.Context, of EndedShelf, ids []string, outcomes bool) (jobs []EndedJob, now int64,
	bytes int, err error) {
	_, details := s.keys.ended(of.State, of.Name)
	calls := []redisconn.Call{{Command: "TIME"},
		{Command: "HMGET", Args: appendTexts([]any{details}, ids)}}
	if outcomes {
		calls = append(calls, redisconn.Call{Command: "HMGET", Args: appendTexts([]any{s.keys.outcomes}, ids)})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, 0, 0, err
	}
	all := redisconn.NewReader("HMGET", values, values)
	clock, texts := all.List(), all.List()
	now = clock.Number()*1000 + clock.Number()/1000
	jobs = make([]EndedJob, len(ids))
	for i := range jobs {
		jobs[i] = EndedJob{ID: ids[i], Details: texts.Bytes()}
		bytes += len(jobs[i].Details)
	}
	if outcomes {
		kept := all.List()
		for i := range jobs {
			jobs[i].Outcome = kept.Bytes()
			bytes += len(jobs[i].Outcome)
		}
	}
	return jobs, now, bytes, all.Err()
}
