package rdb

import (
	"cmp"
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
	Flows                                        int // that have not ended; else those of which others are to be told
}

// Nothing tells whether nothing lives in the partition.
func (r Remaining) Nothing() bool {
	return r.Jobs+r.Frozen+r.Stragglers+r.Foreign+r.Schedules+r.Hints+r.Flows == 0
}

// Remaining counts, as of one moment.
func (s *Store) Remaining(ctx context.Context) (Remaining, error) {
	k := s.keys
	var calls []redisconn.Call
	for _, key := range []string{k.jobs, k.frozen, k.stragglers, k.foreign, k.schedules, k.hints} {
		calls = append(calls, redisconn.Call{Command: "HLEN", Args: []any{key}})
	}
	calls = append(calls, redisconn.Call{Command: "HEXISTS", Args: []any{k.frozen, ""}},
		redisconn.Call{Command: "LLEN", Args: []any{k.tracked}},
		redisconn.Call{Command: "ZCARD", Args: []any{k.prefix + "flows"}},
		redisconn.Call{Command: "ZCOUNT", Args: []any{k.flowsOver(), "-inf", "(" + FlowsOpen}},
		redisconn.Call{Command: "ZCOUNT", Args: []any{k.prefix + "flows:away", FlowsOpen, "+inf"}},
		redisconn.Call{Command: "ZCARD", Args: []any{k.prefix + "flows:busy"}})
	n, err := s.numbers(ctx, calls)
	if err != nil {
		return Remaining{}, err
	}
	return Remaining{Jobs: n[0], Frozen: n[1] - n[6], Stragglers: n[2], Foreign: n[3], Schedules: n[4],
		Hints: n[5], Tracked: n[7], Flows: cmp.Or(max(0, n[8]-n[9])+n[10], n[11])}, nil
}

// ForgetTracked removes the list of what was stored while it was to be moved, if the map of that version, which ended
// it, is still the one that is known here.
func (s *Store) ForgetTracked(ctx context.Context, version int64) error {
	_, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: forgetTracked,
		Keys: []string{s.keys.lanes, s.keys.tracked}, Args: []any{version}})
	return err
}

// LockOwners reads all locks, in parts: their digests, and who has each. Those of members that wait with their flows
// are left out, as they stay with these.
func (s *Store) LockOwners(ctx context.Context, visit func(digest, owner string) error) error {
	return s.Walk(ctx, Key{Name: "unique", Type: "hash"}, func(page []Field) error {
		for _, field := range page {
			owner := string(field.Value)
			if strings.HasSuffix(owner, " 0 t") {
				continue
			}
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

// CopyContents copies the logs, states, steps and mailboxes of some jobs that nobody holds into another partition,
// unless they are there.
func (s *Store) CopyContents(ctx context.Context, to *Store, ids []string) error {
	for part := range slices.Chunk(ids, 16) { // up to 2.5 MiB each
		var reads []redisconn.Call
		for _, id := range part {
			for _, c := range contentsOf(s.keys, to.keys, id) {
				reads = append(reads, redisconn.Call{Command: c.read, Args: append([]any{c.from}, c.args...)},
					redisconn.Call{Command: "PTTL", Args: []any{c.from}})
			}
		}
		values, err := s.values(ctx, 8, reads)
		if err != nil {
			return err
		}
		var writes []redisconn.Call
		for _, id := range part {
			for _, c := range contentsOf(s.keys, to.keys, id) {
				content, _ := values[0].([]any)
				if state, ok := values[0].([]byte); ok {
					content = []any{state}
				}
				if len(content) > 0 {
					writes = append(writes, redisconn.Call{Script: keepScript, Keys: []string{c.to, to.keys.mailed},
						Args: slices.Concat([]any{contentLife(values[1]), c.what, id}, content)})
				}
				values = values[2:]
			}
		}
		if _, err := to.values(ctx, 4, writes); err != nil {
			return err
		}
	}
	return nil
}

// content is what a job may have beside its record in a key of its own.
type content struct {
	what, from, to string // keys in two partitions
	read           string // the command that reads it
	args           []any
}

func contentsOf(from, to *keys, id string) []content {
	all := []any{0, -1}
	return []content{
		{"log", from.log(id), to.log(id), "LRANGE", all}, {"state", from.state(id), to.state(id), "GET", nil},
		{"steps", from.steps(id), to.steps(id), "HGETALL", nil}, {"mail", from.mail(id), to.mail(id), "LRANGE", all},
	}
}

// contentLife is how many ms a content has left: a year where that is not known.
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
		text = Word(values[0])
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

// WriteLayout notes that programs must know this layout to use the namespace, unless they must know a later one: see
// [Layout].
func (s *Store) WriteLayout(ctx context.Context, layout, oldest int) error {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "GET", Args: []any{s.keys.layout}})
	if err != nil {
		return err
	}
	has, needs, _ := strings.Cut(Word(value), " ")
	known, _ := strconv.Atoi(has)
	needed, _ := strconv.Atoi(needs) // what cannot be read counts as nothing
	if known >= layout && needed >= oldest {
		return nil
	}
	_, err = redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SET",
		Args: []any{s.keys.layout, strconv.Itoa(max(layout, known)) + " " + strconv.Itoa(max(oldest, needed))}})
	return err
}
