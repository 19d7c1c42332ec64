package work

import (
	"context"

	"github.com/265d0351/work/internal/rdb"
)

// tidyFlags goes on with the walk over the jobs that are to be cancelled: it removes flags that belong to none, and
// ends jobs on shelves. Whoever cancelled such a one has gone away before it could do that; nobody else comes by it for
// long.
func (j *janitor) tidyFlags(ctx context.Context) error {
	store := j.worker.store
	next, _, flagged, err := rdb.Mender{Store: store, Mend: true}.Flags(ctx, j.flags)
	if err != nil {
		return err
	}
	j.flags = next
	c := &cancelling{store: store, flagged: map[string]bool{}, shelvesOnly: true,
		results: make([]CancelResult, len(flagged))}
	for i, id := range flagged {
		c.results[i].ID = id
	}
	for rest := c.results; len(rest) > 0; {
		done, err := c.some(ctx, rest)
		if err != nil {
			return err
		}
		rest = rest[done:]
	}
	return nil
}

// checkFlags reports flags of cancellation that belong to no job.
func (d *doctor) checkFlags(ctx context.Context) error {
	for cursor := ""; cursor != "0"; {
		next, stray, _, err := d.mend.Flags(ctx, cursor)
		if err != nil {
			return err
		}
		cursor = next
		for _, id := range stray {
			d.find(Finding{Check: CheckLeftover, Key: d.store.FullName("cancelled"), ID: id, Repaired: d.repair,
				Detail: "it is to be cancelled, and has no record"})
		}
	}
	return nil
}
