package work

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/rdb"
)

// What a fetcher does when its pool serves other queues than before: see subscription.Served and subscription.Listing.

// applyServed brings what is fetched, and what Redis knows of it, in line with what the pool serves. The caller has no
// fetch under way.
func (f *fetcher) applyServed() error {
	w := f.worker
	if !f.listing.TakeNews() || w.stopping() { // a stop gives all back by itself
		return nil
	}
	followed := false
	defer func() {
		if !followed {
			f.listing.Notify()
		}
	}()
	names, version := w.engine.serving.Now()
	f.returnWithdrawn()
	withdrawn := f.forgetOthers(names)
	added, err := f.list(names)
	if err != nil {
		return err
	}
	f.waiter.Serve(names)
	for _, name := range names {
		f.sampler.meet(name, w.engine.registrationOf(name).options)
	}
	followed = true
	f.listing.Follow(version)
	w.engine.serving.Tell()
	// Tokens of withdrawn queues that this worker may have taken go to others.
	if err := f.callOthers(withdrawn); err != nil || added == 0 || w.resting() {
		return err
	}
	return f.fetch(nil) // what waits there may have called before this worker listened
}

// forgetOthers forgets what the fetcher knows of queues that are not served any more, and returns their names.
func (f *fetcher) forgetOthers(names []string) (withdrawn []string) {
	for name := range f.sampler.byName {
		if _, serves := slices.BinarySearch(names, name); !serves {
			withdrawn = append(withdrawn, name)
		}
	}
	for _, name := range withdrawn {
		f.sampler.forget(name)
		f.watch.Forget(name)
	}
	return withdrawn
}

var (
	// errListed is met when Redis lists jobs of a withdrawn name that the worker does not hold: the survey that follows
	// gives them back.
	errListed = errors.New("jobs of a withdrawn name are listed with this worker that it does not hold")
	// errFencedMeanwhile is met when the worker goes on under a new identity: what was told of the old one does not
	// count.
	errFencedMeanwhile = errors.New("this worker goes on under a new id: what it serves is told once more")
)

// list has Redis list the worker with these names, and returns how many were added. A withdrawn name of which jobs are
// held stays until they have ended.
func (f *fetcher) list(names []string) (added int, err error) {
	w := f.worker
	f.listing.SetLeaving(true) // before it is looked what is held: whatever ends from here on is noticed
	c := w.session()
	change, leaving := f.listing.Change(c.rdb.ID, names, w.heldNames())
	f.listing.Expect(change.Add)
	if len(change.Add)+len(change.Leave) > 0 {
		if err := f.tellServed(c, change); err != nil {
			return 0, err
		}
	}
	if !f.listing.Changed(c.rdb.ID, change) {
		return 0, errFencedMeanwhile
	}
	f.listing.SetLeaving(leaving || w.holdsWithdrawn())
	return len(change.Add), nil
}

// tellServed sends one change of the names that the worker serves, under a number of the series of its fetches. After
// an error it is not known whether the change has counted. Where Redis has seen a higher number, the next one jumps far
// beyond it. Names of which something is still held stay, and are asked about again.
func (f *fetcher) tellServed(c *session, change rdb.Serving) error {
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	state, stay, err := c.rdb.Serve(ctx, c.nextNumber, change)
	switch {
	case err != nil:
		f.failed(err, 0)
		return err
	case state == rdb.Fenced:
		return errNotRegistered
	case state == rdb.Rewound:
		return f.mendFirst(c, func() error { return f.tellServed(c, change) })
	case state == rdb.Stale:
		c.number += 1 << 32
		f.surveys.Lose()
		return errors.New("the number of a change of what is served was not new to Redis")
	case len(stay) > 0:
		for _, name := range stay {
			f.surveys.Touch(name)
		}
		f.surveys.Lose()
		return errListed
	}
	return nil
}

// returnWithdrawn gives back what was fetched and has not begun of names that are withdrawn. Only the fetcher gives
// them runs of this worker, so it may take back what none of them has taken, and give again what is still served.
func (f *fetcher) returnWithdrawn() {
	w := f.worker
	var stay []*run
	for _, r := range w.untaken() {
		if !r.registration.withdrawn.Load() {
			stay = append(stay, r)
			continue
		}
		w.keepInstead(r)
	}
	w.keepGathered(func(g *gatherer) bool { return w.engine.registrationOf(g.name).withdrawn.Load() })
	w.give(stay)
	w.release(w.takeUnbegun())
}

// returnLater keeps what a fetch has brought of names that were withdrawn while it was under way.
func (f *fetcher) returnLater(c *session, runs []*run) {
	if len(runs) == 0 {
		return
	}
	f.hold(c, runs)
	for _, r := range runs {
		r.leave()
	}
	f.worker.keepUnbegun(runs...)
	f.listing.Notify()
}

// alert has the fetcher look at once into what it serves, whatever it waits for.
func (w *worker) alert() {
	w.queues.listing.Notify()
	w.callFetcher()
}

// noteLeft alerts the fetcher when the last job of a withdrawn name has ended. It costs nothing while no name is
// withdrawn.
func (w *worker) noteLeft() {
	if listing := &w.queues.listing; listing.Leaving() &&
		(listing.Left(w.engine.servedQueues(), w.heldNames()) || !w.holdsWithdrawn()) {
		w.alert()
	}
}

// heldNames are the names of which the worker holds something, under any identity.
func (w *worker) heldNames() map[string]bool {
	held := map[string]bool{}
	for _, c := range w.sessions() {
		maps.Copy(held, c.queues())
	}
	return held
}

// namesOf are the names with which an identity of the worker registers: what it serves, and what it holds, which must
// be found if it dies.
func (w *worker) namesOf(c *session) []string {
	names, held := w.engine.servedQueues(), c.queues()
	if len(held) == 0 {
		return names
	}
	for _, name := range names {
		held[name] = true
	}
	return slices.Sorted(maps.Keys(held))
}

// holdsWithdrawn tells whether the worker holds jobs of names that are withdrawn.
func (w *worker) holdsWithdrawn() bool {
	for _, c := range w.sessions() {
		if slices.ContainsFunc(c.runs(), func(r *run) bool { return r.registration.withdrawn.Load() }) {
			return true
		}
	}
	return false
}

// holdsAny tells whether the worker holds jobs of these names.
func (w *worker) holdsAny(names []string) bool {
	for _, c := range w.sessions() {
		if slices.ContainsFunc(c.runs(), func(r *run) bool { return slices.Contains(names, r.registration.name) }) {
			return true
		}
	}
	return false
}
