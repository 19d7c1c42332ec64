package limit

import (
	"context"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
)

// held is the filling of a rule under which no job begins until somebody says so: its jobs are on their way to another
// partition. The janitor leaves it alone.
const held = "held"

// Held tells whether no job of the rule begins until it is released.
func Held(rule rdb.Rule) bool { return rule.Filling == held }

// Hold lets no job of a name begin until it is released, where it has a limit, and returns its rule.
func Hold(ctx context.Context, store *rdb.Store, name string) (rdb.Rule, error) {
	return rewrite(ctx, store, name, func(rule rdb.Rule) rdb.Rule {
		if rule.Limit != (rdb.Limit{}) {
			rule.Filling = held
		}
		return rule
	})
}

// Carry makes the rule of a name the one that was held in another partition, and holds it. A rule that is in force
// here stays, and so does whether the name is paused: that is said in all partitions, maybe since the other one was
// held.
func Carry(ctx context.Context, store *rdb.Store, name string, from rdb.Rule) error {
	_, err := rewrite(ctx, store, name, func(rule rdb.Rule) rdb.Rule {
		if rule.Limit == (rdb.Limit{}) || Held(rule) {
			carried := from
			carried.Paused = rule.Paused
			return carried
		}
		return rule
	})
	return err
}

// Release puts a rule that was held into force: once what runs of the name is counted.
func Release(ctx context.Context, store *rdb.Store, name string) error {
	rule, err := rewrite(ctx, store, name, func(rule rdb.Rule) rdb.Rule {
		switch {
		case !Held(rule):
		case rule.Concurrent == 0:
			rule.Filling = ""
		default:
			rule.Filling = ids.Random(8)
		}
		return rule
	})
	if err != nil || rule.Filling == "" || Held(rule) {
		return err
	}
	failed, err := fill(ctx, store, map[string]string{name: rule.Filling})
	if err == nil {
		err = failed[name]
	}
	return err
}

// LeaveBehind takes away the limit of a name that has left the partition; a pause stays.
func LeaveBehind(ctx context.Context, store *rdb.Store, name string) error {
	_, err := rewrite(ctx, store, name, func(rule rdb.Rule) rdb.Rule {
		if Held(rule) {
			return rdb.Rule{Paused: rule.Paused}
		}
		return rule
	})
	return err
}

// rewrite changes a rule, and returns what it is then.
func rewrite(ctx context.Context, store *rdb.Store, name string, change func(rdb.Rule) rdb.Rule) (rdb.Rule, error) {
	for range backoff.Rereads(ctx) {
		text, err := store.RuleOf(ctx, name)
		if err != nil {
			return rdb.Rule{}, err
		}
		before, err := rdb.ParseRule(text)
		if err != nil {
			return rdb.Rule{}, err
		}
		after := change(before)
		if after.Text() == text {
			return after, nil
		}
		anew := after.Filling != "" && !Held(after) && after.Filling != before.Filling
		done, err := store.SetRule(ctx, name, text, after.Text(), anew)
		if err != nil || done {
			return after, err
		}
	}
	return rdb.Rule{}, errContended
}
