package maintain

import (
	"cmp"
	"context"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// trimMorgue ends the oldest jobs of the morgue, with all that belongs to them: those over its limit, and those that
// are too old. Each ends only if it still is there since that time: somebody may have retried it.
func (j *Janitor) trimMorgue(ctx context.Context) error {
	store := j.env.Store
	for size := 16; ; {
		page, err := store.Overdue(ctx, j.opts.MorgueLimit, j.opts.MorgueRetention, size)
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
		size = rdb.NextPage(size, bytes)
	}
}

// trim ends jobs of the morgue and returns how many it did end. The error is the first with which Redis refused one.
func (j *Janitor) trim(ctx context.Context, page []rdb.SeenJob, now int64) (trimmed int, err error) {
	store := j.env.Store
	todo, orders := make([]*rdb.SeenJob, len(page)), make([]rdb.Order, len(page))
	for n := range page {
		dead := &page[n]
		dead.Queue = cmp.Or(dead.Queue, record.NameIn(dead.Record))
		todo[n], orders[n] = dead, ending.Delete(store, dead, now)
	}
	var refused error
	for len(orders) > 0 {
		obeyed, err := store.Execute(ctx, orders)
		var again []*rdb.SeenJob
		var anew []rdb.Order
		for n, o := range obeyed {
			if o.Answer == rdb.AnswerDone {
				trimmed++
				j.env.Emit(event.JobTrimmed{ID: todo[n].ID, Name: todo[n].Queue})
			} else if order, ok := ending.DeleteOtherwise(store, todo[n], now, o.Answer); ok {
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
