package resize

import (
	"context"
	"errors"
	"slices"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// present stores a batch at its target, with what belongs to it. By the newest map of both the target may be on its way
// out: then it takes nothing that lives anywhere, unless it has done so before.
func (m *mover) present(ctx context.Context, target *rdb.Store, f rdb.Frozen) (rdb.Received, error) {
	to := f.Target.Partition
	for completed := false; ; {
		byMap := m.directory.Map()
		if to != m.source && !takes(byMap, f) {
			return m.taken(ctx, target, f)
		}
		if to != m.source && !completed {
			if err := m.complete(ctx, target, f.Moved); err != nil {
				return rdb.Received{}, err
			}
			completed = true
		}
		received, err := target.Receive(ctx, rdb.Reception{Source: m.source, Batch: f.Batch, Front: f.Target.Front,
			Map: byMap.Version}, f.Moved)
		var newer *rdb.RouteError
		if !errors.As(err, &newer) {
			return received, at(to, err)
		}
		if err := know(ctx, m.directory, byMap, to); err != nil {
			return rdb.Received{}, at(to, err)
		}
	}
}

// taken is what a target has answered to a batch that it would not take now: whoever sent it may not have heard that it
// did. It is asked by a map that is older than the one that it knows, by which it stores nothing, and nothing that is
// under way since either. One that is closed has none: none is closed while something is frozen.
func (m *mover) taken(ctx context.Context, target *rdb.Store, f rdb.Frozen) (rdb.Received, error) {
	to, byMap := f.Target.Partition, m.directory.Map()
	if byMap.State(to) == partition.Closed {
		return rdb.Received{}, at(to, rdb.ErrNotTaken)
	}
	if err := know(ctx, m.directory, byMap, to); err != nil {
		return rdb.Received{}, at(to, err)
	}
	received, err := target.Receive(ctx, rdb.Reception{Source: m.source, Batch: f.Batch, Front: f.Target.Front},
		f.Moved)
	var never *rdb.RouteError
	if errors.As(err, &never) {
		err = rdb.ErrNotTaken
	}
	return received, at(to, err)
}

// takes tells whether the target of a batch may have it.
func takes(m *partition.Map, f rdb.Frozen) bool {
	switch m.State(f.Target.Partition) {
	case partition.Open:
		return true
	case partition.Closed:
		return false
	}
	for i := range f.Moved {
		if job := &f.Moved[i]; job.What == rdb.MovedJob {
			if _, home := homeOf(m, job.ID, job.Record); !home.Bound {
				return false
			}
		}
	}
	return true
}

// takeBack puts a batch where it was, as its target does not take it, and returns why.
func (m *mover) takeBack(ctx context.Context, f rdb.Frozen, why error) error {
	if f.Target.Partition == m.source {
		return why
	}
	var frozen []rdb.Moved
	for _, moved := range f.Moved {
		if moved.What == rdb.MovedJob || moved.What == rdb.MovedSchedule {
			frozen = append(frozen, moved)
		}
	}
	if len(frozen) == 0 {
		return why
	}
	if !f.Target.Front { // what goes to the front comes the last one first
		slices.Reverse(frozen)
	}
	if err := m.store.Thaw(ctx, m.lead, f.Number, m.source); err != nil {
		return at(m.source, err)
	}
	f.Moved, f.Target = frozen, rdb.Target{Partition: m.source, Front: true}
	if _, err := m.deliver(ctx, f); err != nil {
		return err
	}
	return why
}
