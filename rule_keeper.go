package work

import (
	"context"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// ruleKeeper puts right what was left of limits: it finishes counts that somebody began and did not finish, and takes
// out of what counts towards a limit what nobody holds. The janitor calls it in each of its rounds.
type ruleKeeper struct{ rounds int }

// recountRounds is in how many rounds what counts is compared with what is held. In good order they agree: what is left
// over comes from workers that ended jobs while there was no rule at all.
const recountRounds = 6

func (k *ruleKeeper) keep(ctx context.Context, store *rdb.Store) error {
	k.rounds++
	rules, err := store.Rules(ctx)
	if err != nil {
		return err
	}
	fillings := map[string]string{}
	for name, text := range rules {
		// one that cannot be read is shown by Inspector.Limits
		if rule, err := rdb.ParseRule(text); err == nil && rule.Filling != "" {
			fillings[name] = rule.Filling
		}
	}
	refused, err := fillRules(ctx, store, fillings)
	failed := append(slices.Collect(maps.Values(refused)), err)
	if k.rounds%recountRounds == 0 {
		failed = append(failed, recount(ctx, store, rules))
	}
	return excerpt.Join(failed...)
}

// recount compares what counts with what is held, for all names that are known.
func recount(ctx context.Context, store *rdb.Store, rules map[string]string) error {
	names := maps.Clone(rules)
	err := store.Walk(ctx, rdb.Key{Name: "queues", Type: "zset"}, func(page []rdb.Field) error {
		for _, field := range page {
			names[field.Name] = ""
		}
		return nil
	})
	if err != nil {
		return err
	}
	all := slices.Sorted(maps.Keys(names))
	counted, err := store.Counted(ctx, all)
	if err != nil {
		return err
	}
	counting := all[:0]
	for i, name := range all {
		if counted[i] > 0 {
			counting = append(counting, name)
		}
	}
	removed, err := store.Recount(ctx, counting...)
	return excerpt.Join(err, store.Wake(ctx, slices.Sorted(maps.Keys(removed))))
}
