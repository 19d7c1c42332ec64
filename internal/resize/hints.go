package resize

import (
	"context"
	"errors"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// tellHints tells other partitions what was said here of queues while they were away, and forgets what they have taken.
// One that has closed is told when it is opened again. It returns how many are left; an error of one partition keeps
// it from none of the others.
func tellHints(ctx context.Context, directory *partition.Directory, i int) (left int, err error) {
	m, store := directory.Map(), current(directory, i)
	hints, err := store.Hints(ctx)
	if err != nil {
		return 0, at(i, err)
	}
	byTarget := map[int][]rdb.Hint{}
	for _, hint := range hints {
		byTarget[hint.Partition] = append(byTarget[hint.Partition], hint)
	}
	var failed []error
	for target, hints := range byTarget {
		if m.State(target) != partition.Closed {
			var pauses []rdb.Pause
			for _, hint := range hints {
				pauses = append(pauses, hint.Pause)
			}
			if err := say(ctx, current(directory, target), pauses); err != nil {
				left += len(hints)
				failed = append(failed, at(target, err))
				continue
			}
		}
		if err := store.DropHints(ctx, hints); err != nil {
			left += len(hints)
			failed = append(failed, at(i, err))
		}
	}
	var newer *rdb.RouteError
	if err := excerpt.Join(failed...); !errors.As(err, &newer) {
		return left, err
	}
	return left, directory.Refresh(ctx) // and again in the next round
}
