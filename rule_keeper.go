package work

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/rdb"
)

// ruleKeeper puts right what was left of limits: it finishes counts that somebody began and did not finish, and takes out of
// what counts towards a limit what nobody holds. The janitor calls it in each of its rounds.
type ruleKeeper struct{ rounds int }

// recountRounds is in how many rounds what counts is compared with what is held. In good order they agree: what is left over
// comes from workers that ended jobs while there was no rule at all.
const recountRounds = 6

func (k *ruleKeeper) keep(ctx context.Context, store *rdb.Store) error {
	k.rounds++
	rules, err := store.Rules(ctx)
	if err != nil {
		return err
	}
	var failed error
	for name, text := range rules {
		if rule, err := rdb.ParseRule(text); err == nil { // one that cannot be read is shown by Inspector.Limits
			failed = errors.Join(failed, fillRule(ctx, store, name, rule.Filling))
		}
	}
	if k.rounds%recountRounds == 0 {
		failed = errors.Join(failed, recount(ctx, store, rules))
	}
	return failed
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
	for page := range slices.Chunk(slices.Sorted(maps.Keys(names)), rdb.MaxBatch) {
		counted, err := store.Counted(ctx, page)
		if err != nil {
			return err
		}
		for i, name := range page {
			if counted[i] == 0 {
				continue
			}
			removed, err := store.Recount(ctx, name)
			if err == nil && removed > 0 {
				err = store.Wake(ctx, []string{name})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
