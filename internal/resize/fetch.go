package resize

import (
	"context"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// Fetch brings jobs that are on the shelves of other partitions to that one: members of a flow that is there, which
// have left with all that was dead when it was given up. What is on no shelf stays where it is. It waits for other
// movers, and may be repeated.
func Fetch(ctx context.Context, directory *partition.Directory, target int, ids []string) error {
	m := directory.Map()
	for source := range m.Len() {
		if source == target || m.State(source) == partition.Closed {
			continue
		}
		if err := fetchFrom(ctx, directory, source, target, ids); err != nil {
			return err
		}
	}
	return nil
}

func fetchFrom(ctx context.Context, directory *partition.Directory, source, target int, ids []string) error {
	there, err := shelved(ctx, directory.Store(source), ids)
	if err != nil {
		return at(source, err)
	}
	if len(there) == 0 { // one that is on its way is in no partition
		remaining, err := directory.Store(source).Remaining(ctx)
		if err != nil || remaining.Frozen == 0 {
			return at(source, err)
		}
	}
	m, err := newMover(ctx, directory, source)
	if err != nil {
		return err
	}
	defer m.close(ctx)
	if err := m.finish(ctx); err != nil {
		return err
	}
	if there, err = shelved(ctx, m.store, ids); err != nil {
		return at(source, err)
	}
	return m.transfer(ctx, target, there, false)
}

// shelved are those of some jobs that a partition has, to be moved from a shelf.
func shelved(ctx context.Context, store *rdb.Store, ids []string) (items []rdb.MoveItem, err error) {
	records, err := store.Records(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, raw := range records {
		if isMember(raw) {
			job, _ := bonds(&partition.Map{}, ids[i], raw)
			items = append(items,
				rdb.MoveItem{Kind: rdb.MoveLoose, ID: ids[i], Digest: job.Lock, Queue: job.Name, Key: job.Key})
		}
	}
	return items, nil
}
