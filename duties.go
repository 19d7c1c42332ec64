package work

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/265d0351/work/internal/rdb"
)

// duties are the names that one worker serves. Its fetcher alone changes them, between two fetches of which the earlier
// one is known to be over: a job that comes in under a name that Redis does not list with the worker would be found by
// no reaper.
type duties struct {
	news    atomic.Bool // the fetcher has something to look into
	parting atomic.Bool // withdrawn names are listed because jobs of them are held

	mu     sync.Mutex
	known  map[string]bool // names that Redis may list with the worker
	sure   map[string]bool // names that it is known to list with this identity
	of     *claimant
	heeded int64 // the version of the roster that was followed last
}

// follow tells whether the worker has followed a version of the roster, as far as these names go.
func (d *duties) follow(version int64, names []string, serve bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.heeded >= version && !slices.ContainsFunc(names, func(name string) bool { return d.known[name] && !serve })
}

// expect notes names that Redis may list from now on.
func (d *duties) expect(names []string) {
	if len(names) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = make(map[string]bool, len(names))
	}
	for _, name := range names {
		if !d.known[name] {
			d.known[name] = true
			d.news.Store(true)
		}
	}
}

// recheck has the fetcher look whether these names, which were registered meanwhile, are still served.
func (d *duties) recheck(names []string) {
	d.expect(names)
	d.news.Store(true)
}

// registered notes with which names an identity of the worker is registered.
func (d *duties) registered(c *claimant, names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of, d.sure = c, make(map[string]bool, len(names))
	for _, name := range names {
		d.sure[name] = true
	}
}

// listed are the names that Redis may list, in order.
func (d *duties) listed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.known))
}

// correct notes which names Redis does list with an identity, where that may not be what it was told.
func (d *duties) correct(c *claimant, listed []string) {
	d.expect(listed)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of != c {
		return
	}
	there := setOf(listed)
	for name := range d.sure {
		if !there[name] {
			delete(d.sure, name)
			d.news.Store(true)
		}
	}
}

// change is what Redis is to be told, so that it lists these names with an identity, and those of which jobs are held.
func (d *duties) change(c *claimant, names []string, held map[string]bool) (change rdb.Serving, parting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		if d.of != c || !d.sure[name] {
			change.Add = append(change.Add, name)
		}
	}
	for name := range d.known {
		if _, serves := slices.BinarySearch(names, name); serves {
			continue
		}
		if held[name] {
			parting = true
		} else {
			change.Leave = append(change.Leave, name)
		}
	}
	return change, parting
}

// changed notes what Redis was told. It is false when the identity is not the one of before: all is to be looked into
// again.
func (d *duties) changed(c *claimant, change rdb.Serving) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of != c {
		return false
	}
	for _, name := range change.Add {
		d.sure[name] = true
	}
	for _, name := range change.Leave {
		delete(d.sure, name)
		delete(d.known, name)
	}
	return true
}

func (d *duties) followed(version int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heeded = version
}

// alert has the fetcher look into its duties at once, whatever it waits for.
func (w *worker) alert() {
	w.duties.news.Store(true)
	w.nudged.give()
	w.slots.signal()
}

// parted alerts the fetcher when the last job of a withdrawn name has ended. It costs nothing while no name is
// withdrawn.
func (w *worker) parted() {
	if !w.duties.parting.Load() {
		return
	}
	held := w.heldNames()
	names, _ := w.pool.roster.now()
	for _, name := range w.duties.listed() {
		if _, serves := slices.BinarySearch(names, name); !serves && !held[name] {
			w.alert()
			return
		}
	}
}

// heldNames are the names of which the worker holds something, under any identity.
func (w *worker) heldNames() map[string]bool {
	held := map[string]bool{}
	for _, c := range w.claimants() {
		maps.Copy(held, c.queues())
	}
	return held
}

// namesOf are the names with which an identity of the worker registers: what it serves, and what it holds, which must
// be found if it dies.
func (w *worker) namesOf(c *claimant) []string {
	names, _ := w.pool.roster.now()
	held := c.queues()
	if len(held) == 0 {
		return names
	}
	for _, name := range names {
		held[name] = true
	}
	return slices.Sorted(maps.Keys(held))
}

// heed brings what is fetched, and what Redis knows of it, in line with the roster. The caller has no fetch under way.
func (f *fetcher) heed() error {
	w := f.worker
	if !w.duties.news.Load() {
		return nil
	}
	w.duties.news.Store(false)
	if w.stopping() { // a stop gives all back by itself
		return nil
	}
	followed := false
	defer func() { // also when an observer ends this goroutine
		if !followed {
			w.duties.news.Store(true)
		}
	}()
	names, version := w.pool.roster.now()
	w.returnWithdrawn()
	withdrawn := f.forsake(names)
	added, err := f.report(names)
	if err != nil {
		return err
	}
	f.blocker.serve(names)
	for _, name := range names {
		f.sampler.meet(name, w.registrations[name].options.Priority)
	}
	followed = true
	w.duties.followed(version)
	w.pool.roster.tell()
	if err := f.callFor(withdrawn); err != nil || added == 0 || w.resting() {
		return err
	}
	return f.fetch(w.slots.free(), nil) // what waits there may have called before this worker listened
}

// forsake forgets what the fetcher knows of queues that are not served any more, and returns their names.
func (f *fetcher) forsake(names []string) (withdrawn []string) {
	for name := range f.sampler.byName {
		if _, serves := slices.BinarySearch(names, name); !serves {
			withdrawn = append(withdrawn, name)
		}
	}
	for _, name := range withdrawn {
		f.sampler.forget(name)
		f.held.forget(name)
		delete(f.full, name)
	}
	return withdrawn
}

// callFor gives tokens to others that the worker may have taken, of queues that it serves no longer.
func (f *fetcher) callFor(withdrawn []string) error {
	if len(withdrawn) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	return f.worker.store.Wake(ctx, withdrawn)
}

var (
	// errListed is met when Redis lists jobs of a withdrawn name that the worker does not hold: the survey that follows
	// gives them back.
	errListed = errors.New("jobs of a withdrawn name are listed with this worker that it does not hold")
	// errFencedMeanwhile is met when the worker goes on under a new identity: what was told of the old one does not
	// count.
	errFencedMeanwhile = errors.New("this worker goes on under a new id: what it serves is told once more")
)

// report tells Redis what is served from now on, and returns how many names were added. A withdrawn name of which jobs
// are held stays until they have ended.
func (f *fetcher) report(names []string) (added int, err error) {
	w := f.worker
	w.duties.parting.Store(true) // before it is looked what is held: whatever ends from here on is noticed
	c := w.claimant()
	change, parting := w.duties.change(c, names, w.heldNames())
	w.duties.expect(change.Add)
	if len(change.Add)+len(change.Leave) > 0 {
		if err := f.tellServed(c, change); err != nil {
			return 0, err
		}
	}
	if !w.duties.changed(c, change) {
		return 0, errFencedMeanwhile
	}
	w.duties.parting.Store(parting)
	return len(change.Add), nil
}

func (f *fetcher) tellServed(c *claimant, change rdb.Serving) error {
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	state, stay, err := c.rdb.Serve(ctx, c.nextNumber, change)
	switch {
	case err != nil:
		f.failed(err, 0)
		return err
	case state == rdb.Fenced:
		return errNotRegistered
	case state == rdb.Stale:
		c.number += 1 << 32
		f.surveys.lost = true
		return errors.New("the number of a change of what is served was not new to Redis")
	case len(stay) > 0:
		for _, name := range stay {
			f.surveys.touched[name] = true
		}
		f.surveys.lost = true
		return errListed
	}
	return nil
}

// returnWithdrawn gives back what was fetched and has not begun of names that are withdrawn.
func (w *worker) returnWithdrawn() {
	w.mu.Lock()
	runs := w.unbegun
	w.unbegun = nil
	w.mu.Unlock()
	for _, c := range w.claimants() {
		for _, r := range c.runs() {
			if r.registration.away.Load() && !r.settled.Load() && r.assign() {
				r.leave()
				runs = append(runs, r)
			}
		}
	}
	released := false
	defer func() {
		if !released { // an observer ends this goroutine: the next one goes on
			w.mu.Lock()
			defer w.mu.Unlock()
			w.unbegun = append(w.unbegun, runs...)
		}
	}()
	w.release(runs)
	released = true
}

// assign makes the run that of the caller: a processor that begins it, or whoever gives it back before one does.
func (r *run) assign() bool { return r.assigned.CompareAndSwap(false, true) }

// setAside keeps what a fetch has brought of names that were withdrawn while it was under way.
func (w *worker) setAside(c *claimant, runs []*run) {
	c.hold(runs)
	w.slots.hold(len(runs))
	for _, r := range runs {
		r.assign()
		r.leave()
		w.putAside(r)
		w.duties.news.Store(true)
	}
}

// turnOut keeps a run from beginning whose name was withdrawn after it was fetched, and has the fetcher give it back.
func (w *worker) turnOut(r *run) {
	w.putAside(r)
	if !w.stopping() {
		w.alert()
	}
}
