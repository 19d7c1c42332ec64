package inspect

import (
	"context"
	"fmt"

	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/excerpt"
)

// PurgeOptions says how a purge is watched. The zero value is fine.
type PurgeOptions struct {
	Progress func(removed int) // called after each step, by the goroutine that purges, with how many are gone so far
}

// Purge removes the jobs that wait in the queue of a name, those at the front first, and returns how many that were. It
// looks at as many as wait when it begins, in steps of at most 500, so that it ends although others enqueue meanwhile.
// What runs, is scheduled, or waits for a retry stays. Who waits for the outcome of such a job learns that it was
// deleted. One that somebody has cancelled ends as cancelled, and is not counted. When ctx ends or Redis fails, what
// was removed so far is gone.
func (i *Inspector) Purge(ctx context.Context, name string, opts PurgeOptions) (removed int, err error) {
	err = inTurn(ctx, i.everywhere(ctx), func(v *view) error {
		before := removed
		here, err := ending.Purge(ctx, v.store, name, func(here int) {
			if opts.Progress != nil {
				opts.Progress(before + here)
			}
		})
		removed += here
		if err != nil {
			return fmt.Errorf("queue %s was not purged to its end: %w", excerpt.Brief(name), err)
		}
		return nil
	})
	return removed, err
}
