package work

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// PurgeOptions says how a purge is watched. The zero value is fine.
type PurgeOptions struct {
	Progress func(removed int) // called after each step, by the goroutine that purges, with how many are gone so far
}

// Purge removes the jobs that wait in the queue of a name, those at the front first, and returns how many that were. It
// looks at as many as wait when it begins, in steps of at most 500, so that it ends although others enqueue meanwhile. What
// runs, is scheduled, or waits for a retry stays. Who waits for the outcome of such a job learns that it was deleted. When
// ctx ends or Redis fails, what was removed so far is gone.
func (i *Inspector) Purge(ctx context.Context, name string, opts PurgeOptions) (removed int, err error) {
	if i.unusable != nil {
		return 0, i.unusable
	}
	lengths, err := i.store.Sizes(ctx, []rdb.Key{{Name: "queue:" + name, Type: "list"}})
	if err != nil {
		return 0, fmt.Errorf("queue %s was not purged: %w", quoted(name), err)
	}
	var front rdb.FrontReader
	for left := lengths[0]; left > 0; {
		part, err := front.Next(ctx, i.store, name, left)
		if err == nil && len(part) == 0 {
			return removed, nil
		}
		n := 0
		if err == nil {
			n, err = i.purgePart(ctx, name, part)
		}
		removed += n
		if err != nil {
			return removed, fmt.Errorf("queue %s was not purged to its end: %w", quoted(name), err)
		}
		if opts.Progress != nil {
			opts.Progress(removed)
		}
		left -= len(part)
	}
	return removed, nil
}

// purgePart removes what was seen at the front of a queue: plain jobs together, each other one with all that belongs to it.
func (i *Inspector) purgePart(ctx context.Context, name string, part []rdb.Waiter) (removed int, err error) {
	now, err := i.store.Time(ctx)
	if err != nil {
		return 0, err
	}
	byID := make(map[string]rdb.Waiter, len(part))
	var plain []string
	var ends []rdb.Resting
	for _, waiter := range part {
		byID[waiter.ID] = waiter
		if resting := deletion(name, waiter, now); resting.Belongings.None() {
			plain = append(plain, waiter.ID)
		} else {
			ends = append(ends, resting)
		}
	}
	removed, err = i.endWaiting(ctx, ends)
	for err == nil {
		n, asked, failed := i.store.Purge(ctx, name, len(part), plain)
		removed += n
		if failed != nil || len(asked) == 0 {
			return removed, failed
		}
		ends, plain = ends[:0], nil // once more without ids: the queue may be empty after these
		for _, id := range asked {
			ends = append(ends, deletion(name, byID[id], now))
		}
		n, err = i.endWaiting(ctx, ends)
		removed += n
	}
	return removed, err
}

func (i *Inspector) endWaiting(ctx context.Context, jobs []rdb.Resting) (ended int, err error) {
	rested, err := i.store.EndResting(ctx, jobs)
	for _, answer := range rested {
		if answer == rdb.RestedEnded {
			ended++
		}
	}
	return ended, err
}

// deletion is the end of a job that waits. A record that cannot be read has no belongings that anybody could know of.
func deletion(name string, waiter rdb.Waiter, now time.Time) rdb.Resting {
	rec, _ := decodeRecord(waiter.Record)
	return rdb.Resting{Spot: rdb.SpotQueue, Ending: rdb.Ending{
		ID: waiter.ID, Queue: name, State: string(StateDeleted), Keep: discardRetention,
		Outcome:    outcome{State: string(StateDeleted), EndedAt: now.UnixMilli()}.encode(),
		Belongings: restingRun(rec, waiter.Trail).belongings(),
	}}
}
