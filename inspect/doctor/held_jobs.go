package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// checkHeld asks living workers whether they hold what Redis says they do: a claim may have come back that its worker
// has ended, with a replica that took over. A claim that is young may be on its way to its worker.
func (d *doctor) checkHeld(ctx context.Context) error {
	if len(d.claims) == 0 {
		return nil
	}
	workers := make(map[string]bool, len(d.claims))
	for id := range d.claims {
		workers[id] = true
	}
	patience, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	held, err := d.store.AskHeld(patience, ids.Random(8), workers)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	alive, err := d.store.Alive(ctx, slices.Collect(maps.Keys(workers)))
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(workers)) {
		elements, answered := held[id]
		if !answered {
			if alive[id] {
				d.find(Finding{Check: CheckSilent, ID: id, Detail: fmt.Sprintf(
					"it has a heartbeat, and has not said within %s whether it holds %s", age(d.patience),
					countOf(len(d.claims[id]), "job"))})
			}
			continue
		}
		unheld := slices.DeleteFunc(d.claims[id], func(h rdb.Holding) bool { return elements[h.Element()] })
		if err := d.checkUnheld(ctx, id, unheld); err != nil {
			return err
		}
	}
	return nil
}

// checkUnheld reports claims that their worker does not hold, unless they have ended meanwhile. A repair gives them
// back.
func (d *doctor) checkUnheld(ctx context.Context, worker string, claims []rdb.Holding) error {
	still, err := d.store.StillClaimed(ctx, worker, claims)
	if err != nil {
		return err
	}
	for _, h := range still {
		f := Finding{Check: CheckForgotten, Key: d.store.FullName("claimed"), ID: h.ID, Queue: h.Queue,
			Detail: fmt.Sprintf("worker %s claims it, and says that it does not hold it", worker)}
		if d.repair {
			of := d.store.Worker(worker)
			settled, err := of.Settle(ctx,
				[]redisconn.Call{of.Release(rdb.Released{Queue: h.Queue, Elements: []string{h.Element()}})})
			if err != nil {
				return err
			}
			f.Repaired = settled[0].Err == nil && len(settled[0].Gone) == 0
		}
		d.find(f)
	}
	return nil
}
