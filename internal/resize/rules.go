package resize

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// current is the store of a partition for who goes by the newest map.
func current(directory *partition.Directory, i int) *rdb.Store {
	return directory.Store(i).AtMap(directory.Map().Version)
}

// carryRules holds the limits of names at the source and makes them known at the target, held as well: none of their
// jobs begins until they are there, so that order and limits are kept.
func (m *mover) carryRules(ctx context.Context, target int, names []string) error {
	for _, name := range names {
		if err := m.store.KeepLead(ctx, m.lead); err != nil {
			return at(m.source, err)
		}
		rule, err := limit.Hold(ctx, current(m.directory, m.source), name)
		if err != nil {
			return at(m.source, err)
		}
		if err := limit.Carry(ctx, current(m.directory, target), name, rule); err != nil {
			return at(target, err)
		}
		if err := m.store.CopyRate(ctx, m.directory.Store(target), name); err != nil {
			return at(target, err)
		}
	}
	return nil
}

// settleRules puts in force the limits that are held where their names live, and takes away those that names have left
// behind, once none of their jobs is there. It returns how many are left.
func settleRules(ctx context.Context, directory *partition.Directory, i int) (left int, err error) {
	m, store := directory.Map(), current(directory, i)
	rules, err := store.Rules(ctx)
	if err != nil {
		return 0, at(i, err)
	}
	var stragglers []rdb.Absent
	read := false
	for name, text := range rules {
		rule, err := rdb.ParseRule(text)
		if err != nil || !limit.Held(rule) {
			continue
		}
		if !read {
			if stragglers, err = store.Stragglers(ctx); err != nil {
				return left, at(i, err)
			}
			read = true
		}
		switch home := m.Home(partition.Job{Name: name}); {
		case home.Moving:
			left++
		case home.Bound && home.Partition != i:
			if slices.ContainsFunc(stragglers, func(s rdb.Absent) bool { return s.Queue == name }) {
				left++
			} else if err := limit.LeaveBehind(ctx, store, name); err != nil {
				return left, at(i, err)
			}
		default:
			if err := limit.Release(ctx, store, name); err != nil {
				return left, at(i, err)
			}
		}
	}
	return left, nil
}

// moveWaiting brings the waiting jobs of names to the target, the first ones first.
func (m *mover) moveWaiting(ctx context.Context, target int, names []string) error {
	for _, name := range names {
		for before := ""; ; {
			ids, err := m.store.FrontOf(ctx, name)
			if err != nil {
				return at(m.source, err)
			}
			if len(ids) == 0 || ids[0] == before { // what is left has no record
				break
			}
			before = ids[0]
			items := make([]rdb.MoveItem, len(ids))
			for i, id := range ids {
				items[i] = rdb.MoveItem{Kind: rdb.MoveBound, ID: id, Queue: name}
			}
			if err := m.withLocks(ctx, items); err != nil {
				return err
			}
			if err := m.transfer(ctx, target, items, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// withLocks notes the locks that the records of jobs name.
func (m *mover) withLocks(ctx context.Context, items []rdb.MoveItem) error {
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	records, err := m.store.Records(ctx, ids)
	if err != nil {
		return at(m.source, err)
	}
	for i := range items {
		if job, _ := homeOf(m.directory.Map(), items[i].ID, records[i]); job.Name != "" {
			items[i].Digest = job.Lock
		}
	}
	return nil
}
