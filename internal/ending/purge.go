package ending

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
)

// Purge removes the jobs of a name that wait, whatever they need, those at the front first, as many as wait when it
// begins, and returns how many that were. progress is told after each step, of at most 500, how many are gone so far;
// it may be nil.
func Purge(ctx context.Context, store *rdb.Store, name string, progress func(removed int)) (removed int, err error) {
	queues, err := store.QueuesOf(ctx, []string{name})
	p := purge{store: store, progress: progress}
	for _, queue := range queues {
		if err = p.empty(ctx, queue); err != nil {
			break
		}
	}
	return p.removed, err
}

// empty removes what waits in a queue.
func (p *purge) empty(ctx context.Context, queue string) error {
	lengths, err := p.store.Sizes(ctx, []rdb.Key{{Name: "queue:" + queue, Type: "list"}})
	if err != nil {
		return err
	}
	all, err := p.store.Length(ctx, queue, "")
	if err != nil {
		return err
	}
	p.queue = queue
	if err := p.run(ctx, rdb.FrontReader{}, lengths[0]); err != nil {
		return err
	}
	return p.run(ctx, rdb.FrontReader{ByTurns: true}, all-lengths[0])
}

// purge is one Purge under way.
type purge struct {
	store    *rdb.Store
	queue    string
	progress func(removed int)
	removed  int
}

// run removes so many of what a reader reads.
func (p *purge) run(ctx context.Context, front rdb.FrontReader, left int) error {
	for left > 0 {
		part, err := front.Next(ctx, p.store, p.queue, left)
		if err != nil || len(part) == 0 {
			return err
		}
		n, err := purgePart(ctx, p.store, p.queue, purgedPart{part, front.ByTurns})
		p.removed += n
		if err != nil {
			return err
		}
		if p.progress != nil {
			p.progress(p.removed)
		}
		left -= len(part)
	}
	return nil
}

// purgedPart are jobs that wait, in the list of their queue or by turns.
type purgedPart struct {
	jobs    []rdb.Waiter
	byTurns bool
}

// reach is how many ids of the list the script looks at.
func (p *purgedPart) reach() int {
	if p.byTurns {
		return 0
	}
	return len(p.jobs)
}

// purgePart removes what was seen at the front of a queue: plain jobs together, each other one with all that belongs to
// it.
func purgePart(ctx context.Context, store *rdb.Store, queue string, part purgedPart) (removed int, err error) {
	now, err := store.Time(ctx)
	if err != nil {
		return 0, err
	}
	p := &purging{store: store, queue: queue, now: now, byTurns: part.byTurns,
		waiters: make(map[string]rdb.Waiter, len(part.jobs))}
	var plain, others []string
	for _, waiter := range part.jobs {
		p.waiters[waiter.ID] = waiter
		if end := p.resting(waiter.ID).Deleted(0); end.None() && end.Details == nil {
			plain = append(plain, waiter.ID)
		} else {
			others = append(others, waiter.ID)
		}
	}
	removed, err = p.end(ctx, others)
	for err == nil {
		purged, failed := store.Purge(ctx, queue, part.reach(), plain)
		removed += purged.Removed
		left := slices.Concat(purged.Waited, purged.Cancelled)
		if failed != nil || len(left) == 0 {
			return removed, failed
		}
		plain = nil // once more without ids: the queue may be empty after these
		n, failed := p.end(ctx, left)
		removed, err = removed+n, failed
	}
	return removed, err
}

// purging is what is known of jobs of one queue that are purged.
type purging struct {
	store   *rdb.Store
	queue   string
	now     time.Time
	byTurns bool
	waiters map[string]rdb.Waiter
}

// end deletes jobs each with all that belongs to it, and returns how many it did delete. Those that somebody has
// cancelled end so.
func (p *purging) end(ctx context.Context, ids []string) (deleted int, err error) {
	deletions := make([]rdb.UnheldJob, len(ids))
	for n, id := range ids {
		deletions[n] = p.unheldJob(id, p.resting(id).Deleted(Kept))
	}
	rested, err := p.store.EndUnheld(ctx, deletions)
	var cancellations []rdb.UnheldJob
	for n, answer := range rested {
		switch answer {
		case rdb.EndDone:
			deleted++
		case rdb.EndCancelled:
			cancellations = append(cancellations,
				p.unheldJob(ids[n], p.resting(ids[n]).Cancelled()))
		}
	}
	if err == nil && len(cancellations) > 0 {
		_, err = p.store.EndUnheld(ctx, cancellations)
	}
	return deleted, err
}

func (p *purging) unheldJob(id string, end rdb.Ending) rdb.UnheldJob {
	end.ID, end.Queue = id, p.queue
	spot := rdb.SpotQueue
	if p.byTurns {
		spot = rdb.SpotTurns
	}
	return rdb.UnheldJob{Spot: spot, Ending: end}
}

// resting is a job that waits. Of one whose record cannot be read nobody could know what it has.
func (p *purging) resting(id string) Resting {
	waiter := p.waiters[id]
	return Resting{Name: needs.Name(p.queue), Record: waiter.Record, Trail: waiter.Trail, Now: p.now}
}
