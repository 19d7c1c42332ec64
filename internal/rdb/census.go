package rdb

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Census is how many jobs are where. Its numbers are each right by themselves, and of moments right after each other.
type Census struct {
	Time                                               time.Time
	Queued, Claimed, Scheduled, Retry, Stalled, Morgue int
	Queues                                             int
}

// Census counts. It asks for the lengths of those queues only that have jobs.
func (s *Store) Census(ctx context.Context) (Census, error) {
	ready, err := s.Members(ctx, "ready")
	if err != nil {
		return Census{}, err
	}
	slices.Sort(ready)
	ready = slices.Compact(ready) // SSCAN may tell of one twice
	k := s.keys
	keys := []string{k.claimed, k.scheduled, k.retry, k.stalled, k.morgue, k.queues}
	calls := make([]Call, 0, len(keys)+1+len(ready))
	for _, key := range keys {
		command := "ZCARD"
		if key == k.claimed {
			command = "HLEN"
		}
		calls = append(calls, Call{Command: command, Args: []any{key}})
	}
	calls = append(calls, Call{Command: "TIME"})
	for _, name := range ready {
		calls = append(calls, Call{Command: "LLEN", Args: []any{k.queue(name).queue}})
	}
	replies, err := s.pipelines(ctx, maxBrief, calls)
	if err != nil {
		return Census{}, err
	}
	c := Census{}
	for i, into := range []*int{&c.Claimed, &c.Scheduled, &c.Retry, &c.Stalled, &c.Morgue, &c.Queues} {
		if replies[i].Err != nil {
			return Census{}, fmt.Errorf("%s cannot be counted: %w", keys[i], replies[i].Err)
		}
		n, _ := replies[i].Value.(int64)
		*into = int(n)
	}
	clock := Read("TIME", replies[len(keys)].Value)
	c.Time = clock.Clock()
	for _, reply := range replies[len(keys)+1:] { // one of a wrong type holds no job
		n, _ := reply.Value.(int64)
		c.Queued += int(n)
	}
	return c, clock.err
}

// Waiting is how many jobs wait in each queue that has some.
func (s *Store) Waiting(ctx context.Context) ([]int, error) {
	ready, err := s.Members(ctx, "ready")
	if err != nil {
		return nil, err
	}
	slices.Sort(ready)
	tips, err := s.Tips(ctx, slices.Compact(ready))
	lengths := make([]int, len(tips))
	for i, tip := range tips {
		lengths[i] = tip.Length
	}
	return lengths, err
}

// Clock reads what TIME answers.
func (r *Reader) Clock() time.Time {
	seconds, micros := r.Number(), r.Number()
	return time.UnixMicro(seconds*1_000_000 + micros)
}

// QueueNames returns the names of all queues, with when each was last seen with jobs or a worker.
func (s *Store) QueueNames(ctx context.Context) (map[string]time.Time, error) {
	names := map[string]time.Time{}
	err := s.Walk(ctx, Key{Name: "queues", Type: "zset"}, func(page []Field) error {
		for _, field := range page {
			names[field.Name] = fromMillis(int64(parseScore(string(field.Value))))
		}
		return nil
	})
	return names, err
}

// QueueSeen is when a queue was last seen with jobs or a worker. It is false for a name that is no queue.
func (s *Store) QueueSeen(ctx context.Context, name string) (time.Time, bool, error) {
	value, err := Do(ctx, s.driver, Call{Command: "ZSCORE", Args: []any{s.keys.queues, name}})
	if err != nil || value == nil {
		return time.Time{}, false, err
	}
	score, _ := value.([]byte)
	return fromMillis(int64(parseScore(string(score)))), true, nil
}

// Tip is the front of a queue.
type Tip struct {
	Length int
	First  string // id of the job that is to run next; "" where there is none
	Err    error  // with which Redis refused to tell
}

// Tips looks at the fronts of queues, one that is broken among them included.
func (s *Store) Tips(ctx context.Context, names []string) ([]Tip, error) {
	calls := make([]Call, 0, 2*len(names))
	for _, name := range names {
		key := s.keys.queue(name).queue
		calls = append(calls, Call{Command: "LLEN", Args: []any{key}}, Call{Command: "LINDEX", Args: []any{key, -1}})
	}
	replies, err := s.pipelines(ctx, maxBrief, calls)
	if err != nil {
		return nil, err
	}
	tips := make([]Tip, len(names))
	for i := range tips {
		length, first := replies[2*i], replies[2*i+1]
		n, _ := length.Value.(int64)
		id, _ := first.Value.([]byte)
		tips[i] = Tip{Length: int(n), First: string(id), Err: length.Err}
	}
	return tips, nil
}

// Serving returns how many workers with a heartbeat serve each queue.
func (s *Store) Serving(ctx context.Context) (map[string]int, error) {
	ids, err := s.Registered(ctx)
	if err != nil {
		return nil, err
	}
	alive, err := s.Alive(ctx, ids)
	if err != nil {
		return nil, err
	}
	return s.ServedBy(ctx, slices.DeleteFunc(ids, func(id string) bool { return !alive[id] }))
}

// ServedBy returns how many of the workers serve each queue.
func (s *Store) ServedBy(ctx context.Context, ids []string) (map[string]int, error) {
	calls := make([]Call, len(ids))
	for i, id := range ids {
		calls[i] = Call{Command: "SMEMBERS", Args: []any{s.keys.worker(id).queues}}
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	byQueue := map[string]int{}
	r := &Reader{script: "SMEMBERS", whole: values, rest: values}
	for r.More() {
		for _, name := range r.Texts() {
			byQueue[name]++
		}
	}
	return byQueue, r.err
}
