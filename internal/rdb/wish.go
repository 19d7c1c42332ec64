package rdb

import (
	"context"
	"strings"
)

var wantScript = Load("worker/want")

// Wish is what somebody wants of a worker.
type Wish string

// The wishes. A heartbeat brings the first three as Wanted.
const (
	WishPause  Wish = "pause"
	WishQuiet  Wish = "quiet"
	WishStop   Wish = "stop"
	WishResume Wish = "resume"
	WishPing   Wish = "ping"
)

// workerHint is how the message on the control channel begins that says that something is wanted of a worker.
const workerHint = "worker "

// Hinted returns the worker that a message on the control channel is about.
func Hinted(message []byte) (worker string, is bool) {
	return strings.CutPrefix(string(message), workerHint)
}

// Want tells a worker what is wanted of it. It answers false when no such worker is registered.
func (s *Store) Want(ctx context.Context, worker string, wish Wish) (bool, error) {
	value, err := Do(ctx, s.driver, Call{
		Script: wantScript, Keys: []string{s.keys.workers, s.keys.worker(worker).info, s.keys.control},
		Args: []any{worker, string(wish)},
	})
	n, _ := value.(int64)
	return n == 1, err
}

// Pinged tells whether a worker has not answered yet.
func (s *Store) Pinged(ctx context.Context, worker string) (bool, error) {
	value, err := Do(ctx, s.driver, Call{Command: "HEXISTS", Args: []any{s.keys.worker(worker).info, "ping"}})
	n, _ := value.(int64)
	return n == 1, err
}

// Profile is what is stored of one worker.
type Profile struct {
	ID     string
	Info   map[string]string // as it said when it registered, and what is wanted of it
	Queues []string
	Alive  bool              // it has a heartbeat
	Said   map[string]string // id -> "<ms> <message>" of the last check-in
}

// ProfileOf returns what is stored of workers.
func (s *Store) ProfileOf(ctx context.Context, ids []string) ([]Profile, error) {
	const each = 4
	calls := make([]Call, 0, each*len(ids))
	for _, id := range ids {
		k := s.keys.worker(id)
		calls = append(calls, Call{Command: "HGETALL", Args: []any{k.info}},
			Call{Command: "SMEMBERS", Args: []any{k.queues}},
			Call{Command: "EXISTS", Args: []any{k.heart}}, Call{Command: "HGETALL", Args: []any{k.running}})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	profiles := make([]Profile, len(ids))
	r := &Reader{script: "HGETALL", rest: values, whole: values}
	for i, id := range ids {
		profiles[i] = Profile{ID: id, Info: pairsOf(r.Texts()), Queues: r.Texts(), Alive: r.Number() == 1,
			Said: pairsOf(r.Texts())}
	}
	return profiles, r.err
}

func pairsOf(list []string) map[string]string {
	pairs := make(map[string]string, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		pairs[list[i]] = list[i+1]
	}
	return pairs
}

// maxInHand is how many jobs of one queue are told of a worker. None holds more than 512 when all is well.
const maxInHand = 1000

// HeldBy returns what a worker holds of its queues, as far as the index of claims knows of it.
func (s *Store) HeldBy(ctx context.Context, worker string, queues []string) ([]Holding, error) {
	calls := make([]Call, len(queues))
	for i, queue := range queues {
		calls[i] = Call{Command: "LRANGE", Args: []any{s.keys.worker(worker).inprocess(queue), 0, maxInHand - 1}}
	}
	values, err := s.brief(ctx, calls)
	if err != nil {
		return nil, err
	}
	r := &Reader{script: "LRANGE", rest: values, whole: values}
	var ids []string
	for r.More() {
		for _, element := range r.Texts() {
			if _, id, is := strings.Cut(element, ":"); is {
				ids = append(ids, id)
			}
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return s.claimsOf(ctx, worker, ids)
}

func (s *Store) claimsOf(ctx context.Context, worker string, ids []string) (held []Holding, err error) {
	for len(ids) > 0 {
		n := min(len(ids), MaxBatch)
		value, err := Do(ctx, s.driver, Call{Command: "HMGET", Args: appendTexts([]any{s.keys.claimed}, ids[:n])})
		if err != nil {
			return nil, err
		}
		r := Read("HMGET", value)
		for _, id := range ids[:n] {
			if h := parseHolding(id, r.Text()); h.Worker == worker {
				held = append(held, h)
			}
		}
		if r.err != nil {
			return nil, r.err
		}
		ids = ids[n:]
	}
	return held, nil
}
