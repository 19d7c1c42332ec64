package work

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// corpse is a dead worker that is taken apart.
type corpse struct {
	*rdb.Worker
	queues []string // that it served
	jobs   int      // that were put back
	err    error
	failed bool // a call was refused, so the rest is left to a later look
}

func (c *corpse) refused(err error) {
	if err != nil {
		c.err, c.failed = excerpt.Join(c.err, err), true
	}
}

// bequest is a claim of a dead worker.
type bequest struct {
	rdb.Bequest
	of *corpse
}

// salvage puts the jobs of dead workers back in steps, and removes what is left of them. The workers of a process die
// together, so what they held goes back as if one had held it all: in the order in which it was fetched. A queue whose
// key is broken keeps its jobs, and the others do not wait for it. It returns the workers of whom something is left,
// and why.
func (d *deadPoolReaper) salvage(ctx context.Context, ids ...string) (left []string, err error) {
	if time.Since(d.gave) > 2*beatLife {
		d.given = map[string][]bequest{}
	}
	d.gave = time.Now()
	for open := ids; len(open) > 0; {
		corpses := make([]*corpse, len(open))
		for i, id := range open {
			corpses[i] = &corpse{Worker: d.worker.store.Worker(id)}
		}
		takeApart(ctx, corpses, d.given)
		open = nil
		for _, c := range corpses {
			if c.jobs > 0 {
				d.worker.events.emit(event.WorkerReaped{Worker: c.ID, Jobs: c.jobs})
			}
			gone := false
			if c.err == nil {
				_, gone, c.err = c.Forget(ctx, c.queues)
			}
			switch {
			case c.err != nil:
				left, err = append(left, c.ID), excerpt.Join(err, fmt.Errorf("dead worker %s: %w", c.ID, c.err))
			case !gone:
				open = append(open, c.ID)
			}
		}
	}
	return left, err
}

// takeApart gives back what workers hold, and notes with each how much that was or what is in the way. given is what
// was given back to each queue just before, oldest first.
func takeApart(ctx context.Context, corpses []*corpse, given map[string][]bequest) {
	for _, c := range corpses {
		c.queues, c.err = c.Queues(ctx)
	}
	for giveBackSome(ctx, corpses, given) {
	}
}

// giveBackSome gives the newest claims of each queue back, so that the oldest comes to stand in front in the end. It is
// false once nothing is left, or what is left cannot be given back now.
func giveBackSome(ctx context.Context, corpses []*corpse, given map[string][]bequest) (more bool) {
	byQueue := map[string][]bequest{}
	for _, c := range corpses {
		if c.failed {
			continue
		}
		left, err := c.Bequests(ctx, c.queues, true)
		c.refused(err)
		for _, of := range left {
			c.err = excerpt.Join(c.err, of.Err)
			for i, claim := range of.Claims {
				// whatever the clock says: the list has its order
				if i > 0 && claim.Fetched.Before(of.Claims[i-1].Fetched) {
					claim.Fetched = of.Claims[i-1].Fetched
					of.Claims[i] = claim
				}
				byQueue[of.Queue] = append(byQueue[of.Queue], bequest{claim, c})
			}
		}
	}
	var calls []rdb.Call
	var lots [][]bequest
	for queue, claims := range byQueue {
		for _, lot := range lotsOf(claims) {
			calls, lots = append(calls, releaseOf(queue, lot, given[queue])), append(lots, lot)
			given[queue] = append(besides(given[queue], lot), lot...)
			slices.SortStableFunc(given[queue], bequest.compare)
			given[queue] = given[queue][max(0, len(given[queue])-mostGiven):]
		}
	}
	for at := 0; at < len(calls); at += maxSettleCalls {
		end := min(len(calls), at+maxSettleCalls)
		if settleLots(ctx, calls[at:end], lots[at:end]) {
			more = true
		}
	}
	return more
}

// compare goes by Redis' clock, and within a millisecond by the numbers, which the workers of a pool share.
func (b bequest) compare(other bequest) int {
	return cmp.Or(b.Fetched.Compare(other.Fetched), cmp.Compare(b.Number, other.Number))
}

// lotsOf are the claims of each worker, as many as one call may give back, the newest first. Those of a worker go
// together: who is to blame for its death is judged by all that one call names.
func lotsOf(claims []bequest) (lots [][]bequest) {
	for len(claims) > 0 {
		to, of := 0, claims[0].of
		for to < len(claims) && claims[to].of == of {
			to++
		}
		for end := to; end > 0; end -= rdb.MaxBatch {
			lots = append(lots, claims[max(0, end-rdb.MaxBatch):end])
		}
		claims = claims[to:]
	}
	slices.SortStableFunc(lots, func(a, b []bequest) int { return b[len(b)-1].compare(a[len(a)-1]) })
	return lots
}

// releaseOf makes the call that gives a lot back, behind what is older and was given back before.
func releaseOf(queue string, lot, given []bequest) rdb.Call {
	elements, of := make([]string, len(lot)), lot[0].of
	for i, claim := range lot {
		elements[i] = claim.Element
	}
	var older []rdb.Older
	before := 0
	for _, claim := range given {
		if claim.of.ID == of.ID { // it goes by its list
			continue
		}
		for before < len(lot) && lot[before].compare(claim) < 0 {
			before++
		}
		if before == len(lot) {
			break
		}
		_, id, _ := strings.Cut(claim.Element, ":")
		older = append(older, rdb.Older{ID: id, Before: before + 1})
	}
	older = older[max(0, len(older)-rdb.MaxBatch):]
	return of.Release(rdb.Released{Queue: queue, Elements: elements, Died: of.ID, Older: older})
}

// settleLots sends the calls, and tells whether any of them gave something back.
func settleLots(ctx context.Context, calls []rdb.Call, lots [][]bequest) (some bool) {
	settled, err := lots[0][0].of.Settle(ctx, calls)
	for i, lot := range lots {
		of, failed := lot[0].of, err
		if failed == nil {
			failed = settled[i].Err
		}
		if failed != nil {
			of.refused(failed)
			continue
		}
		given := len(lot) - len(settled[i].Gone)
		of.jobs += given
		some = some || given > 0
	}
	return some
}

// mostGiven is how many claims of a queue are remembered, the newest: a call names no more than 500 that are older.
const mostGiven = 4 * rdb.MaxBatch

// besides leaves out what a lot names again: an earlier call of it was refused or not answered, or another worker has
// died with it since.
func besides(given, lot []bequest) []bequest {
	again := make(map[string]bool, len(lot))
	for _, claim := range lot {
		_, id, _ := strings.Cut(claim.Element, ":")
		again[id] = true
	}
	return slices.DeleteFunc(given, func(b bequest) bool {
		_, id, _ := strings.Cut(b.Element, ":")
		return again[id]
	})
}
