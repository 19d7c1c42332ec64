package flowdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/span"
)

var removeScript = redisconn.Load("flow/remove")

// ToRemove are flows that have ended and are kept no longer, and those that were never sealed and of which nobody
// has stored a part for so long. There may be more. Where none has ended or is unsealed that is one request.
func (f Flows) ToRemove(ctx context.Context, unsealed time.Duration) (over, cutOff []string, err error) {
	exist, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "EXISTS",
		Args: []any{f.over(), f.filling()}})
	if exist == int64(0) || err != nil {
		return nil, nil, err
	}
	now, err := f.store.Time(ctx)
	if err != nil {
		return nil, nil, err
	}
	upTo := func(key string, t time.Time) ([]string, error) {
		return f.ids(ctx, "ZRANGEBYSCORE", key, "-inf", t.UnixMilli(), "LIMIT", 0, rdb.MaxBatch)
	}
	if over, err = upTo(f.over(), now); err != nil {
		return nil, nil, err
	}
	cutOff, err = upTo(f.filling(), now.Add(-unsealed))
	return over, cutOff, err
}

// Remove removes a flow that has ended, if its time is over; if unsealed is above 0, one that was never sealed, if
// nobody has stored a part of it for so long. It returns whether it did.
func (f Flows) Remove(ctx context.Context, id string, unsealed time.Duration) (bool, error) {
	return f.remove(ctx, id, span.Millis(unsealed))
}

// Forget removes a flow that has ended, whenever that was; one that is in another only when that is being removed, or
// is gone. It returns whether it did.
func (f Flows) Forget(ctx context.Context, id string) (bool, error) { return f.remove(ctx, id, -1) }

func (f Flows) remove(ctx context.Context, id string, age int64) (bool, error) {
	call := func(emptied bool) (int64, error) {
		value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Script: removeScript,
			Keys: f.withOuter(append(f.keys(id)[:rdb.FlowOwn:rdb.FlowOwn], f.busy(), f.over(), f.all(), f.filling()),
				id),
			Args: []any{id, age, emptied}})
		n, _ := value.(int64)
		return n, err
	}
	n, err := call(false)
	if n == innerFirst && err == nil {
		err = f.removeInner(ctx, id)
		if err == nil {
			err = f.removeAway(ctx, id)
		}
		if err == nil {
			err = f.FreeLocks(ctx, id)
		}
		if err == nil {
			n, err = call(true)
		}
	}
	return n == 1, err
}

// innerFirst is what flow/remove answers where the flows that are in one are to be removed before it, and the locks of
// its members to be freed.
const innerFirst = 2

// removeAway removes the members of a flow that is being removed from the partitions where they are at home.
func (f Flows) removeAway(ctx context.Context, id string) error {
	return f.EachAway(ctx, id, func(members []string) error {
		stand, err := f.Stand(ctx, members...)
		if err != nil {
			return err
		}
		by := map[int][]string{}
		for i, member := range members {
			if stand[i].Away {
				by[stand[i].At] = append(by[stand[i].At], member)
			}
		}
		for at, those := range by {
			there := f.store.Other(at)
			if there == nil {
				continue // there can be no such partition
			}
			looks, none := make([]Order, len(those)), make([]string, len(those))
			for i := range looks {
				looks[i].Word = OrderLook
			}
			reports, err := Of(there).Orders(ctx, those, looks, none)
			if err != nil {
				return err
			}
			orders, err := f.Hear(ctx, those, at, reports)
			if err != nil {
				return err
			}
			for i := range orders {
				if orders[i].Word != OrderRemove {
					orders[i].Word = OrderLook
				}
			}
			if _, err := Of(there).Orders(ctx, those, orders, none); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeInner removes the flows that are in one which is being removed.
func (f Flows) removeInner(ctx context.Context, id string) error {
	return f.EachInner(ctx, id, func(inner string) error {
		_, err := f.Forget(ctx, inner)
		return err
	})
}
