package rdb

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/redisconn"
)

var (
	defineKeysScript = redisconn.Load("limit/define_keys")
	grantScript      = redisconn.Load("limit/grant")
)

// MaxKeyLimits is how many keys of a namespace may have a rule of their own.
const MaxKeyLimits = 10_000

// KeyRuleOf names a rule: that of all keys of a queue, or of one of them.
type KeyRuleOf struct {
	Queue string
	Key   string // "" is that of all
}

func (of KeyRuleOf) field() string {
	if of.Key == "" {
		return of.Queue
	}
	return of.Queue + "\x00" + of.Key
}

// KeyRulesOf returns rules as they are stored, "" where there is none.
func (s *Store) KeyRulesOf(ctx context.Context, of []KeyRuleOf) ([]string, error) {
	var calls []redisconn.Call
	for batch := range slices.Chunk(of, MaxBatch) {
		args := []any{s.keys.keyrules}
		for _, one := range batch {
			args = append(args, one.field())
		}
		calls = append(calls, redisconn.Call{Command: "HMGET", Args: args})
	}
	values, err := s.many(ctx, calls)
	if err != nil {
		return nil, err
	}
	texts := make([]string, 0, len(of))
	for _, value := range values {
		r := redisconn.Read("HMGET", value)
		for r.More() {
			texts = append(texts, r.Text())
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return texts, nil
}

// KeyRules returns all rules of keys as they are stored.
func (s *Store) KeyRules(ctx context.Context) (map[KeyRuleOf]string, error) {
	rules := map[KeyRuleOf]string{}
	err := s.Walk(ctx, Key{Name: "keyrules", Type: "hash"}, func(page []Field) error {
		for _, field := range page {
			if field.Name == leavingField || field.Name == countField {
				continue
			}
			queue, key, _ := strings.Cut(field.Name, "\x00")
			rules[KeyRuleOf{queue, key}] = string(field.Value)
		}
		return nil
	})
	return rules, err
}

// ErrManyKeyLimits is why a key gets no rule of its own.
var ErrManyKeyLimits = fmt.Errorf("%d keys of the namespace have limits of their own already: reset some first",
	MaxKeyLimits)

// SetKeyRule replaces a rule, if it still reads as it did before. It answers false when it reads otherwise, and true
// also if it reads as wanted already. What is parked and may begin by the new one is for [Store.GrantParked]. Before
// the first rule of all it counts what runs, in steps: see [Store.SeatRunning].
func (s *Store) SetKeyRule(ctx context.Context, of KeyRuleOf, before, after string) (bool, error) {
	return s.changeKeyRule(ctx, keyRuleChange{of, before, after, MaxKeyLimits})
}

// keyRuleChange replaces a rule, unless so many keys have one of their own already.
type keyRuleChange struct {
	of            KeyRuleOf
	before, after string
	most          int
}

func (s *Store) changeKeyRule(ctx context.Context, change keyRuleChange) (bool, error) {
	for done := ""; ; {
		value, err := redisconn.Do(ctx, s.driver, s.defineKeys(change, done))
		if err != nil {
			return false, routed(err)
		}
		count, wanted := strings.CutPrefix(Word(value), toCount)
		switch {
		case Word(value) == "full":
			return false, ErrManyKeyLimits
		case !wanted:
			return value == int64(1), nil
		}
		if err := s.SeatRunning(ctx); err != nil {
			return false, err
		}
		done = count
	}
}

// toCount is how the answer begins where a count comes first.
const toCount = "count "

// defineKeys makes the call of who has done that count, if any.
func (s *Store) defineKeys(change keyRuleChange, done string) redisconn.Call {
	return redisconn.Call{Script: defineKeysScript, Keys: []string{s.keys.keyrules, s.keys.lanes},
		Args: []any{s.at, change.of.field(), change.before, change.after, change.most, done, ids.Random(8)}}
}

// AddKeyRules makes those rules of keys known of which there is none, however many have one already.
func (s *Store) AddKeyRules(ctx context.Context, rules map[KeyRuleOf]string) error {
	var changes []keyRuleChange
	for of, text := range rules {
		changes = append(changes, keyRuleChange{of: of, after: text, most: math.MaxInt32})
	}
	for len(changes) > 0 {
		calls := make([]redisconn.Call, len(changes))
		for i, change := range changes {
			calls[i] = s.defineKeys(change, "")
		}
		values, err := s.many(ctx, calls)
		if err != nil {
			return routed(err)
		}
		var left []keyRuleChange
		for i, value := range values {
			if strings.HasPrefix(Word(value), toCount) {
				left = append(left, changes[i])
			}
		}
		if len(left) > 0 { // the first one counts what runs, for all
			if _, err := s.changeKeyRule(ctx, left[0]); err != nil {
				return err
			}
			left = left[1:]
		}
		changes = left
	}
	return nil
}

// GrantParked gives the places of keys of a queue that are free to jobs that are parked, after a rule has changed: of
// one key, or of all that have such jobs. It does so in steps, each a call; whoever dies in between leaves the rest to
// the janitor, and to whoever fetches or ends a job of such a key.
func (s *Store) GrantParked(ctx context.Context, queue, key string) error {
	from, only := key, key != ""
	for {
		of := s.keys.queue(queue)
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: grantScript,
			Keys: s.keys.lines([]string{of.wake}), Args: []any{queue, from, only}})
		if err != nil {
			return err
		}
		r := redisconn.Read(grantScript.Name, value)
		r.Number() // were given a place
		more, next := r.Number() == 1, r.Text()
		if r.Err() != nil || !more {
			return r.Err()
		}
		from = next
	}
}
