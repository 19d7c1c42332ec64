package resize

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// Limits and the order of a key hold while it moves, since at any time one partition alone lets its jobs begin that do
// not have a place of the key yet:
//
//   - From when the map says that it moves its source gives no places of it (holdKeys). The target has none of its
//     jobs.
//   - Those that have a place go first, or are told of, where a worker holds them: the target counts them before it has
//     any that has none. What the key has used of its rate goes with each.
//   - Then those that wait, in their order.
//
// A job that is held at the source has its place at the target until it has ended, or has come there without one.

// holdKeys has the source give places to no key that is on its way from there, and to all others again: as the map
// says.
func (m *mover) holdKeys(ctx context.Context) error {
	byMap := m.directory.Map()
	leaving := rdb.Leaving{}
	for bucket := range byMap.Moving {
		if byMap.At(bucket) == m.source {
			leaving.Buckets = append(leaving.Buckets, bucket)
		}
	}
	slices.Sort(leaving.Buckets)
	for _, name := range byMap.Binding {
		if byMap.Home(partition.Job{Name: name}).Partition != m.source {
			leaving.Names = append(leaving.Names, name)
		}
	}
	m.held = len(leaving.Buckets)+len(leaving.Names) > 0
	return at(m.source, m.store.HoldKeys(ctx, m.lead, leaving))
}

// settleKeys ends what holdKeys has begun where nothing is on its way any more. It tells whether there is something
// that another mover is at.
func settleKeys(ctx context.Context, directory *partition.Directory, i int) (left int, err error) {
	held, err := directory.Store(i).KeysLeave(ctx)
	if err != nil || !held {
		return 0, at(i, err)
	}
	m, err := tryMover(ctx, directory, i)
	if err != nil || m == nil {
		return 1, err
	}
	defer m.close(ctx)
	return 0, m.holdKeys(ctx)
}

// keyRules are the rules of keys of a source as a mover has read them first, and where it has brought those of names.
type keyRules struct {
	rules  map[rdb.KeyRuleOf]string
	copied map[int]bool // by target
}

// carryKeys makes the rules of keys known at the target, where it has none: those of names, and those of the keys that
// are chosen.
func (m *mover) carryKeys(ctx context.Context, target int, chosen func(rdb.KeyRuleOf) bool) error {
	if m.keys == nil {
		rules, err := m.store.KeyRules(ctx)
		if err != nil {
			return at(m.source, err)
		}
		m.keys = &keyRules{rules: rules, copied: map[int]bool{}}
	}
	carried := map[rdb.KeyRuleOf]string{}
	for of, text := range m.keys.rules {
		if of.Key == "" && !m.keys.copied[target] || of.Key != "" && chosen(of) {
			carried[of] = text
		}
	}
	err := current(m.directory, target).AddKeyRules(ctx, carried)
	m.keys.copied[target] = err == nil
	return at(target, err)
}

// moveHolders brings the jobs of a name to the target that have places of their keys.
func (m *mover) moveHolders(ctx context.Context, target int, name string) error {
	items, err := m.store.Holders(ctx, name)
	if err != nil {
		return at(m.source, err)
	}
	for batch := range slices.Chunk(items, rdb.MaxBatch) {
		if batch, err = m.withBonds(ctx, batch); err != nil {
			return err
		}
		if err := m.transfer(ctx, target, batch, false); err != nil {
			return err
		}
	}
	return nil
}

// byTurns sorts what is to be moved: what has places of its keys comes first, then what waits by turns in the order of
// these, so that the jobs of a key have it at the target as well.
func (m *mover) byTurns(ctx context.Context, items []rdb.MoveItem) error {
	keyed := slices.DeleteFunc(slices.Clone(items), func(item rdb.MoveItem) bool { return item.Key == "" })
	if len(keyed) == 0 {
		return nil
	}
	passes, err := m.store.Passes(ctx, keyed)
	if err != nil {
		return err
	}
	of := make(map[string]float64, len(keyed))
	for i, item := range keyed {
		of[item.ID] = passes[i]
	}
	pass := func(item rdb.MoveItem) float64 {
		if item.Key == "" {
			return math.Inf(1)
		}
		return of[item.ID]
	}
	slices.SortStableFunc(items, func(a, b rdb.MoveItem) int { return cmp.Compare(pass(a), pass(b)) })
	return nil
}
