package rdb

import (
	"cmp"
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var moveDueScript = redisconn.Load("job/move_due")

// Waiting is one id on a shelf.
type Waiting struct {
	ID    string
	Queue string // "" when it is not known, and the record must be asked
	Due   time.Time
}

// DueCall moves what is due and asks for the next page.
type DueCall struct {
	Move  []Waiting     // from the last page; those without Queue are removed if they have no record
	Skip  int           // ids at the head of the shelf that could not be moved
	Most  int           // ids of the page; 0 is [MaxBatch]
	Ahead time.Duration // how far the page looks ahead
	// what is due already has the time of the answer as Due: Redis then need not write all the times
	Brief bool
}

// Due is the answer: what was done, and the next page.
type Due struct {
	Time    time.Time
	Moved   int
	Stuck   []string // ids whose queue's key has a wrong type
	Removed int      // ids without record
	Page    []Waiting
	Next    time.Time // when the first one (behind the skipped) is due; zero when there is none
}

// Due moves ids that are due from a shelf to the back of their queues, and reads the next page, in one round trip.
func (s *Store) Due(ctx context.Context, shelf Shelf, call DueCall) (Due, error) {
	k := s.keys
	keys := []string{k.retry, k.names, k.ready, k.jobs, k.limits, k.turns, k.passes, k.turning, k.keyed, k.holding}
	if shelf == ShelfScheduled {
		keys[0] = k.scheduled
	}
	ids := map[string][]any{} // by queue
	var names []string
	for _, waiting := range call.Move {
		if ids[waiting.Queue] == nil && waiting.Queue != "" {
			keys = k.queue(waiting.Queue).appendTo(keys)
			names = append(names, waiting.Queue)
		}
		ids[waiting.Queue] = append(ids[waiting.Queue], waiting.ID)
	}
	most := cmp.Or(call.Most, MaxBatch)
	args := appendTexts([]any{call.Skip, most, millis(call.Ahead), call.Brief, len(names)}, names)
	for queue, name := range append([]string{""}, names...) {
		if len(ids[name]) > 0 {
			args = append(append(args, queue, len(ids[name])), ids[name]...)
		}
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: moveDueScript, Keys: keys, Args: args})
	if err != nil {
		return Due{}, err
	}
	r := redisconn.Read("job/move_due", value)
	due := Due{Time: fromMillis(r.Number()), Moved: int(r.Number()), Stuck: r.Texts(), Removed: int(r.Number())}
	part := func() *redisconn.Reader {
		list, _ := r.Next().([]any)
		return redisconn.NewReader("job/move_due", value, list)
	}
	page, queues, dues := part(), part(), part()
	for known := page.Len() - dues.Len(); page.More(); known-- {
		waiting := Waiting{ID: page.Text(), Queue: queues.Text(), Due: due.Time}
		if known <= 0 {
			waiting.Due = fromMillis(dues.Number())
		}
		due.Page = append(due.Page, waiting)
	}
	due.Next = fromMillis(r.Number())
	if err := cmp.Or(page.Err(), queues.Err(), dues.Err()); err != nil {
		return Due{}, err
	}
	return due, r.Err()
}

// Record returns the record of a job, nil when there is none.
func (s *Store) Record(ctx context.Context, id string) ([]byte, error) {
	return s.field(ctx, s.keys.jobs, id)
}

// HasRecord tells whether there is a job of that id.
func (s *Store) HasRecord(ctx context.Context, id string) (bool, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HEXISTS", Args: []any{s.keys.jobs, id}})
	return value == int64(1), err
}

// Outcome returns what was kept of a job that ended, nil when nothing was. A job that lives has none, whatever is left
// of a former one of its id, unless it is to be cancelled and its end was foretold.
func (s *Store) Outcome(ctx context.Context, id string) ([]byte, error) {
	values, err := s.many(ctx, []redisconn.Call{
		{Command: "HEXISTS", Args: []any{s.keys.jobs, id}}, // first: what is enqueued after it forgets the outcome
		{Command: "SISMEMBER", Args: []any{s.keys.cancelled, id}},
		{Command: "HGET", Args: []any{s.keys.outcomes, id}},
	})
	if err != nil || values[0] == int64(1) && values[1] != int64(1) {
		return nil, err
	}
	kept, _ := values[2].([]byte)
	return kept, nil
}

func (s *Store) field(ctx context.Context, key, id string) ([]byte, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HGET", Args: []any{key, id}})
	if err != nil {
		return nil, err
	}
	record, _ := value.([]byte)
	return record, nil
}
