package rdb

import "context"

var (
	ruleScript = Load("rule")
	fillScript = Load("fill")
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

// SetRule replaces the rule of a queue, if it still reads as it did before; "" is none. With anew what was counted of its
// running jobs is forgotten: the rule then has a Filling, and the caller goes on with [Store.Fill]. It answers false when the
// rule reads otherwise, and true also if it reads as wanted already.
func (s *Store) SetRule(ctx context.Context, name, before, after string, anew bool) (bool, error) {
	of := s.keys.queue(name)
	value, err := Do(ctx, s.driver, Call{
		Script: ruleScript, Keys: []string{s.keys.limits, of.queue, of.wake, of.running, of.rate},
		Args: []any{name, before, after, anew},
	})
	n, _ := value.(int64)
	return n == 1, err
}

// Fill counts all jobs of the queue that are claimed, in steps of [MaxBatch]. What is claimed or ended meanwhile is right by
// itself, since there is a rule by then.
func (s *Store) Fill(ctx context.Context, name string) error {
	for cursor := "0"; ; {
		next, page, err := s.Holdings(ctx, cursor)
		if err != nil {
			return err
		}
		var ids []string
		for _, holding := range page {
			if holding.Queue == name {
				ids = append(ids, holding.ID)
			}
		}
		if _, err := s.count(ctx, name, ids); err != nil {
			return err
		}
		if cursor = next; cursor == "0" {
			return nil
		}
	}
}

// Recount takes out of what counts towards the limit of a queue what nobody holds, and returns how many that were.
func (s *Store) Recount(ctx context.Context, name string) (removed int, err error) {
	for cursor := "0"; ; {
		value, err := Do(ctx, s.driver, Call{Command: "SSCAN", Args: []any{s.keys.queue(name).running, cursor, "COUNT", MaxBatch}})
		if err != nil {
			return removed, err
		}
		r := Read("SSCAN", value)
		next, ids := r.Text(), r.Texts()
		if r.err != nil {
			return removed, r.err
		}
		n, err := s.count(ctx, name, ids)
		removed += n
		if err != nil {
			return removed, err
		}
		if cursor = next; cursor == "0" {
			return removed, nil
		}
	}
}

// count makes what counts agree with the claims, as far as these ids go, and returns how many were held by nobody.
func (s *Store) count(ctx context.Context, name string, ids []string) (removed int, err error) {
	for len(ids) > 0 {
		n := min(len(ids), MaxBatch)
		value, err := Do(ctx, s.driver, Call{
			Script: fillScript, Keys: []string{s.keys.queue(name).running, s.keys.claimed},
			Args: appendTexts([]any{name}, ids[:n]),
		})
		if err != nil {
			return removed, err
		}
		gone, _ := value.(int64)
		removed += int(gone)
		ids = ids[n:]
	}
	return removed, nil
}

// Counted returns for each queue how many jobs count towards its limit.
func (s *Store) Counted(ctx context.Context, names []string) ([]int, error) {
	calls := make([]Call, len(names))
	for i, name := range names {
		calls[i] = Call{Command: "SCARD", Args: []any{s.keys.queue(name).running}}
	}
	return s.numbers(ctx, calls)
}

// InHand returns how many jobs of these queues any worker holds, those that are being taken apart included.
func (s *Store) InHand(ctx context.Context, queues []string) (int, error) {
	registered, dead, err := s.Workers(ctx)
	if err != nil {
		return 0, err
	}
	var calls []Call
	for _, id := range append(registered, dead...) {
		worker := s.keys.worker(id)
		for _, queue := range queues {
			calls = append(calls, Call{Command: "LLEN", Args: []any{worker.inprocess(queue)}})
		}
	}
	lengths, err := s.numbers(ctx, calls)
	total := 0
	for _, n := range lengths {
		total += n
	}
	return total, err
}

func (s *Store) numbers(ctx context.Context, calls []Call) ([]int, error) {
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	numbers := make([]int, len(values))
	for i, value := range values {
		n, _ := value.(int64)
		numbers[i] = int(n)
	}
	return numbers, nil
}
