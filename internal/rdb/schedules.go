package rdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/redisconn"
)

var (
	tickScript     = redisconn.Load("schedule/tick")
	defineScript   = redisconn.Load("schedule/define")
	withdrawScript = redisconn.Load("schedule/withdraw")
)

// ScheduleHint is the message on the control channel that says that schedules have changed.
const ScheduleHint = "schedules"

// Schedule is one schedule as it is stored.
type Schedule struct {
	ID         string
	Definition []byte // opaque here
	Entry      string // its last tick; "" where there is none yet
}

// LastTick takes an entry apart. The zero time and "" are of a schedule without one.
func LastTick(entry string) (at time.Time, job string) {
	stamp, job, _ := strings.Cut(entry, " ")
	ms, _ := strconv.ParseInt(stamp, 10, 64) // what cannot be read is refused by the script
	return fromMillis(ms), job
}

// Schedules reads all schedules, in parts, and what it says of their revision before, in the round trip of the first
// part.
func (s *Store) Schedules(ctx context.Context) (all []Schedule, revision string, err error) {
	calls := []redisconn.Call{{Command: "GET", Args: []any{s.keys.revision}}}
	for cursor, seen := "0", map[string]bool{}; ; calls = nil {
		replies, err := s.driver.Pipeline(ctx, append(calls,
			redisconn.Call{Command: "HSCAN", Args: []any{s.keys.schedules, cursor, "COUNT", MaxBatch}})...)
		if err != nil {
			return nil, "", err
		}
		first, last := replies[0], replies[len(replies)-1]
		if err := cmp.Or(first.Err, last.Err); err != nil {
			return nil, "", err
		}
		if calls != nil {
			text, _ := first.Value.([]byte) // none before the first change
			revision = string(text)
		}
		r := redisconn.Read("HSCAN", last.Value)
		cursor = r.Text()
		fields := r.List()
		var page []Schedule
		for fields.More() {
			schedule := Schedule{ID: fields.Text(), Definition: fields.Bytes()}
			if !seen[schedule.ID] { // HSCAN may tell of a field twice
				seen[schedule.ID] = true
				page = append(page, schedule)
			}
		}
		if err := excerpt.Join(r.Err(), fields.Err()); err != nil {
			return nil, "", err
		}
		if err := s.readEntries(ctx, page); err != nil {
			return nil, "", err
		}
		all = append(all, page...)
		if cursor == "0" {
			return all, revision, nil
		}
	}
}

// readEntries fills in the last ticks.
func (s *Store) readEntries(ctx context.Context, page []Schedule) error {
	if len(page) == 0 {
		return nil
	}
	call := redisconn.Call{Command: "HMGET", Args: []any{s.keys.ticks}}
	for i := range page {
		call.Args = append(call.Args, page[i].ID)
	}
	value, err := redisconn.Do(ctx, s.driver, call)
	if err != nil {
		return err
	}
	r := redisconn.Read("HMGET", value)
	for i := range page {
		page[i].Entry = r.Text()
	}
	return r.Err()
}

// ScheduleOf reads one schedule; without a definition it is not there.
func (s *Store) ScheduleOf(ctx context.Context, id string) (Schedule, error) {
	page, err := s.SchedulesOf(ctx, []string{id})
	if err != nil {
		return Schedule{ID: id}, err
	}
	return page[0], nil
}

// SchedulesOf reads some schedules. Those without a definition are not there.
func (s *Store) SchedulesOf(ctx context.Context, ids []string) ([]Schedule, error) {
	page := make([]Schedule, 0, len(ids))
	var calls []redisconn.Call
	for batch := range slices.Chunk(ids, MaxBatch) {
		calls = append(calls, redisconn.Call{Command: "HMGET", Args: appendTexts([]any{s.keys.schedules}, batch)},
			redisconn.Call{Command: "HMGET", Args: appendTexts([]any{s.keys.ticks}, batch)})
	}
	replies, err := s.pipelines(ctx, maxPipeline, calls)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(replies); i += 2 {
		if err := cmp.Or(replies[i].Err, replies[i+1].Err); err != nil {
			return nil, err
		}
		definitions, entries := redisconn.Read("HMGET", replies[i].Value), redisconn.Read("HMGET", replies[i+1].Value)
		for range len(calls[i].Args) - 1 {
			one := Schedule{ID: ids[len(page)], Definition: definitions.Bytes()}
			if entry := entries.Text(); one.Definition != nil {
				one.Entry = entry
			}
			page = append(page, one)
		}
		if err := excerpt.Join(definitions.Err(), entries.Err()); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// Redefinition is a change of one schedule.
type Redefinition struct {
	ID         string
	Before     []byte // as it reads; nil where there should be none
	Definition []byte // as it should read; nil removes it
	Anew       bool   // its ticks begin now, as those of a new one do
}

// Define replaces the definition of a schedule that still reads as it did. It answers false when the schedule reads
// otherwise, and true also if it reads as wanted already.
func (s *Store) Define(ctx context.Context, id string, before, definition []byte, anew bool) (bool, error) {
	changed, err := s.DefineAll(ctx, []Redefinition{{id, before, definition, anew}})
	if err != nil {
		return false, err
	}
	return changed[0].Done, changed[0].Err
}

// DefineAll is Define for several schedules. Each change is one by itself, as those of [Store.SetRules] are.
func (s *Store) DefineAll(ctx context.Context, changes []Redefinition) ([]Changed, error) {
	k := s.keys
	calls := make([]redisconn.Call, len(changes))
	for i, c := range changes {
		digest := ""
		if c.Before != nil {
			digest = Digest(c.Before)
		}
		calls[i] = redisconn.Call{
			Script: defineScript, Keys: []string{k.schedules, k.ticks, k.revision, k.control, k.lanes},
			Args: []any{c.ID, digest, c.Definition, c.Anew, s.at},
		}
	}
	replies, err := s.pipelines(ctx, maxBrief, calls)
	if err != nil {
		return nil, err
	}
	changed := make([]Changed, len(replies))
	for i, reply := range replies {
		if changed[i].Err = routed(reply.Err); reply.Err == nil {
			r := redisconn.Read("schedule/define", reply.Value)
			changed[i] = Changed{Done: r.Number() == 1, Err: r.Err()}
		}
	}
	return changed, nil
}

// Withdrawal is what came of a [Store.Withdraw].
type Withdrawal string

// What may come of it.
const (
	Withdrawn      Withdrawal = "gone"     // the schedule is not there, now or before
	StillDeclared  Withdrawal = "declared" // a worker declares it
	OtherwiseReads Withdrawal = "changed"  // the definition or the workers are others: read them again
)

// Withdraw removes a schedule if none of the workers, who must be all that are registered and at most [MaxBatch],
// declares it.
func (s *Store) Withdraw(ctx context.Context, schedule Schedule, workers []string) (Withdrawal, error) {
	states, err := s.WithdrawAll(ctx, []Schedule{schedule}, workers)
	if err != nil {
		return "", err
	}
	return states[0], nil
}

// WithdrawAll is Withdraw for several schedules. After an error any of them may be withdrawn.
func (s *Store) WithdrawAll(ctx context.Context, schedules []Schedule, workers []string) ([]Withdrawal, error) {
	if len(schedules) > 0 && len(workers) > MaxBatch {
		return nil, fmt.Errorf("%d workers are registered, more than the %d of which one script can tell that none "+
			"declares schedule %s: remove it by hand", len(workers), MaxBatch, excerpt.Quoted(schedules[0].ID))
	}
	k := s.keys
	keys := []string{k.schedules, k.ticks, k.revision, k.control, k.workers}
	for _, id := range workers {
		keys = append(keys, k.worker(id).info)
	}
	calls := make([]redisconn.Call, len(schedules))
	for i, schedule := range schedules {
		calls[i] = redisconn.Call{Script: withdrawScript, Keys: keys,
			Args: appendTexts([]any{schedule.ID, Digest(schedule.Definition)}, workers)}
	}
	replies, err := s.pipelines(ctx, maxPipeline, calls)
	if err != nil {
		return nil, err
	}
	states := make([]Withdrawal, len(replies))
	for i, reply := range replies {
		if reply.Err != nil {
			return nil, reply.Err
		}
		state, _ := reply.Value.([]byte)
		states[i] = Withdrawal(state)
	}
	return states, nil
}

// Declarations returns what the registered workers say of themselves: by id, their service and the ids of the schedules
// that they declare.
func (s *Store) Declarations(ctx context.Context) (map[string]Declaration, error) {
	ids, err := s.Registered(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[string]Declaration, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), 64)
		calls := make([]redisconn.Call, n)
		for i, id := range ids[:n] {
			calls[i] = redisconn.Call{Command: "HMGET", Args: []any{s.keys.worker(id).info, "service", "schedules"}}
		}
		replies, err := s.driver.Pipeline(ctx, calls...)
		if err != nil {
			return nil, err
		}
		for i, reply := range replies {
			if reply.Err != nil {
				continue // a key of another type: that worker declares nothing that could be read
			}
			r := redisconn.Read("HMGET", reply.Value)
			all[ids[i]] = Declaration{Service: r.Text(),
				Schedules: strings.FieldsFunc(r.Text(), func(c rune) bool { return c == '\n' })}
			if r.Err() != nil {
				return nil, r.Err()
			}
		}
		ids = ids[n:]
	}
	return all, nil
}

// Declaration is what one worker says of itself.
type Declaration struct {
	Service   string
	Schedules []string
}
