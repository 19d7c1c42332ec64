package work

import (
	"github.com/265d0351/work/internal/gathering"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/subscription"
)

// Jobs that are taken together are fetched for a gatherer, and not for processors: as many as it has room for, in
// fetches of their own. Who waits in it is claimed, and takes no place among the processors before its batch is ready.
// While a processor is free the fetcher asks for jobs of it as for all others, so another worker's free processor gets
// what this one's could not run.

// maxGathered is how many jobs of one name a worker has claimed for batches at the most, collected, running or not
// acknowledged, beside the other claims that it may hold: three full batches. It is fewer where its processors cannot
// run as many, but 500 at the least, so that small batches do not wait for acknowledgements.
//
// So many stand in one list of Redis. A batch that is a third of them or more is taken out by writing the list anew,
// once; for a job that ends by itself LREM looks at all of them at the most.
const maxGathered = 1500

// gatherer collects the jobs of one name for a worker.
type gatherer struct {
	worker *worker
	name   string
	byKey  bool
	most   int
	open   *gathering.Gathering[*run]
	room   *subscription.Quota // of claims: taken by a fetch, given back by an acknowledgement

	// the fetcher's
	limit int  // how many the next fetch may ask for: halved by a failure, doubled by a success
	came  int  // with the present fetch
	wary  bool // workers have died with what came last, so that it runs one by one
}

// newGatherers makes those of a worker, by name; nil where no jobs are taken together.
func newGatherers(w *worker) map[string]*gatherer {
	var all map[string]*gatherer
	for name, registered := range w.engine.registered {
		together := registered.options.Together
		if together.Most == 0 {
			continue
		}
		most := registered.options.mostTogether()
		g := &gatherer{worker: w, name: name, byKey: together.ByKey, most: most, limit: most,
			room: subscription.NewQuota(min(maxGathered, max(rdb.MaxBatch, (w.concurrency+1)*most)))}
		wait := together.Wait
		if w.engine.times.Hasty {
			wait = 0
		}
		g.open = gathering.New(most, wait, g.dispatch)
		if all == nil {
			all = map[string]*gatherer{}
		}
		all[name] = g
	}
	return all
}

// gathererOf is that of the jobs of a queue, whatever these need; nil where they are not taken together.
func (w *worker) gathererOf(queue string) *gatherer {
	if w.gatherers == nil {
		return nil
	}
	return w.gatherers[needs.Name(queue)]
}

// dispatch gives runs to a processor as one batch.
func (g *gatherer) dispatch(runs []*run) {
	w := g.worker
	b := &batchRun{worker: w, runs: runs}
	for _, r := range runs {
		r.together.Store(b)
	}
	w.slots.Occupy(1)
	w.give([]*run{runs[0]})
}

// add takes what a fetch has brought. Jobs that workers have died with are batches of one.
func (g *gatherer) add(runs []*run) {
	g.wary = false
	for _, r := range runs {
		if !r.crashed {
			g.open.Add(g.keyOf(r), r)
			continue
		}
		g.wary = true
		g.dispatch([]*run{r})
	}
	g.open.Settle()
}

// wanted is how many jobs a fetch is to ask for, where so many processors are free.
func (g *gatherer) wanted(free int) int {
	switch {
	case g.wary: // they would wait here for processors that others have
		return min(free, g.limit)
	case g.byKey:
		return min(g.most, g.limit)
	}
	return min(g.open.Missing(""), g.limit)
}

// flush has what was collected wait for no more, since none can come now.
func (g *gatherer) flush() { g.open.Flush(g.open.Held()) }

// flushGathered has all that the worker has collected wait for no more: others may have it.
func (w *worker) flushGathered() {
	for _, g := range w.gatherers {
		g.flush()
	}
}

// endGathered ends a run that is to be cancelled and waits for others.
func (w *worker) endGathered(r *run) {
	if g := w.gathererOf(r.claim.Queue); g != nil && g.open.Remove(g.keyOf(r), r) {
		r.leave()
		w.handOver(r, r.cancelDecision(w.clock.Now()))
	}
}

// keyOf says with which others a run may be.
func (g *gatherer) keyOf(r *run) string {
	if g.byKey {
		return r.record.Key
	}
	return ""
}

// leaveGatherers notes that Redis has no claims of these runs any more.
func (w *worker) leaveGatherers(runs []*run) {
	if w.gatherers == nil {
		return
	}
	left, heard := map[string]int{}, false
	for _, r := range runs {
		if r.apart {
			r.apart = false
			left[r.claim.Queue]++
		}
	}
	for name, n := range left { // at once, so that the fetcher does not take a part of it for a small batch
		w.slots.Apart(-n)
		heard = w.gathererOf(name).room.GiveBack(n) || heard
	}
	if heard {
		w.queues.wakeup.Wake()
	}
}
