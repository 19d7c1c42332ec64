package rdb

import (
	"context"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var commandScript = redisconn.Load("worker/command")

// Command is what an operator wants of a worker.
type Command string

// The commands. A heartbeat brings the first four as Wanted.
const (
	CommandPause  Command = "pause"
	CommandQuiet  Command = "quiet"
	CommandStop   Command = "stop"
	CommandNow    Command = "now" // a stop at once
	CommandResume Command = "resume"
	CommandPing   Command = "ping"
)

// commandMessage is how the message on the control channel begins that says that something is wanted of a worker.
const commandMessage = "worker "

// CommandedWorker returns the worker that a message on the control channel is about.
func CommandedWorker(message []byte) (worker string, is bool) {
	return strings.CutPrefix(string(message), commandMessage)
}

// SendCommand tells a worker what is wanted of it. It answers false when no such worker is registered.
func (s *Store) SendCommand(ctx context.Context, worker string, command Command) (bool, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{
		Script: commandScript, Keys: []string{s.keys.workers, s.keys.worker(worker).info, s.keys.control},
		Args: []any{worker, string(command), ""},
	})
	n, _ := value.(int64)
	return n == 1, err
}

// Told returns some fields of what workers have told, such as [InfoGroup]. One that was not told is empty.
func (s *Store) Told(ctx context.Context, workers []string, fields ...string) ([][]string, error) {
	calls := make([]redisconn.Call, len(workers))
	for i, id := range workers {
		calls[i] = redisconn.Call{Command: "HMGET", Args: appendTexts([]any{s.keys.worker(id).info}, fields)}
	}
	values, err := s.brief(ctx, calls)
	told := make([][]string, len(values))
	for i, value := range values {
		r := redisconn.Read("HMGET", value)
		for range fields {
			told[i] = append(told[i], r.Text())
		}
	}
	return told, err
}

// Pinged tells whether a worker has not answered yet.
func (s *Store) Pinged(ctx context.Context, worker string) (bool, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HEXISTS",
		Args: []any{s.keys.worker(worker).info, "ping"}})
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
	calls := make([]redisconn.Call, 0, each*len(ids))
	for _, id := range ids {
		k := s.keys.worker(id)
		calls = append(calls, redisconn.Call{Command: "HGETALL", Args: []any{k.info}},
			redisconn.Call{Command: "SMEMBERS", Args: []any{k.queues}},
			redisconn.Call{Command: "EXISTS", Args: []any{k.heart}},
			redisconn.Call{Command: "HGETALL", Args: []any{k.running}})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	profiles := make([]Profile, len(ids))
	r := redisconn.NewReader("HGETALL", values, values)
	for i, id := range ids {
		profiles[i] = Profile{ID: id, Info: pairsOf(r.Texts()), Queues: r.Texts(), Alive: r.Number() == 1,
			Said: pairsOf(r.Texts())}
	}
	return profiles, r.Err()
}

func pairsOf(list []string) map[string]string {
	pairs := make(map[string]string, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		pairs[list[i]] = list[i+1]
	}
	return pairs
}

// maxInHand is how many jobs of one queue are told of a worker. None holds more than 768 when all is well.
const maxInHand = 1000

// HeldBy returns what a worker holds of its queues, as far as the index of claims knows of it.
func (s *Store) HeldBy(ctx context.Context, worker string, queues []string) ([]Holding, error) {
	calls := make([]redisconn.Call, len(queues))
	for i, queue := range queues {
		calls[i] = redisconn.Call{Command: "LRANGE",
			Args: []any{s.keys.worker(worker).inprocess(queue), 0, maxInHand - 1}}
	}
	values, err := s.brief(ctx, calls)
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("LRANGE", values, values)
	var ids []string
	for r.More() {
		for _, element := range r.Texts() {
			if _, id, is := strings.Cut(element, ":"); is {
				ids = append(ids, id)
			}
		}
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	return s.claimsOf(ctx, worker, ids)
}

// claimsOf keeps those ids that the worker has a claim of: between two reads they may have ended, or have another
// holder.
func (s *Store) claimsOf(ctx context.Context, worker string, ids []string) (held []Holding, err error) {
	for len(ids) > 0 {
		n := min(len(ids), MaxBatch)
		value, err := redisconn.Do(ctx, s.driver,
			redisconn.Call{Command: "HMGET", Args: appendTexts([]any{s.keys.claimed}, ids[:n])})
		if err != nil {
			return nil, err
		}
		r := redisconn.Read("HMGET", value)
		for _, id := range ids[:n] {
			if h := parseHolding(id, r.Text()); h.Worker == worker {
				held = append(held, h)
			}
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
		ids = ids[n:]
	}
	return held, nil
}
