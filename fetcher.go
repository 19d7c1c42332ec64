package work

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
)

// fetcher takes jobs from Redis for all free processors of a worker in one round trip. It knows which queues have work
// from what the fetches answer; when none has, it waits for a token instead of asking.
type fetcher struct {
	worker  *worker
	sampler *prioritySampler
	health  health
	blocker *blocker

	limit   int       // how many jobs the next fetch may ask for: halved by a failure, doubled by a success
	lap     int       // failures in a row
	asked   time.Time // when the ready queues were last asked for
	held    *heldQueues
	full    map[string]bool // queues whose quota in this pool is used up
	surveys surveys
	broken  map[string]bool // keys that were reported
	rumour  []string        // queues with work that other workers may have been called for: it is to be confirmed
	trip    time.Duration   // that a fetch takes, about
	order   int64
}

// The times of a fetcher.
const (
	fetchTimeout  = 5 * time.Second
	askInterval   = 5 * time.Millisecond // for the ready queues, while busy
	askPerQueue   = 20 * time.Microsecond
	minFetchLimit = 1
	lookUp        = time.Second // so often an idle fetcher looks after itself. It asks Redis nothing for that

	// rumourLife is how long a worker that was called has to fetch before others do it, who happened to look at that
	// moment. Among many idle workers the heartbeat of one asks every few milliseconds, and it would be there first or
	// in vain.
	rumourLife = 25 * time.Millisecond
)

func newFetcher(w *worker, priorities map[string]int) *fetcher {
	return &fetcher{
		worker: w, sampler: newPrioritySampler(priorities),
		health:  health{component: "fetcher", events: w.events},
		blocker: newBlocker(w),
		limit:   w.slots.room, held: newHeldQueues(), full: map[string]bool{}, broken: map[string]bool{},
		surveys: newSurveys(w.pool.surveyRound),
	}
}

// run fetches until ctx ends. A fetch under way is not cut: its jobs would be claimed and not run.
func (f *fetcher) run(ctx context.Context) {
	defer f.blocker.close()
	for {
		free := f.wait(ctx)
		if ctx.Err() != nil {
			return
		}
		err := f.step(ctx, free)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, errNotRegistered):
			f.worker.doubt(ctx)
		default:
			f.health.report(err)
			f.lap++
			backoff.Pause(ctx, backoff.For(f.lap))
		}
	}
}

// step does one thing: find out what a lost fetch did, wait for work, or fetch.
func (f *fetcher) step(ctx context.Context, free int) error {
	if err := f.compare(); err != nil {
		return err
	}
	if err := f.heed(); err != nil {
		return err
	}
	if f.worker.resting() {
		return f.rest(ctx)
	}
	if free <= 0 {
		return f.handOn()
	}
	f.reconsider()
	if !f.sampler.idle() {
		return f.fetch(free, f.sampler.draw(min(free, f.limit)))
	}
	name, why := f.await(ctx)
	rumour := f.rumour
	f.rumour = nil
	if ctx.Err() != nil {
		return nil // a token that came now is passed on when the worker leaves
	}
	if why == wokenByTrouble {
		f.worker.mistrust()
	}
	free = f.worker.slots.free()              // more than before, if anything
	if name != "" && !f.sampler.knows(name) { // it was withdrawn, and the wait had begun before
		f.rumour = rumour
		return f.callFor([]string{name})
	}
	if name != "" { // its token is a debt: whatever else is fetched, something must be asked of this queue
		if q := f.quotaOf(name); q != nil && !q.wanted() {
			return f.passOn(name)
		}
		f.held.called(name)
		f.sampler.add(name)
		return f.fetch(free, f.sampler.drawWith(min(free, f.limit), name))
	}
	f.reconsider()
	if !f.sampler.idle() || why == wokenByNudge {
		f.rumour = rumour
		return nil
	}
	f.worker.crew.shrink()
	if why == wokenByTime && len(rumour) == 0 {
		return nil // a heartbeat would have told that a call was lost
	}
	return f.look(ctx, free, why, rumour)
}

// look looks whether a call was lost.
func (f *fetcher) look(ctx context.Context, free int, why waking, rumour []string) error {
	err := f.fetch(free, nil)
	switch {
	case err != nil:
	case !f.sampler.idle() && why != wokenByTrouble:
		f.confirm(rumour)
	case f.sampler.idle() && why == wokenByTrouble:
		backoff.Pause(ctx, f.blocker.backoff())
	}
	return err
}

// confirm forgets the queues that were seen to have work just now and were not before: others may have been called for
// them. What is still there at the next look, a moment later, is fetched.
func (f *fetcher) confirm(before []string) {
	ready := f.sampler.ready()
	f.sampler.setReady(slices.DeleteFunc(slices.Clone(ready),
		func(name string) bool { return !slices.Contains(before, name) }))
	if f.sampler.idle() {
		f.rumour = ready
	}
}

// fetch asks for jobs, or with no shares only which queues are ready.
func (f *fetcher) fetch(free int, shares []rdb.Share) error {
	wanted := 0
	for _, share := range shares {
		wanted += share.Jobs
	}
	drawn := len(shares)
	shares = f.ration(shares, wanted)
	if drawn > 0 && len(shares) == 0 {
		return nil
	}
	for _, share := range shares {
		f.surveys.touched[share.Queue] = true
	}
	c := f.worker.claimant()
	interval := max(askInterval, askPerQueue*time.Duration(len(f.sampler.active)))
	ask := len(shares) == 0 || time.Since(f.asked) > interval
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	sent, began := f.worker.clock.ours(), time.Now()
	c.rdb.Ahead = f.ahead()
	fetched, err := c.rdb.Fetch(ctx, c.nextNumber(), wanted, ask, shares)
	if err != nil {
		f.unreserve(shares, nil) // what it has claimed nevertheless a survey gives back
		f.failed(err, wanted)
		return err
	}
	f.unreserve(shares, fetched.Jobs)
	switch fetched.State {
	case rdb.Fenced:
		return errNotRegistered
	case rdb.Stale: // somebody used our id, or a backup was restored: jump over what was used
		c.number += 1 << 32
		f.surveys.lost = true
		return errors.New("the number of a fetch was not new to Redis")
	}
	f.health.report(nil)
	f.lap = 0
	f.limit = min(f.limit*2, f.worker.slots.room)
	f.travelled(time.Since(began))
	f.learn(shares, fetched)
	f.worker.clock.saw(fetched.Time, sent, f.worker.clock.ours())
	got := len(fetched.Jobs)
	f.deliver(c, &fetched)
	c.rdb.Recycle(fetched.Jobs)
	if !f.sampler.idle() && f.worker.slots.free() <= 0 {
		f.worker.pool.recruiter.call()
	}
	// last: an observer may end this goroutine, and nothing must be left to do then
	if wanted > 0 && f.worker.events.perJob() {
		f.worker.events.emit(event.JobsFetched{Worker: c.rdb.ID, Jobs: got, Asked: wanted})
	}
	return nil
}

// failed notes that a fetch was not answered, or refused. The next one asks for half: a reply that is too big for the
// link must not come back for ever.
func (f *fetcher) failed(err error, wanted int) {
	f.worker.mistrust()
	var dial *rdb.DialError
	if !errors.As(err, &dial) {
		f.surveys.lost = true
	}
	if wanted > 0 {
		f.limit = max(minFetchLimit, min(f.limit, wanted)/2)
	}
}

// learn updates which queues have work.
func (f *fetcher) learn(shares []rdb.Share, fetched rdb.Fetched) {
	gave := make(map[string]int, len(shares))
	for i := range fetched.Jobs {
		gave[fetched.Jobs[i].Queue]++
	}
	for name, wait := range fetched.Held {
		f.sampler.remove(name)
		f.held.note(name, wait, f.lead(), gave[name])
	}
	for _, share := range shares {
		f.sampler.charge(share.Queue, gave[share.Queue])
		if gave[share.Queue] < share.Jobs {
			f.sampler.remove(share.Queue)
		}
	}
	if fetched.Asked {
		f.asked = time.Now()
		f.worker.duties.expect(f.sampler.setReady(f.askable(fetched.Ready)))
	}
	// A queue that was named, gave nothing and is still called ready has a broken key: not to be asked again at once.
	if len(fetched.Jobs) == 0 {
		for _, share := range shares {
			f.sampler.remove(share.Queue)
		}
	}
	for _, key := range fetched.Broken {
		if !f.broken[key] {
			f.broken[key] = true
			f.worker.events.emit(event.KeyBroken{Key: key})
		}
	}
	if fetched.Dropped > 0 {
		f.worker.events.emit(event.JobsDropped{Count: fetched.Dropped})
	}
}

// deliver hands claimed jobs to the processors; what cannot be run is ended here.
func (f *fetcher) deliver(c *claimant, fetched *rdb.Fetched) {
	jobs := fetched.Jobs
	if len(jobs) == 0 {
		return
	}
	w := f.worker
	if w.claimant() != c {
		w.remember(c) // it was fenced while the fetch was under way
	}
	runs, now, received, early := newRuns(len(jobs)), w.clock.now(), time.Now(), false
	fit, away, withdrawn := runs[:0], []*run(nil), []*run(nil)
	for i, r := range runs {
		f.order++
		r.order, r.fetched = f.order, fetched.Time
		r.fill(w, c, w.registrations[jobs[i].Queue], &jobs[i])
		if in := min(jobs[i].In, c.rdb.Ahead); in > 0 {
			r.notBefore, early = received.Add(in), true
		}
		r.token = r.crashes.TokenOf(fetched.Time.UnixMilli())
		if r.registration.away.Load() { // it is not judged here either
			withdrawn = append(withdrawn, r)
		} else if w.turnAway(r, &jobs[i], now) {
			away = append(away, r)
		} else {
			fit = append(fit, r)
		}
	}
	w.setAside(c, withdrawn)
	if early { // a processor that waits for the moment takes no other
		slices.SortStableFunc(fit, func(a, b *run) int { return a.notBefore.Compare(b.notBefore) })
	}
	c.hold(fit)
	w.slots.hold(len(fit))
	if w.spared.Load() {
		w.sooner.give()
	}
	w.slots.occupy(len(fit))
	w.crew.add(fit)
	for _, r := range away { // one by one: if an observer ends this goroutine, a survey gives back what is not held
		c.hold([]*run{r})
		w.slots.hold(1)
		r.leave()
		w.conclude(r, r.decision)
	}
}

// turnAway decides about a job that is not to be run, as its holder: cancelled, broken, too late, or one that workers
// died with. It returns false for all others.
func (w *worker) turnAway(r *run, fetched *rdb.FetchedJob, now time.Time) bool {
	err := r.unfit
	if err == nil {
		err = w.tooManyCrashes(&r.crashes)
	}
	switch {
	case fetched.Cancelled:
		r.decision = r.cancellation(now)
	case err != nil:
		r.decision = r.burial(errorText(err), nil, now)
	case r.isLate(now, &r.decision):
	case w.putOff(r):
		r.decision = postponement()
	default:
		return false
	}
	return true
}
