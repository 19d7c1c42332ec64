package work

import (
	"cmp"
	"context"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
)

// trimMorgue ends the oldest jobs of the morgue, with all that belongs to them: those over its limit, and those that
// are too old. Each ends only if it still is there since that time: somebody may have retried it.
func (j *janitor) trimMorgue(ctx context.Context) error {
	options, store := j.worker.pool.options, j.worker.store
	for size := 16; ; {
		page, err := store.Overdue(ctx, options.MorgueLimit, options.MorgueRetention, size)
		if err != nil || len(page) == 0 {
			return err
		}
		now, bytes, err := store.Describe(ctx, page)
		if err != nil {
			return err
		}
		trimmed, err := j.trim(ctx, page, now)
		if err != nil || trimmed == 0 {
			return err
		}
		size = nextPage(size, bytes)
	}
}

// trim ends jobs of the morgue and returns how many it did end. The error is the first with which Redis refused one.
func (j *janitor) trim(ctx context.Context, page []rdb.Stood, now int64) (trimmed int, err error) {
	store, remove := j.worker.store, deleting()
	todo, orders := make([]*sight, len(page)), make([]rdb.Order, len(page))
	for n, entry := range page {
		seen := &sight{Stood: entry, state: StateDead, now: now}
		seen.Queue = cmp.Or(seen.Queue, nameInRecord(seen.Record))
		todo[n], orders[n] = seen, remove.order(store, seen)
	}
	var refused error
	for len(orders) > 0 {
		obeyed, err := store.Obey(ctx, orders)
		var again []*sight
		var anew []rdb.Order
		for n, o := range obeyed {
			if o.Answer == rdb.AnswerDone {
				trimmed++
				j.worker.events.emit(event.JobTrimmed{ID: todo[n].ID, Name: todo[n].Queue})
			} else if order, ok := remove.again(store, todo[n], o.Answer); ok {
				again, anew = append(again, todo[n]), append(anew, order)
			}
			refused = cmp.Or(refused, o.Err)
		}
		if err != nil {
			return trimmed, err
		}
		todo, orders = again, anew
	}
	return trimmed, refused
}
