package rdb

import (
	"context"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var serveScript = redisconn.Load("worker/serve")

// Serving is a change of what a registered worker serves.
type Serving struct {
	Add   []string
	Leave []string // a queue of which the worker holds jobs is not left
}

// Serve changes which queues the worker serves, and returns those that it does not leave, since it holds jobs of them.
// number is of the same series as those of its fetches and at least the last one; each call uses one more. After an
// error the worker surveys: so no call that was given up lands later. One that was cut off half-way may be repeated.
func (w *Worker) Serve(ctx context.Context, number func() int64, change Serving) (State, []string, error) {
	var calls []redisconn.Call
	for len(change.Add)+len(change.Leave) > 0 {
		leave := min(len(change.Leave), MaxBatch)
		add := min(len(change.Add), MaxBatch-leave)
		keys := append(make([]string, 0, 5+leave), w.keys.info, w.store.keys.workers, w.keys.queues,
			w.store.keys.queues, w.store.keys.served)
		for _, queue := range change.Leave[:leave] {
			keys = append(keys, w.keys.inprocess(queue))
		}
		args := appendTexts(appendTexts([]any{w.ID, number()}, change.Leave[:leave]), change.Add[:add])
		calls = append(calls, redisconn.Call{Script: serveScript, Keys: keys, Args: args})
		change.Leave, change.Add = change.Leave[leave:], change.Add[add:]
	}
	values, err := w.store.many(ctx, calls)
	if err != nil {
		return "", nil, err
	}
	var stay []string
	for _, value := range values {
		r := redisconn.Read("worker/serve", value)
		state := State(r.Text())
		stay = append(stay, r.Texts()...)
		if state != Registered || r.Err() != nil {
			return state, stay, r.Err()
		}
	}
	return Registered, stay, nil
}

// NeverServed returns those of the names that no worker has served in the last 90 days, in one round trip.
func (s *Store) NeverServed(ctx context.Context, names []string) (never []string, err error) {
	var calls []redisconn.Call
	for part := range slices.Chunk(names, MaxBatch) {
		calls = append(calls, redisconn.Call{Command: "ZMSCORE", Args: appendTexts([]any{s.keys.served}, part)})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		r := redisconn.Read("ZMSCORE", value)
		for _, name := range names[i*MaxBatch : min(len(names), (i+1)*MaxBatch)] {
			if r.Next() == nil {
				never = append(never, name)
			}
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return never, nil
}

// LastServed returns up to so many of the names that workers have served, the last ones.
func (s *Store) LastServed(ctx context.Context, most int) ([]string, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZREVRANGE",
		Args: []any{s.keys.served, 0, most - 1}})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read("ZREVRANGE", value)
	names := r.TextsOf(value)
	return names, r.Err()
}

var restoreScript = redisconn.Load("job/restore")

// Held is a job that a worker holds, with what it needs to be known again.
type Held struct {
	Claim
	ID     string
	Record []byte
	Trail  []byte // nil when nothing happened to it yet
	Lock   string // digest of the lock that it owns; "" for none
	Kind   LockKind
}

// Restore stores jobs that the worker holds in a Redis that has lost its data: at most [MaxBatch], and about 1 MiB of
// records. number is that of the worker's last fetch. It returns how many Redis did not know.
func (w *Worker) Restore(ctx context.Context, number int64, jobs []Held) (int, error) {
	k := w.store.keys
	keys := []string{w.keys.info, k.workers, k.jobs, k.claimed, k.trail, k.unique, k.limits}
	indices := map[string]int{}
	var names, rest []any
	for _, job := range jobs {
		queue, known := indices[job.Queue]
		if !known {
			keys = append(keys, w.keys.inprocess(job.Queue), k.queue(job.Queue).running)
			names = append(names, job.Queue)
			queue = len(names)
			indices[job.Queue] = queue
		}
		n, _, _ := strings.Cut(job.Element, ":")
		rest = append(rest, queue, job.ID, job.Element, n, job.Record, job.Trail, job.Lock, string(job.Kind))
	}
	args := append([]any{w.ID, number, len(names)}, names...)
	value, err := redisconn.Do(ctx, w.store.driver,
		redisconn.Call{Script: restoreScript, Keys: keys, Args: append(args, rest...)})
	if err != nil {
		return 0, err
	}
	n, _ := value.(int64)
	return int(n), nil
}
