package limit

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// Keeper puts right what was left of limits: it finishes counts that somebody began and did not finish, takes out of
// what counts towards a limit what nobody holds, and gives what runs the places of keys that a failover took. One
// goroutine may use it: the janitor, in each of its rounds.
type Keeper struct {
	RecountEvery int // in each so many rounds it compares what counts with what is held; 0 is 6

	rounds int
}

// recountEvery is seldom, since in good order both agree: what is left over comes from workers that ended jobs while
// there was no rule at all.
const recountEvery = 6

// Keep does a round.
func (k *Keeper) Keep(ctx context.Context, store *rdb.Store) error {
	k.rounds++
	rules, err := store.Rules(ctx)
	if err != nil {
		return err
	}
	fillings := map[string]string{}
	for name, text := range rules {
		// one that cannot be read is shown by whoever lists the limits
		if rule, err := rdb.ParseRule(text); err == nil && rule.Filling != "" && !Held(rule) {
			fillings[name] = rule.Filling
		}
	}
	refused, err := fill(ctx, store, fillings)
	failed := append(slices.Collect(maps.Values(refused)), err)
	if k.rounds%cmp.Or(k.RecountEvery, recountEvery) == 0 {
		failed = append(failed, recount(ctx, store, rules), store.RecountPlaces(ctx))
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
