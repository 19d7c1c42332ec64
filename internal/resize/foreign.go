package resize

import (
	"context"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// foreigners are jobs that count in the source of a mover, as they live there, while workers of other partitions hold
// them. Where their home goes on to a third partition, those that hold them are told that one. Would the source tell it
// instead, and so become one of those that hold them, it would never hear of their end.
type foreigners struct {
	m       *mover
	leaves  func(rdb.Absent) bool
	origins map[int]*mover // who leads where they are held
}

// foreigners begins to lead wherever such jobs are held that are to leave. Where another mover leads that is an
// [rdb.ErrLed]. Close it.
func (m *mover) foreigners(ctx context.Context, target int, leaves func(rdb.Absent) bool) (*foreigners, error) {
	f := &foreigners{m: m, leaves: leaves, origins: map[int]*mover{}}
	return f, f.lead(ctx, target)
}

func (f *foreigners) lead(ctx context.Context, target int) error {
	jobs, err := f.m.store.Foreign(ctx)
	if err != nil {
		return at(f.m.source, err)
	}
	for _, job := range jobs {
		if origin := job.Partition; origin != target && f.leaves(job) && f.origins[origin] == nil {
			other, err := tryMover(ctx, f.m.directory, origin)
			if err != nil {
				return err
			}
			if other == nil {
				return at(origin, rdb.ErrLed)
			}
			f.origins[origin] = other
			if err := other.finish(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *foreigners) close(ctx context.Context) {
	for _, origin := range f.origins {
		origin.close(ctx)
	}
}

// redirect has them count at the target, or brings them there if nobody holds them any more, and forgets them at the
// source. Nothing of what leaves may be stored there meanwhile. It returns those that the target itself holds: they go
// home like all that leaves.
func (f *foreigners) redirect(ctx context.Context, target int) (home []rdb.MoveItem, err error) {
	if err := f.lead(ctx, target); err != nil { // some may have come since
		return nil, err
	}
	jobs, err := f.m.store.Foreign(ctx)
	if err != nil {
		return nil, at(f.m.source, err)
	}
	byOrigin := map[int][]rdb.Absent{}
	for _, job := range jobs {
		if f.leaves(job) {
			byOrigin[job.Partition] = append(byOrigin[job.Partition], job)
		}
	}
	for origin, jobs := range byOrigin {
		items := make([]rdb.MoveItem, len(jobs))
		for i, job := range jobs {
			items[i] = boundItem(job)
		}
		if origin == target {
			home = items
			continue
		}
		if err := f.origins[origin].transfer(ctx, target, items, true); err != nil {
			return nil, err
		}
		if err := f.m.forget(ctx, jobs); err != nil {
			return nil, err
		}
	}
	return home, nil
}

// forget takes jobs out of what counts at the source, which are told of by those who hold them.
func (m *mover) forget(ctx context.Context, jobs []rdb.Absent) error {
	var home rdb.HandedOver
	for i, job := range jobs {
		home.Moved = append(home.Moved,
			rdb.Moved{What: rdb.MovedHeld, ID: job.ID, Queue: job.Queue, Key: job.Key, Digest: job.Digest})
		home.Received.Home = append(home.Received.Home, i)
	}
	_, err := m.store.HandOver(ctx, m.lead, 0, home)
	return at(m.source, err)
}

func boundItem(job rdb.Absent) rdb.MoveItem {
	return rdb.MoveItem{Kind: rdb.MoveBound, ID: job.ID, Digest: job.Digest, Queue: job.Queue, Key: job.Key}
}

// homeOfItem is where a bound job lives of which it was noted how: one without a key and a lock is bound by its name
// or its id.
func homeOfItem(m *partition.Map, item rdb.MoveItem) partition.Home {
	job := partition.Job{Name: item.Queue, Key: item.Key, Lock: item.Digest}
	if item.Digest == "" {
		job.Given = item.ID
	}
	return m.Home(job)
}
