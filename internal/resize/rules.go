package resize

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/needs"
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
			if slices.ContainsFunc(stragglers, func(s rdb.Absent) bool { return needs.Name(s.Queue) == name }) {
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
	queues, err := m.store.QueuesOf(ctx, names)
	if err != nil {
		return at(m.source, err)
	}
	for _, name := range queues {
		if err := m.moveHolders(ctx, target, name); err != nil {
			return err
		}
		for _, front := range m.fronts() {
			if err := m.moveFront(ctx, target, name, front); err != nil {
				return err
			}
		}
	}
	return nil
}

// reading reads the first ids of those that wait for a queue.
type reading func(ctx context.Context, name string) ([]string, error)

// fronts are the ways in which jobs wait: in a list, or by turns.
func (m *mover) fronts() []reading { return []reading{m.store.FrontOf, m.store.FrontTurns} }

// moveFront brings those jobs of a name to the target that wait in one way.
func (m *mover) moveFront(ctx context.Context, target int, name string, front reading) error {
	for before := ""; ; {
		ids, err := front(ctx, name)
		if err != nil {
			return at(m.source, err)
		}
		if len(ids) == 0 || ids[0] == before { // what is left has no record
			return nil
		}
		before = ids[0]
		items := make([]rdb.MoveItem, len(ids))
		for i, id := range ids {
			items[i] = rdb.MoveItem{Kind: rdb.MoveBound, ID: id, Queue: name}
		}
		if items, err = m.withBonds(ctx, items); err != nil {
			return err
		}
		if err := m.transfer(ctx, target, items, false); err != nil {
			return err
		}
	}
}

// withBonds notes the keys and the locks that the records of jobs name, and leaves out members of flows, which stay.
func (m *mover) withBonds(ctx context.Context, items []rdb.MoveItem) ([]rdb.MoveItem, error) {
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	records, err := m.store.Records(ctx, ids)
	if err != nil {
		return nil, at(m.source, err)
	}
	bound := items[:0]
	for i, item := range items {
		if job, _ := homeOf(m.directory.Map(), item.ID, records[i]); job.Name != "" {
			item.Digest, item.Key = job.Lock, job.Key
		} else if isMember(records[i]) {
			continue
		}
		bound = append(bound, item)
	}
	return bound, nil
}
