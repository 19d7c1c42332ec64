package rdb

import "context"

var purgeScript = Load("inspect/purge")

// Waiter is a job that waits in a queue.
type Waiter struct {
	ID            string
	Record, Trail []byte // nil where there is none
}

// The bounds of a look at the front of a queue: records may be large.
const (
	firstFront    = 16
	maxFrontBytes = 1 << 20
)

// FrontReader reads the front of a queue that is purged. The zero value is ready for use; one goroutine uses it.
type FrontReader struct{ count int }

// Next returns the jobs at the front of a queue, oldest first, at most so many: fewer where their records are large.
func (f *FrontReader) Next(ctx context.Context, s *Store, queue string, most int) ([]Waiter, error) {
	f.count = max(f.count, firstFront)
	n := min(f.count, most, MaxBatch)
	value, err := Do(ctx, s.driver, Call{Command: "LRANGE", Args: []any{s.keys.queue(queue).queue, -n, -1}})
	if err != nil {
		return nil, err
	}
	r := &Reader{script: "LRANGE", whole: value}
	ids := texts(r, value)
	if r.err != nil || len(ids) == 0 {
		return nil, r.err
	}
	values, err := s.many(ctx, []Call{
		{Command: "HMGET", Args: appendTexts([]any{s.keys.jobs}, ids)},
		{Command: "HMGET", Args: appendTexts([]any{s.keys.trail}, ids)},
	})
	if err != nil {
		return nil, err
	}
	records, trails := Read("HMGET", values[0]), Read("HMGET", values[1])
	front, bytes := make([]Waiter, len(ids)), 0
	for i := range ids {
		at := len(ids) - 1 - i
		front[at] = Waiter{ID: ids[i], Record: records.Bytes(), Trail: trails.Bytes()}
		bytes += len(front[at].Record) + len(front[at].Trail)
	}
	f.count = max(1, min(MaxBatch, n*maxFrontBytes/(bytes+1), 4*n))
	if records.err != nil {
		return nil, records.err
	}
	return front, trails.err
}

// Purge removes jobs, at most [MaxBatch], from the front of a queue that have nothing beside record, trail and crashes.
// It looks at so many ids there.
func (s *Store) Purge(ctx context.Context, queue string, reach int, ids []string) (Purged, error) {
	k, of := s.keys, s.keys.queue(queue)
	value, err := Do(ctx, s.driver, Call{
		Script: purgeScript,
		Keys:   []string{of.queue, k.ready, of.wake, k.jobs, k.trail, k.crashes, k.cancelled, k.claimed, k.waited},
		Args:   appendTexts([]any{queue, reach}, ids),
	})
	if err != nil {
		return Purged{}, err
	}
	r := Read("inspect/purge", value)
	return Purged{Removed: int(r.Number()), Waited: r.Texts(), Cancelled: r.Texts()}, r.err
}

// Purged is what a purge has done. Those that it has left in their queue are ended by [Store.EndResting].
type Purged struct {
	Removed   int
	Waited    []string // somebody waits for them
	Cancelled []string // they are to end as cancelled
}
