package rdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// Restraint is what keeps jobs of a key from beginning.
type Restraint struct {
	Rule    KeyRule // in force: that of all keys of the queue, or the key's own
	Own     bool    // it is the key's own, beside Ordered, which is of all keys
	Bad     error   // why the rule cannot be read
	Running int     // jobs that have a place of the key
	First   string  // of an ordered key the job that has the place; "" where none has
	// when the rate leaves room, by Redis' clock; zero where it is not in the way
	Until time.Time
}

// Most is how many places the key has, and whether that is limited.
func (r *Restraint) Most() (places int, limited bool) {
	switch {
	case r.Rule.Stopped:
		return 0, true
	case r.Rule.Ordered:
		return 1, true
	}
	return r.Rule.Concurrent, r.Rule.Concurrent > 0
}

// KeyRestraints reads what restrains up to [MaxBatch] keys of a line. Without rules it costs one request, else two.
func (s *Store) KeyRestraints(ctx context.Context, l *KeyLine, keys []string) ([]Restraint, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	of := []KeyRuleOf{{Queue: l.queue}}
	for _, key := range keys {
		of = append(of, KeyRuleOf{l.queue, key})
	}
	texts, err := s.KeyRulesOf(ctx, of)
	if err != nil {
		return nil, err
	}
	all := make([]Restraint, len(keys))
	any := false
	for i := range all {
		all[i] = restraint(texts[0], texts[i+1])
		any = any || texts[0] != "" || texts[i+1] != ""
	}
	if !any {
		return all, nil
	}
	return all, s.measure(ctx, l, keys, all)
}

// restraint is what the rule of all keys and that of one come to: see key_rules in lua/prelude.lua.
func restraint(common, own string) (r Restraint) {
	if r.Rule, r.Bad = ParseKeyRule(common); own == "" || r.Bad != nil {
		return r
	}
	rule, err := ParseKeyRule(own)
	rule.Ordered, rule.BackAgain, rule.DeathStop = r.Rule.Ordered, r.Rule.BackAgain, r.Rule.DeathStop
	return Restraint{Rule: rule, Own: true, Bad: err}
}

// measure reads how much of what the rules allow is used.
func (s *Store) measure(ctx context.Context, l *KeyLine, keys []string, all []Restraint) error {
	calls := []redisconn.Call{{Command: "TIME"}}
	for _, key := range keys {
		from, to := behind(l.spot(key))
		calls = append(calls, redisconn.Call{Command: "ZLEXCOUNT", Args: []any{s.keys.holding, from, to}},
			redisconn.Call{Command: "ZRANGE", Args: []any{s.keys.holding, from, to, "BYLEX", "LIMIT", 0, 1}},
			redisconn.Call{Command: "ZSCORE", Args: []any{s.keys.pacing, l.number() + "\x00" + key}})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return err
	}
	clock := redisconn.Read("TIME", values[0])
	now := clock.Number()*1_000_000 + clock.Number()
	for i, key := range keys {
		r := redisconn.Read("keys", values[1+3*i:4+3*i])
		all[i].Running = int(r.Number())
		first := r.Texts()
		whole := int64(parseScore(r.Text()))
		if r.Err() != nil {
			return r.Err()
		}
		if len(first) > 0 && all[i].Rule.Ordered {
			all[i].First = first[0][len(l.spot(key)):]
		}
		if wait := all[i].Rule.until(time.Duration(whole-now) * time.Microsecond); wait > 0 {
			all[i].Until = time.UnixMicro(now).Add(wait)
		}
	}
	return clock.Err()
}

// until is in what time a job may begin whose key's burst will be whole again in that time.
func (r *KeyRule) until(whole time.Duration) time.Duration {
	if r.Jobs == 0 {
		return 0
	}
	each := r.Per / time.Duration(r.Jobs)
	if whole > r.Per*time.Duration(r.Burst)/time.Duration(r.Jobs)+time.Second { // a clock was set back: see pace
		return 0
	}
	return max(0, whole-time.Duration(r.Burst-1)*each)
}
