package inspect

import (
	"context"
	"fmt"

	"github.com/265d0351/work"
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
// was removed so far is gone. In a queue that the name shares with others (work.JobOptions.Queue) only jobs of the name
// are removed; by the name of such a queue all are.
func (i *Inspector) Purge(ctx context.Context, name string, opts PurgeOptions) (removed int, err error) {
	of := i.everywhere(ctx)
	err = inTurn(ctx, of, func(v *view) error {
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
	if err != nil || len(i.partitions.Map().SharedBy(name)) == 0 {
		return removed, err
	}
	report, err := i.Bulk(ctx, Selection{State: work.StateQueued, Name: name}, ActionDelete, BulkOptions{})
	return removed + report.Done, err
}
