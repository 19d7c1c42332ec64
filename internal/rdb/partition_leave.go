package rdb

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	keepScript    = redisconn.Load("partition/keep")
	forgetTracked = redisconn.Load("partition/forget_tracked")
)

// Stragglers returns the jobs that are here and belong to another partition.
func (s *Store) Stragglers(ctx context.Context) ([]Absent, error) { return s.absent(ctx, "stragglers") }

// Foreign returns the jobs that belong here and are in another partition.
func (s *Store) Foreign(ctx context.Context) ([]Absent, error) { return s.absent(ctx, "foreign") }

func (s *Store) absent(ctx context.Context, key string) (all []Absent, err error) {
	err = s.Walk(ctx, Key{Name: key, Type: "hash"}, func(page []Field) error {
		for _, field := range page {
			all = append(all, parseAbsent(field))
		}
		return nil
	})
	return all, err
}

// Remaining is how much of what has to leave a partition is there.
type Remaining struct {
	Jobs, Frozen, Stragglers, Foreign, Schedules int
	Hints                                        int // controls that other partitions have to be told of
	Tracked                                      int
}

// Nothing tells whether nothing lives in the partition.
func (r Remaining) Nothing() bool {
	return r.Jobs+r.Frozen+r.Stragglers+r.Foreign+r.Schedules+r.Hints == 0
}

// Remaining counts, as of one moment.
func (s *Store) Remaining(ctx context.Context) (Remaining, error) {
	k := s.keys
	var calls []redisconn.Call
	for _, key := range []string{k.jobs, k.frozen, k.stragglers, k.foreign, k.schedules, k.hints} {
		calls = append(calls, redisconn.Call{Command: "HLEN", Args: []any{key}})
	}
	calls = append(calls, redisconn.Call{Command: "HEXISTS", Args: []any{k.frozen, ""}},
		redisconn.Call{Command: "LLEN", Args: []any{k.tracked}})
	n, err := s.numbers(ctx, calls)
	if err != nil {
		return Remaining{}, err
	}
	return Remaining{Jobs: n[0], Frozen: n[1] - n[6], Stragglers: n[2], Foreign: n[3], Schedules: n[4],
		Hints: n[5], Tracked: n[7]}, nil
}

// ForgetTracked removes the list of what was stored while it was to be moved, if the map of that version, which ended
// it, is still the one that is known here.
func (s *Store) ForgetTracked(ctx context.Context, version int64) error {
	_, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: forgetTracked,
		Keys: []string{s.keys.lanes, s.keys.tracked}, Args: []any{version}})
	return err
}

// LockOwners reads all locks, in parts: their digests, and who has each.
func (s *Store) LockOwners(ctx context.Context, visit func(digest, owner string) error) error {
	return s.Walk(ctx, Key{Name: "unique", Type: "hash"}, func(page []Field) error {
		for _, field := range page {
			owner := string(field.Value)
			for range 2 { // without its end and its kind
				owner = owner[:max(0, strings.LastIndexByte(owner, ' '))]
			}
			if err := visit(field.Name, owner); err != nil {
				return err
			}
		}
		return nil
	})
}

// CopyContents copies the logs and states of some jobs that nobody holds into another partition, unless they are there.
func (s *Store) CopyContents(ctx context.Context, to *Store, ids []string) error {
	for part := range slices.Chunk(ids, 16) { // up to 1.25 MiB each
		var reads []redisconn.Call
		for _, id := range part {
			log, state := s.keys.log(id), s.keys.state(id)
			reads = append(reads, redisconn.Call{Command: "LRANGE", Args: []any{log, 0, -1}},
				redisconn.Call{Command: "GET", Args: []any{state}},
				redisconn.Call{Command: "PTTL", Args: []any{log}}, redisconn.Call{Command: "PTTL", Args: []any{state}})
		}
		values, err := s.values(ctx, 8, reads)
		if err != nil {
			return err
		}
		var writes []redisconn.Call
		for i, id := range part {
			if lines, _ := values[4*i].([]any); len(lines) > 0 {
				writes = append(writes, redisconn.Call{Script: keepScript, Keys: []string{to.keys.log(id)},
					Args: slices.Concat([]any{contentLife(values[4*i+2]), "log"}, lines)})
			}
			if state, _ := values[4*i+1].([]byte); state != nil {
				writes = append(writes, redisconn.Call{Script: keepScript, Keys: []string{to.keys.state(id)},
					Args: []any{contentLife(values[4*i+3]), "state", state}})
			}
		}
		if _, err := to.values(ctx, 4, writes); err != nil {
			return err
		}
	}
	return nil
}

// contentLife is how many ms a log or a state has left: a year where that is not known.
func contentLife(ttl any) int64 {
	if left, _ := ttl.(int64); left > 0 {
		return left
	}
	return millis(365 * 24 * time.Hour)
}

// CopyRate makes what a rate has used up here known in another partition, unless more is used up there.
func (s *Store) CopyRate(ctx context.Context, to *Store, name string) error {
	read := func(store *Store) (at float64, text string, ttl int64, err error) {
		key := store.keys.queue(name).rate
		values, err := store.values(ctx, 2, []redisconn.Call{{Command: "GET", Args: []any{key}},
			{Command: "PTTL", Args: []any{key}}})
		if err != nil {
			return 0, "", 0, err
		}
		ttl, _ = values[1].(int64)
		text = word(values[0])
		at, _ = strconv.ParseFloat(text, 64)
		return at, text, ttl, nil
	}
	used, text, ttl, err := read(s)
	if err != nil || text == "" || ttl <= 0 {
		return err
	}
	there, _, _, err := read(to)
	if err != nil || there >= used {
		return err
	}
	_, err = redisconn.Do(ctx, to.driver, redisconn.Call{Command: "SET",
		Args: []any{to.keys.queue(name).rate, text, "PX", ttl}})
	return err
}

// Records returns the records of jobs, nil where there is none.
func (s *Store) Records(ctx context.Context, ids []string) ([][]byte, error) {
	return s.fieldsOf(ctx, s.keys.jobs, ids)
}

func (s *Store) fieldsOf(ctx context.Context, key string, ids []string) (all [][]byte, err error) {
	for batch := range slices.Chunk(ids, maxExamined) {
		value, err := redisconn.Do(ctx, s.driver,
			redisconn.Call{Command: "HMGET", Args: appendTexts([]any{key}, batch)})
		if err != nil {
			return nil, err
		}
		r := redisconn.Read("HMGET", value)
		for range batch {
			all = append(all, r.Bytes())
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return all, nil
}

// FrontOf returns the first ids of a queue, at most [MaxBatch], in the order in which they would be fetched.
func (s *Store) FrontOf(ctx context.Context, name string) ([]string, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "LRANGE",
		Args: []any{s.keys.queue(name).queue, -MaxBatch, -1}})
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("LRANGE", value, nil)
	ids := r.TextsOf(value)
	slices.Reverse(ids)
	return ids, r.Err()
}

// WriteLayout notes that programs must know this layout to use the namespace: see [Layout].
func (s *Store) WriteLayout(ctx context.Context, layout, oldest int) error {
	_, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SET",
		Args: []any{s.keys.layout, strconv.Itoa(layout) + " " + strconv.Itoa(oldest)}})
	return err
}
