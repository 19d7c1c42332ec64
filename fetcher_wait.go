package work

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/subscription"
)

// What a fetcher waits for: a free processor, a token of a queue that has jobs, or the end of a pause.

// The times of a wait.
const (
	lookUp = time.Second // so often an idle fetcher looks after itself. It asks Redis nothing for that

	// confirmAfter is how long a worker that was called has to fetch before others do it, who happened to look just
	// then. Among many idle workers the heartbeat of one asks every few milliseconds, and it would be there first or in
	// vain.
	confirmAfter = 25 * time.Millisecond
	// aheadOver is after how long without such jobs Redis is told so; aheadPause is how long nothing is fetched ahead
	// where it could not be told.
	aheadOver  = 10 * time.Second
	aheadPause = time.Second
)

// How many jobs are fetched ahead: at most so many for each processor, and so many in any case where a worker has as
// many processors that it may hold few jobs more.
const (
	aheadPerProcessor = 12
	leastAhead        = 128
)

// waitForRoom returns for how many jobs there are processors: at least one, unless ctx ended, there is news, or a rate
// leaves room.
func (f *fetcher) waitForRoom(ctx context.Context) int {
	w := f.worker
	if w.slots.Shared() {
		return f.waitForTurn(ctx)
	}
	f.fetchAhead()
	in, limited := f.watch.HandOnIn()
	if lapse := f.lapsesIn(); lapse >= 0 && (!limited || lapse < in) {
		in, limited = lapse, true
	}
	if !limited || w.slots.Ready() {
		return w.slots.Wait(ctx, f.hasNews)
	}
	lookUp := time.Now().Add(in) // a processor may become free in time
	timer := time.AfterFunc(in, w.slots.Signal)
	defer timer.Stop()
	return w.slots.Wait(ctx, func() bool { return !time.Now().Before(lookUp) || f.hasNews() })
}

// fetchAhead has the next fetches bring a few jobs more than there are processors, while jobs are so short that these
// would wait for Redis. Redis is told before that happens the first time: should the worker die, nobody knows which of
// the jobs ran. So it is when none was fetched ahead for a while.
func (f *fetcher) fetchAhead() {
	w := f.worker
	if w.engine.options.Prefetch != 0 {
		return
	}
	now, jobs := time.Now(), 0
	if !w.slots.Shared() && now.After(f.aheadAfter) {
		jobs = f.ahead.Ahead(now, w.slots.Busy())
	}
	f.lineOver = f.lineOver || w.slots.Queued() == 0
	switch claims := w.claimsAhead.Load(); {
	case jobs > 0 && !claims, jobs == 0 && claims && f.lineOver && now.Sub(f.gotAhead) > aheadOver:
		w.claimsAhead.Store(true) // first: who registers the worker anew meanwhile tells it, too
		if !f.tellAhead(jobs > 0) {
			f.aheadAfter, jobs = now.Add(aheadPause), 0
		}
	}
	w.slots.FetchAhead(jobs, min(2*jobs, max(0, maxHeld-w.slots.Most())))
}

// mostAhead bounds what is fetched ahead by the processors, which have to come to it soon, and by what one worker may
// hold.
func mostAhead(w *worker) int {
	return min(maxPrefetch, aheadPerProcessor*w.concurrency, max(leastAhead, (maxHeld-w.slots.Most())/2))
}

// tellAhead tells Redis that the worker claims more than it runs, or does not any more. It returns false where that is
// not known to have been noted; why is for fetches and heartbeats to find out.
func (f *fetcher) tellAhead(claims bool) bool {
	w, most := f.worker, 0
	if claims {
		most = f.ahead.Most
	}
	ctx, cancel := context.WithTimeout(w.life, fetchTimeout)
	defer cancel()
	noted, err := w.session().rdb.NotePrefetch(ctx, most)
	noted = noted && err == nil
	w.claimsAhead.Store(claims == noted)
	return noted
}

// noteGiven notes that processors were given what a fetch has brought.
func (f *fetcher) noteGiven(jobs int, at time.Time) {
	slots := f.worker.slots
	f.ahead.Fetched(at.Sub(f.sent), jobs, at, slots.Busy())
	if f.worker.engine.options.Prefetch == 0 && slots.Room() > f.worker.concurrency { // others wait as long as it takes
		f.gotAhead, f.lineOver = at, false
	}
}

// lapsesIn is in how long what was fetched ahead is to go back if no processor has come to it; negative where there is
// nothing.
func (f *fetcher) lapsesIn() time.Duration {
	if f.lineOver {
		return -1
	}
	return max(0, time.Until(f.gotAhead.Add(f.worker.engine.times.Ahead)))
}

// returnUntaken gives back what no processor has come to: jobs take longer than they did, and others may have time.
func (f *fetcher) returnUntaken() {
	w := f.worker
	f.lineOver = true
	f.ahead.Forget()
	w.slots.FetchAhead(0, 0)
	if w.stopping() {
		return // a stop gives all back by itself
	}
	for _, r := range w.untaken() {
		w.keepInstead(r)
	}
	w.release(w.takeUnbegun())
}

// callOthersForRates calls others to the queues in whose rates there is room now, since this worker has no processor
// for them.
func (f *fetcher) callOthersForRates() error {
	names := f.watch.HandOn()
	f.sampler.addAll(names)
	return f.callOthers(names)
}

// callOthers gives tokens of these queues to other workers.
func (f *fetcher) callOthers(names []string) error {
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	return f.worker.store.Wake(ctx, names)
}

// rest waits until a worker that is paused goes on. The tokens that it may have taken go to others, who run what waits.
func (f *fetcher) rest(ctx context.Context) error {
	if err := f.callOthers(f.listing.Listed()); err != nil {
		return err
	}
	if f.worker.desired.Now() != "" {
		f.worker.flushGathered() // nothing that it could wait for is fetched
	}
	for f.worker.resting() && !f.hasNews() {
		select {
		case <-ctx.Done():
			return nil
		case <-f.wakeup:
		}
	}
	if f.worker.resting() {
		return nil
	}
	return f.fetch(nil)
}

// waitForWork waits until a queue calls, or until the fetcher has to look up for another reason, and does what comes of
// it.
func (f *fetcher) waitForWork(ctx context.Context) error {
	w := f.worker
	unconfirmed := f.unconfirmed
	f.unconfirmed = nil
	atMost := min(f.watch.Next(), lookUp)
	if len(unconfirmed) > 0 {
		atMost = min(atMost, confirmAfter)
	}
	if lapse := f.lapsesIn(); lapse >= 0 {
		atMost = min(atMost, lapse)
	}
	name, why := f.waiter.Wait(ctx, atMost, f.watch.Full())
	if ctx.Err() != nil {
		return nil // a token that came now is passed on when the worker leaves
	}
	if why == subscription.ByTrouble {
		w.surveyAgain()
	}
	if name != "" {
		return f.fetchFromCalled(name)
	}
	f.reopen()
	if !f.sampler.idle() || why == subscription.ByWakeup {
		f.unconfirmed = unconfirmed
		return nil
	}
	w.runners.Shrink()
	if why == subscription.ByTime && len(unconfirmed) == 0 {
		return nil // a heartbeat would have told that a call was lost
	}
	return f.poll(ctx, why, unconfirmed)
}

// fetchFromCalled fetches from a queue that has called. Its token is a debt: whatever else is fetched, something must
// be asked of this queue, or others be called.
func (f *fetcher) fetchFromCalled(name string) error {
	w := f.worker
	if !f.watch.HasQuota(name) { // another worker of this pool was faster
		return f.callOthers([]string{name})
	}
	f.watch.Called(name)
	f.sampler.add(name)
	free := w.slots.Free() // more than before the wait, if anything
	if w.slots.Shared() {
		if free = w.slots.Turn(f.limit); free <= 0 { // the processors are busy with jobs of other partitions by now
			return f.callOthers([]string{name})
		}
	}
	if w.gathererOf(name) != nil {
		return f.fetchTogether(name, free, true)
	}
	return f.fetch(f.sampler.drawWith(min(free, f.limit), name))
}

// poll asks which queues have jobs, since a call may have been lost.
func (f *fetcher) poll(ctx context.Context, why subscription.Woken, unconfirmed []string) error {
	err := f.fetch(nil)
	switch {
	case err != nil:
	case !f.sampler.idle() && why != subscription.ByTrouble:
		f.confirm(unconfirmed)
	case f.sampler.idle() && why == subscription.ByTrouble:
		backoff.Pause(ctx, f.waiter.Backoff())
	}
	return err
}

// confirm forgets the queues that were seen to have work just now and were not before: others may have been called for
// them. What is still there at the next poll, a moment later, is fetched.
func (f *fetcher) confirm(before []string) {
	ready := f.sampler.ready()
	f.sampler.setReady(slices.DeleteFunc(slices.Clone(ready),
		func(name string) bool { return !slices.Contains(before, name) }))
	if f.sampler.idle() {
		f.unconfirmed = ready
	}
}

// reopen lets those queues take part again that may be asked by now.
func (f *fetcher) reopen() { f.sampler.addAll(f.watch.Reopened()) }

// resting tells whether the worker fetches nothing because it is to, because it is about to leave, because nothing may
// run until a heartbeat is answered, because it is too old for the namespace, or because its user lacks rights.
func (w *worker) resting() bool {
	return w.desired.Now() != "" || w.retiring.Load() || w.fence.IsDown() || w.outdated.Load() != nil ||
		w.rights.Refused() != nil
}
