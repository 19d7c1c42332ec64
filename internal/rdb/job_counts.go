package rdb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// JobCounts is how many jobs are where. Its numbers are each right by themselves, and of moments right after each
// other.
type JobCounts struct {
	Time                                               time.Time
	Queued, Claimed, Scheduled, Retry, Stalled, Morgue int
	Queues                                             int
}

// JobCounts counts. It asks for the lengths of those queues only that have jobs.
func (s *Store) JobCounts(ctx context.Context) (JobCounts, error) {
	ready, err := s.Members(ctx, "ready")
	if err != nil {
		return JobCounts{}, err
	}
	slices.Sort(ready)
	ready = slices.Compact(ready) // SSCAN may tell of one twice
	k := s.keys
	keys := []string{k.claimed, k.scheduled, k.retry, k.stalled, k.morgue, k.queues, k.turns}
	calls := make([]redisconn.Call, 0, len(keys)+1+len(ready))
	for _, key := range keys {
		command := "ZCARD"
		if key == k.claimed {
			command = "HLEN"
		}
		calls = append(calls, redisconn.Call{Command: command, Args: []any{key}})
	}
	calls = append(calls, redisconn.Call{Command: "TIME"})
	for _, name := range ready {
		calls = append(calls, redisconn.Call{Command: "LLEN", Args: []any{k.queue(name).queue}})
	}
	replies, err := s.pipelines(ctx, maxBrief, calls)
	if err != nil {
		return JobCounts{}, err
	}
	c := JobCounts{}
	for i, into := range []*int{&c.Claimed, &c.Scheduled, &c.Retry, &c.Stalled, &c.Morgue, &c.Queues, &c.Queued} {
		if replies[i].Err != nil {
			return JobCounts{}, fmt.Errorf("%s cannot be counted: %w", keys[i], replies[i].Err)
		}
		n, _ := replies[i].Value.(int64)
		*into = int(n)
	}
	clock := redisconn.Read("TIME", replies[len(keys)].Value)
	c.Time = clock.Clock()
	for _, reply := range replies[len(keys)+1:] { // one of a wrong type holds no job
		n, _ := reply.Value.(int64)
		c.Queued += int(n)
	}
	return c, clock.Err()
}

// Waiting is how many jobs wait in each queue that has some.
func (s *Store) Waiting(ctx context.Context) ([]int, error) {
	ready, err := s.Members(ctx, "ready")
	if err != nil {
		return nil, err
	}
	turning, err := s.turning(ctx) // what is parked is in no queue that is ready
	if err != nil {
		return nil, err
	}
	ready = slices.AppendSeq(ready, maps.Keys(turning))
	slices.Sort(ready)
	tips, err := s.QueueHeads(ctx, slices.Compact(ready))
	lengths := make([]int, len(tips))
	for i, tip := range tips {
		lengths[i] = tip.Length
	}
	return lengths, err
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
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZSCORE", Args: []any{s.keys.queues, name}})
	if err != nil || value == nil {
		return time.Time{}, false, err
	}
	score, _ := value.([]byte)
	return fromMillis(int64(parseScore(string(score)))), true, nil
}

// QueueHead is the front of a queue.
type QueueHead struct {
	Length int
	Parked int    // of them: by turns, and their keys have no room for them
	Keys   int    // with jobs that wait for their turn, about: those behind whose turns the queue is
	First  string // id of the job that is to run next; "" where there is none
	Err    error  // with which Redis refused to tell
}

// QueueHeads looks at the fronts of queues, one that is broken among them included.
func (s *Store) QueueHeads(ctx context.Context, names []string) ([]QueueHead, error) {
	calls := make([]redisconn.Call, 0, 2*len(names))
	for _, name := range names {
		key := s.keys.queue(name).queue
		calls = append(calls, redisconn.Call{Command: "LLEN", Args: []any{key}},
			redisconn.Call{Command: "LINDEX", Args: []any{key, -1}})
	}
	replies, err := s.pipelines(ctx, maxBrief, calls)
	if err != nil {
		return nil, err
	}
	turning, err := s.turning(ctx)
	if err != nil {
		return nil, err
	}
	tips := make([]QueueHead, len(names))
	for i := range tips {
		length, first := replies[2*i], replies[2*i+1]
		n, _ := length.Value.(int64)
		id, _ := first.Value.([]byte)
		tips[i] = QueueHead{Length: int(n), First: string(id), Err: length.Err}
	}
	return tips, s.addTurns(ctx, turning, names, tips)
}

// addTurns adds to the heads of queues what waits there by turns, and which of these comes first where the list of the
// queue is empty.
func (s *Store) addTurns(ctx context.Context, t turning, names []string, heads []QueueHead) error {
	var of []*QueueHead
	var bases []int64
	var calls []redisconn.Call
	for i, name := range names {
		if t.has(name) {
			of = append(of, &heads[i])
			calls = append(calls, s.countTurns(t, name)...)
			for _, bounds := range [][]any{t.bounds(name), t.parkedBounds(name)} {
				calls = append(calls, redisconn.Call{Command: "ZRANGEBYSCORE",
					Args: append(append([]any{s.keys.turns}, bounds...), "LIMIT", 0, 1)})
			}
			calls = append(calls, redisconn.Call{Command: "ZSCORE", Args: []any{s.keys.passes, name + "\x00"}})
			bases = append(bases, t[name])
		}
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return err
	}
	for i, head := range of {
		r := redisconn.Read("turns", values[5*i:5*i+5])
		drawable, parked := int(r.Number()), int(r.Number())
		head.Length, head.Parked = head.Length+drawable+parked, parked
		for range 2 { // those that are parked run behind the others
			if first := r.Texts(); len(first) > 0 && head.First == "" {
				head.First = first[0]
			}
		}
		bases[i] = max(bases[i], int64(parseScore(r.Text())))
		if r.Err() != nil {
			return r.Err()
		}
	}
	return s.addKeys(ctx, of, bases)
}

// addKeys adds to the heads of queues how many keys have turns behind the pass that was served last.
func (s *Store) addKeys(ctx context.Context, of []*QueueHead, served []int64) error {
	calls := make([]redisconn.Call, len(of))
	for i, pass := range served {
		calls[i] = redisconn.Call{Command: "ZCOUNT", Args: []any{s.keys.passes,
			"(" + strconv.FormatInt(pass, 10), "(" + strconv.FormatInt((pass/laneWidth+1)*laneWidth, 10)}}
	}
	values, err := s.many(ctx, calls)
	for i, value := range values {
		n, _ := value.(int64)
		of[i].Keys = int(n)
	}
	return err
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
	calls := make([]redisconn.Call, len(ids))
	for i, id := range ids {
		calls[i] = redisconn.Call{Command: "SMEMBERS", Args: []any{s.keys.worker(id).queues}}
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	byQueue := map[string]int{}
	r := redisconn.NewReader("SMEMBERS", values, values)
	for r.More() {
		for _, name := range r.Texts() {
			byQueue[name]++
		}
	}
	return byQueue, r.Err()
}

var listOverdueScript = redisconn.Load("worker/list_overdue")

// Lateness is what the deadlines of all workers say.
type Lateness struct {
	Overdue    []string // ids that should have beaten again by now
	Registered int      // how many are registered
	Listed     int      // how many have a deadline; other versions of this program write none
	Dead       int      // how many are being taken apart
}

// OverdueWorkers returns which workers should have beaten again by now, at most so many. So does one whose deadline is
// further ahead than any heartbeat lasts. One that is named is not dead for that: see DeclareDead.
func (s *Store) OverdueWorkers(ctx context.Context, ahead time.Duration, most int) (Lateness, error) {
	k := s.keys
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{
		Script: listOverdueScript, Keys: []string{k.deadlines, k.workers, k.dead}, Args: []any{millis(ahead), most},
	})
	if err != nil {
		return Lateness{}, err
	}
	r := redisconn.Read(listOverdueScript.Name, value)
	late := Lateness{Overdue: r.Texts(), Registered: int(r.Number()), Listed: int(r.Number()), Dead: int(r.Number())}
	return late, r.Err()
}

// Unlisted returns the workers that are registered and have no deadline.
func (s *Store) Unlisted(ctx context.Context) ([]string, error) {
	replies, err := s.driver.Pipeline(ctx,
		redisconn.Call{Command: "SMEMBERS", Args: []any{s.keys.workers}},
		redisconn.Call{Command: "ZRANGE", Args: []any{s.keys.deadlines, 0, -1}})
	if err != nil {
		return nil, err
	}
	if replies[0].Err != nil {
		return nil, replies[0].Err
	}
	listed := map[string]bool{}
	r := redisconn.NewReader("SMEMBERS", nil, nil)
	if replies[1].Err == nil { // of another type it lists nobody
		for _, id := range r.TextsOf(replies[1].Value) {
			listed[id] = true
		}
	}
	unlisted := slices.DeleteFunc(r.TextsOf(replies[0].Value), func(id string) bool { return listed[id] })
	return unlisted, r.Err()
}
