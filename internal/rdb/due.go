package rdb

import (
	"context"
	"time"
)

var dueScript = Load("due")

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
	Ahead time.Duration // how far the page looks ahead
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
	keys := []string{k.retry, k.names, k.ready, k.jobs, k.limits}
	if shelf == ShelfScheduled {
		keys[0] = k.scheduled
	}
	indices := map[string]int{"": 0}
	var names, pairs []any
	for _, waiting := range call.Move {
		queue, known := indices[waiting.Queue]
		if !known {
			keys = k.queue(waiting.Queue).appendTo(keys)
			names = append(names, waiting.Queue)
			queue = len(names)
			indices[waiting.Queue] = queue
		}
		pairs = append(pairs, queue, waiting.ID)
	}
	args := append([]any{call.Skip, MaxBatch, millis(call.Ahead), len(names)}, names...)
	value, err := Do(ctx, s.driver, Call{Script: dueScript, Keys: keys, Args: append(args, pairs...)})
	if err != nil {
		return Due{}, err
	}
	r := Read("due", value)
	due := Due{Time: fromMillis(r.Number()), Moved: int(r.Number()), Stuck: r.Texts(), Removed: int(r.Number())}
	list, _ := r.Next().([]any)
	page := &Reader{script: "due", whole: value, rest: list}
	for page.More() {
		id, at, queue := page.Text(), page.Number(), page.Text()
		due.Page = append(due.Page, Waiting{ID: id, Queue: queue, Due: fromMillis(at)})
	}
	due.Next = fromMillis(r.Number())
	if page.err != nil {
		return Due{}, page.err
	}
	return due, r.err
}

// Record returns the record of a job, nil when there is none.
func (s *Store) Record(ctx context.Context, id string) ([]byte, error) {
	return s.field(ctx, s.keys.jobs, id)
}

// Outcome returns what was kept of a job that ended, nil when nothing was.
func (s *Store) Outcome(ctx context.Context, id string) ([]byte, error) {
	return s.field(ctx, s.keys.outcomes, id)
}

func (s *Store) field(ctx context.Context, key, id string) ([]byte, error) {
	value, err := Do(ctx, s.driver, Call{Command: "HGET", Args: []any{key, id}})
	if err != nil {
		return nil, err
	}
	record, _ := value.([]byte)
	return record, nil
}
