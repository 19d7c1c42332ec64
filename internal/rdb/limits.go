package rdb

import (
	"cmp"
	"context"
	"slices"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/redisconn"
)

var (
	defineLimitScript = redisconn.Load("limit/define")
	recountScript     = redisconn.Load("limit/recount")
)

// Everything is the name whose rule is that of all queues: while it is there, no job of any begins.
const Everything = ""

// Rules returns all rules as they are stored, by the names of their queues.
func (s *Store) Rules(ctx context.Context) (map[string]string, error) {
	rules := map[string]string{}
	err := s.Walk(ctx, Key{Name: "limits", Type: "hash"}, func(page []Field) error {
		for _, field := range page {
			rules[field.Name] = string(field.Value)
		}
		return nil
	})
	return rules, err
}

// RuleOf returns the rule of one queue as it is stored, "" where there is none.
func (s *Store) RuleOf(ctx context.Context, name string) (string, error) {
	text, err := s.field(ctx, s.keys.limits, name)
	return string(text), err
}

// RulesOf is RuleOf for several queues.
func (s *Store) RulesOf(ctx context.Context, names []string) ([]string, error) {
	var calls []redisconn.Call
	for batch := range slices.Chunk(names, MaxBatch) {
		calls = append(calls, redisconn.Call{Command: "HMGET", Args: appendTexts([]any{s.keys.limits}, batch)})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	rules := make([]string, 0, len(names))
	for _, value := range values {
		r := redisconn.Read("HMGET", value)
		for r.More() {
			rules = append(rules, r.Text())
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return rules, nil
}

// RuleChange replaces the rule of a queue, if it still reads as it did before; "" is none. With Anew what was counted
// of its running jobs is forgotten: the rule then has a Filling, and the caller goes on with [Store.Fill].
type RuleChange struct {
	Name, Before, After string
	Anew                bool
}

// Changed is what came of a RuleChange.
type Changed struct {
	Done bool  // the rule reads as wanted, now or before; else it reads otherwise than before
	Err  error // with which Redis refused it
}

// SetRule changes the rule of one queue. It answers false when the rule reads otherwise, and true also if it reads as
// wanted already.
func (s *Store) SetRule(ctx context.Context, name, before, after string, anew bool) (bool, error) {
	changed, err := s.SetRules(ctx, []RuleChange{{name, before, after, anew}})
	if err != nil {
		return false, err
	}
	return changed[0].Done, changed[0].Err
}

// SetRules changes the rules of several queues. Each change is one by itself: one that is refused keeps none of the
// others from being done, and after an error of the connection any may be.
func (s *Store) SetRules(ctx context.Context, changes []RuleChange) ([]Changed, error) {
	args := make([][]any, len(changes))
	for i, c := range changes {
		args[i] = []any{c.Name, c.Before, c.After, c.Anew}
	}
	return s.onRules(ctx, defineLimitScript, []string{s.keys.limits, s.keys.lanes, s.keys.turns, s.keys.turning,
		s.keys.waking}, args)
}

// onRules sends a script about the rules of queues, with so many arguments of each: the first one is its name.
func (s *Store) onRules(ctx context.Context, script *redisconn.Script, own []string, of [][]any) ([]Changed, error) {
	var calls []redisconn.Call
	var sizes []int
	for batch := range slices.Chunk(of, maxExamined) {
		keys := append(make([]string, 0, len(own)+4*len(batch)), own...)
		args := append(make([]any, 0, 1+4*len(batch)), s.at)
		for _, one := range batch {
			keys = s.keys.queue(one[0].(string)).appendTo(keys)
			args = append(args, one...)
		}
		calls, sizes = append(calls, redisconn.Call{Script: script, Keys: keys, Args: args}), append(sizes, len(batch))
	}
	replies, err := s.pipelines(ctx, maxPipeline, calls)
	if err != nil {
		return nil, err
	}
	changed := make([]Changed, 0, len(of))
	for i, reply := range replies {
		answers, _ := reply.Value.([]any)
		if reply.Err == nil && len(answers) != sizes[i] {
			return nil, &redisconn.UnexpectedReplyError{Script: script.Name, Reply: reply.Value}
		}
		for j := range sizes[i] {
			one := Changed{Err: routed(reply.Err)}
			if reply.Err == nil {
				one = changedAs(answers[j])
			}
			changed = append(changed, one)
		}
	}
	return changed, nil
}

func changedAs(answer any) Changed {
	if refusal := Word(answer); refusal != "" {
		return Changed{Err: redisconn.ParseServerError(refusal)}
	}
	return Changed{Done: answer == int64(1)}
}

// Fill counts all jobs of these queues that are claimed, here or in the partition from where they come, in steps of
// [MaxBatch], with one walk for all of them. What is claimed or ended meanwhile is right by itself, since there is a
// rule by then.
func (s *Store) Fill(ctx context.Context, names ...string) error {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	for cursor := "0"; ; {
		next, page, err := s.Holdings(ctx, cursor)
		if err != nil {
			return err
		}
		ids := map[string][]string{}
		for _, holding := range page {
			if name := needs.Name(holding.Queue); wanted[name] {
				ids[name] = append(ids[name], holding.ID)
			}
		}
		if _, err := s.count(ctx, ids); err != nil {
			return err
		}
		if cursor = next; cursor == "0" {
			return s.fillForeign(ctx, wanted)
		}
	}
}

// fillForeign counts what workers of other partitions hold.
func (s *Store) fillForeign(ctx context.Context, wanted map[string]bool) error {
	return s.Walk(ctx, Key{Name: "foreign", Type: "hash"}, func(page []Field) error {
		ids := map[string][]string{}
		for _, field := range page {
			foreign := parseAbsent(field)
			if name := needs.Name(foreign.Queue); wanted[name] {
				ids[name] = append(ids[name], foreign.ID)
			}
		}
		_, err := s.count(ctx, ids)
		return err
	})
}

// Recount takes out of what counts towards the limits of queues what nobody holds, and returns how many that were, by
// name.
func (s *Store) Recount(ctx context.Context, names ...string) (map[string]int, error) {
	removed := map[string]int{}
	cursors := make([]string, len(names))
	for len(names) > 0 {
		calls := make([]redisconn.Call, len(names))
		for i, name := range names {
			calls[i] = redisconn.Call{Command: "SSCAN",
				Args: []any{s.keys.queue(name).running, cmp.Or(cursors[i], "0"), "COUNT", MaxBatch}}
		}
		values, err := s.many(ctx, calls)
		if err != nil {
			return removed, err
		}
		ids, more, next := map[string][]string{}, []string(nil), []string(nil)
		for i, name := range names {
			r := redisconn.Read("SSCAN", values[i])
			cursor := r.Text()
			ids[name] = r.Texts()
			if r.Err() != nil {
				return removed, r.Err()
			}
			if cursor != "0" {
				more, next = append(more, name), append(next, cursor)
			}
		}
		gone, err := s.count(ctx, ids)
		for name, n := range gone {
			removed[name] += n
		}
		if err != nil {
			return removed, err
		}
		names, cursors = more, next
	}
	return removed, nil
}

// count makes what counts agree with the claims, as far as these ids go, and returns how many were held by nobody.
func (s *Store) count(ctx context.Context, ids map[string][]string) (map[string]int, error) {
	var calls []redisconn.Call
	var of []string
	for name, all := range ids {
		for batch := range slices.Chunk(all, MaxBatch) {
			calls = append(calls, redisconn.Call{
				Script: recountScript, Keys: []string{s.keys.queue(name).running, s.keys.claimed, s.keys.foreign},
				Args: appendTexts([]any{name}, batch),
			})
			of = append(of, name)
		}
	}
	numbers, err := s.numbers(ctx, calls)
	removed := map[string]int{}
	for i, n := range numbers {
		if n > 0 {
			removed[of[i]] += n
		}
	}
	return removed, err
}

// Counted returns for each queue how many jobs count towards its limit.
func (s *Store) Counted(ctx context.Context, names []string) ([]int, error) {
	calls := make([]redisconn.Call, len(names))
	for i, name := range names {
		calls[i] = redisconn.Call{Command: "SCARD", Args: []any{s.keys.queue(name).running}}
	}
	return s.numbers(ctx, calls)
}

// InHand returns how many jobs of these queues any worker holds, those that are being taken apart included.
func (s *Store) InHand(ctx context.Context, queues []string) (int, error) {
	registered, dead, err := s.Workers(ctx)
	if err != nil {
		return 0, err
	}
	return s.lengths(ctx, s.inProcess(append(registered, dead...), queues))
}
