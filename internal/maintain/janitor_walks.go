package maintain

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/rdb"
)

// walk goes on with a walk from where the last turn has left it, at most so many parts of it: one that began anew each
// turn would never come to what is behind the first parts. A part that failed is read again.
func walk(ctx context.Context, cursor *string, parts int,
	part func(ctx context.Context, cursor string) (next string, err error)) error {
	for range parts {
		next, err := part(ctx, *cursor)
		if err != nil {
			return err
		}
		if *cursor = next; next == "0" {
			return nil
		}
	}
	return nil
}

// walkParts is how many parts of 500 one turn of the janitor reads of what grows with the number of clients.
const walkParts = 100

func (j *Janitor) removeStaleLanes(ctx context.Context) error {
	return walk(ctx, &j.lanes, walkParts, func(ctx context.Context, cursor string) (string, error) {
		return j.env.Store.RemoveStaleLanes(ctx, cursor, 24*time.Hour)
	})
}

func (j *Janitor) forgetWaiters(ctx context.Context) error {
	return walk(ctx, &j.waiters, walkParts, j.env.Store.ForgetWaiters)
}

func (j *Janitor) removeExpiredOutcomes(ctx context.Context) error {
	for {
		expired, err := j.env.Store.RemoveExpiredOutcomes(ctx, j.endings)
		if err != nil {
			return err
		}
		if j.endings = append(j.endings, expired.Unknown...); len(j.endings) > maxEndings {
			j.endings = expired.Unknown
		}
		if !expired.More && len(expired.Unknown) == 0 {
			return nil
		}
	}
}

// maxEndings is of how many states and names the janitor remembers how outcomes begin, so that it need not ask.
const maxEndings = 200

// FreeLocks goes on with the walk over the locks of unique jobs, and removes those that hold nothing.
func (j *Janitor) FreeLocks(ctx context.Context) error {
	for range joblessParts {
		next, _, err := j.env.Store.FreeLocks(ctx, j.locks)
		if err != nil {
			return err
		}
		if j.locks = next; next == "" {
			return nil
		}
	}
	return nil
}

// tidyFlags goes on with the walk over the jobs that are to be cancelled: it removes flags that belong to none, and
// ends jobs on shelves. Whoever cancelled such a one has gone away before it could do that; nobody else comes by it for
// long.
func (j *Janitor) tidyFlags(ctx context.Context) error {
	store := j.env.Store
	next, _, flagged, err := rdb.Mender{Store: store, Mend: true}.Flags(ctx, j.flags)
	if err != nil {
		return err
	}
	j.flags = next
	return ending.CancelOnShelves(ctx, store, flagged)
}

// collectSteps is how much of the walk over the objects one turn of the janitor does: about so many times 100 objects,
// or 500 references.
const collectSteps = 20

// collectObjects goes on with the walk that removes what no job needs any more.
func (j *Janitor) collectObjects(ctx context.Context) error {
	for range collectSteps {
		_, done, err := j.opts.Objects.Step(ctx)
		if err != nil || done {
			return err
		}
	}
	return nil
}
