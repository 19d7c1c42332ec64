package rdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var purgeScript = redisconn.Load("inspect/purge")

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
type FrontReader struct {
	ByTurns bool // it reads those that wait by turns, instead of the list

	count int
}

// Next returns the jobs at the front of a queue, oldest first, at most so many: fewer where their records are large.
func (f *FrontReader) Next(ctx context.Context, s *Store, queue string, most int) ([]Waiter, error) {
	f.count = max(f.count, firstFront)
	n := min(f.count, most, MaxBatch)
	ids, err := f.ids(ctx, s, queue, n)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	values, err := s.many(ctx, []redisconn.Call{
		{Command: "HMGET", Args: appendTexts([]any{s.keys.jobs}, ids)},
		{Command: "HMGET", Args: appendTexts([]any{s.keys.trail}, ids)},
	})
	if err != nil {
		return nil, err
	}
	records, trails := redisconn.Read("HMGET", values[0]), redisconn.Read("HMGET", values[1])
	front, bytes := make([]Waiter, len(ids)), 0
	for i := range ids {
		at := len(ids) - 1 - i
		front[at] = Waiter{ID: ids[i], Record: records.Bytes(), Trail: trails.Bytes()}
		bytes += len(front[at].Record) + len(front[at].Trail)
	}
	f.count = max(1, min(MaxBatch, n*maxFrontBytes/(bytes+1), 4*n))
	if records.Err() != nil {
		return nil, records.Err()
	}
	return front, trails.Err()
}

// ids are those that come first, the first one last.
func (f *FrontReader) ids(ctx context.Context, s *Store, queue string, n int) ([]string, error) {
	if !f.ByTurns {
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "LRANGE",
			Args: []any{s.keys.queue(queue).queue, -n, -1}})
		if err != nil {
			return nil, err
		}
		r := redisconn.NewReader("LRANGE", value, nil)
		ids := r.TextsOf(value)
		return ids, r.Err()
	}
	page, err := s.drawable(ctx, queue, n)
	ids := make([]string, len(page))
	for i := range page {
		ids[len(page)-1-i] = page[i].ID
	}
	return ids, err
}

// Purge removes jobs, at most [MaxBatch], from the front of a queue that have nothing beside record, trail and crashes.
// It looks at so many ids there; 0 is for those that wait by turns.
func (s *Store) Purge(ctx context.Context, queue string, reach int, ids []string) (Purged, error) {
	k, of := s.keys, s.keys.queue(queue)
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{
		Script: purgeScript,
		Keys: k.lines([]string{of.queue, k.ready, of.wake, k.jobs, k.trail, k.crashes, k.cancelled, k.claimed,
			k.waited}),
		Args: appendTexts([]any{queue, reach}, ids),
	})
	if err != nil {
		return Purged{}, err
	}
	r := redisconn.Read("inspect/purge", value)
	return Purged{Removed: int(r.Number()), Waited: r.Texts(), Cancelled: r.Texts()}, r.Err()
}

// Purged is what a purge has done. Those that it has left in their queue are ended by [Store.EndUnheld].
type Purged struct {
	Removed   int
	Waited    []string // somebody waits for them
	Cancelled []string // they are to end as cancelled
}

// Erase removes these keys, whatever is in them, and returns how many there were. Redis frees their memory in another
// thread.
func (s *Store) Erase(ctx context.Context, keys []Key) (int, error) {
	erased := 0
	for len(keys) > 0 {
		n := min(len(keys), MaxBatch)
		names := make([]any, n)
		for i, key := range keys[:n] {
			names[i] = s.FullName(key.Name)
		}
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "UNLINK", Args: names})
		if err != nil {
			return erased, err
		}
		count, _ := value.(int64)
		erased += int(count)
		keys = keys[n:]
	}
	return erased, nil
}

// CPU is the processor time that Redis says it has used since it started, 0 where it does not say: the embedded one,
// and managed ones that hide it.
func (s *Store) CPU(ctx context.Context) (time.Duration, error) {
	replies, err := s.driver.Pipeline(ctx, redisconn.Call{Command: "INFO", Args: []any{"cpu"}})
	if err != nil {
		return 0, err
	}
	text, _ := replies[0].Value.([]byte)
	return info(redisconn.ParseInfo(text)).cpu(), nil
}
