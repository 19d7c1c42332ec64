package rdb

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	pauseScript  = redisconn.Load("limit/pause")
	hintScript   = redisconn.Load("limit/hint")
	forgetPauses = redisconn.Load("limit/forget")
)

// Pause is a control of a queue, or of all by the name [Everything]: that it is paused, or that it goes on.
type Pause struct {
	Name    string
	Version int64 // the later it was said, the higher; 0 in a namespace that was never divided
	Paused  bool
}

// Newer tells whether it was said after the other one: of two of one version the one that lets the queue go on.
func (p Pause) Newer(than Pause) bool {
	return p.Version > than.Version || p.Version == than.Version && than.Paused && !p.Paused
}

// text is the control as it is noted for another partition.
func (p Pause) text() string {
	return strconv.FormatInt(p.Version, 10) + " " + flag(p.Paused)
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}

// SetPauses pauses queues or lets them go on. Done is false of one of which something newer was said here.
func (s *Store) SetPauses(ctx context.Context, pauses []Pause) ([]Changed, error) {
	args := make([][]any, len(pauses))
	for i, p := range pauses {
		args[i] = []any{p.Name, p.Version, p.Paused}
	}
	return s.onRules(ctx, pauseScript, []string{s.keys.limits, s.keys.lanes, s.keys.pauses, s.keys.turns,
		s.keys.turning, s.keys.waking}, args)
}

// NextVersion is what a control of these queues that is said now must have here as its version, at least: Redis' clock
// in ms, and more than the last one of any of them has. It is 0 where no map of partitions is known.
func (s *Store) NextVersion(ctx context.Context, names []string) (int64, error) {
	calls := []redisconn.Call{{Command: "TIME"}, {Command: "HMGET", Args: []any{s.keys.lanes, ""}}}
	for batch := range slices.Chunk(names, MaxBatch) {
		calls = append(calls, redisconn.Call{Command: "HMGET", Args: appendTexts([]any{s.keys.pauses}, batch)})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return 0, err
	}
	clock, lanes := redisconn.Read("TIME", values[0]), redisconn.Read("HMGET", values[1])
	next, divided := clock.Clock().UnixMilli(), lanes.Text() != ""
	if err := cmp.Or(clock.Err(), lanes.Err()); err != nil || !divided {
		return 0, err
	}
	for _, value := range values[2:] {
		r := redisconn.Read("HMGET", value)
		for r.More() {
			known, _ := strconv.ParseInt(r.Text(), 10, 64)
			next = max(next, known+1)
		}
		if r.Err() != nil {
			return 0, r.Err()
		}
	}
	return next, nil
}

// Pauses are the last controls of all queues that are paused, or of which a version is known. Rules that cannot be read
// are left out. What is said meanwhile may be told under the version before, never what was said before under a newer
// one: so versions are read first.
func (s *Store) Pauses(ctx context.Context) (map[string]Pause, error) {
	pauses := map[string]Pause{}
	err := s.Walk(ctx, Key{Name: "pauses", Type: "hash"}, func(page []Field) error {
		for _, field := range page {
			version, _ := strconv.ParseInt(string(field.Value), 10, 64)
			pauses[field.Name] = Pause{Name: field.Name, Version: version}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rules, err := s.Rules(ctx)
	for name, text := range rules {
		if rule, err := ParseRule(text); err == nil && rule.Paused {
			pauses[name] = Pause{Name: name, Version: pauses[name].Version, Paused: true}
		}
	}
	return pauses, err
}

// ForgetPauses forgets the versions of those controls that are still the last ones, of queues that go on.
func (s *Store) ForgetPauses(ctx context.Context, pauses []Pause) error {
	var calls []redisconn.Call
	for batch := range slices.Chunk(pauses, MaxBatch) {
		args := []any{s.at}
		for _, p := range batch {
			args = append(args, p.Name, p.Version)
		}
		calls = append(calls, redisconn.Call{Script: forgetPauses,
			Keys: []string{s.keys.limits, s.keys.lanes, s.keys.pauses}, Args: args})
	}
	_, err := s.brief(ctx, calls)
	return routed(err)
}

// Hint is a control that another partition has to be told of.
type Hint struct {
	Partition int
	Pause
}

func (h Hint) field() string { return strconv.Itoa(h.Partition) + "\x00" + h.Name }

// Hints returns all that are noted here.
func (s *Store) Hints(ctx context.Context) (hints []Hint, err error) {
	err = s.Walk(ctx, Key{Name: "hints", Type: "hash"}, func(page []Field) error {
		for _, field := range page {
			partition, name, _ := strings.Cut(field.Name, "\x00")
			to, bad := strconv.Atoi(partition)
			version, paused, _ := strings.Cut(string(field.Value), " ")
			at, worse := strconv.ParseInt(version, 10, 64)
			if bad == nil && worse == nil {
				hints = append(hints, Hint{to, Pause{name, at, paused == "1"}})
			}
		}
		return nil
	})
	return hints, err
}

// AddHints notes them, unless newer ones are.
func (s *Store) AddHints(ctx context.Context, hints []Hint) error {
	return s.sendHints(ctx, hints, true)
}

// DropHints forgets them, unless newer ones are noted.
func (s *Store) DropHints(ctx context.Context, hints []Hint) error {
	return s.sendHints(ctx, hints, false)
}

func (s *Store) sendHints(ctx context.Context, hints []Hint, note bool) error {
	var calls []redisconn.Call
	for batch := range slices.Chunk(hints, MaxBatch) {
		args := []any{s.at, note}
		for _, h := range batch {
			args = append(args, h.field(), h.text())
		}
		calls = append(calls, redisconn.Call{Script: hintScript, Keys: []string{s.keys.hints, s.keys.lanes},
			Args: args})
	}
	_, err := s.brief(ctx, calls)
	return routed(err)
}
