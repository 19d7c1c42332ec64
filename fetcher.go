package work

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/workgroup"
)

// fetcher takes jobs from Redis for all free processors of a worker in one round trip. It knows which queues have work
// from what the fetches answer; when none has, it waits for a token instead of asking.
type fetcher struct {
	worker  *worker
	sampler *prioritySampler
	health  healthreport.Reporter
	*queues

	limit       int // how many jobs the next fetch may ask for: halved by a failure, doubled by a success
	failures    backoff.Failures
	asked       time.Time        // when the ready queues were last asked for
	unconfirmed []string         // queues with work that other workers may have been called for
	broken      map[string]bool  // keys that were reported
	refused     map[string]error // queues to which Redis did not take claims back that are not held
	refusals    healthreport.Reporter
	order       int64 // of the last job

	begun    bool // it has looked for work
	idleLook idleLook
	ahead    *workgroup.Foresight
	sent     time.Time // the fetch that was made last

	gotAhead   time.Time // when jobs were fetched ahead last
	lineOver   bool      // and these have begun, or were given back
	aheadAfter time.Time // before that nothing is fetched ahead: Redis could not be told of it
}

// How often a fetcher looks which queues are ready while it is busy, and how much it asks for at the least.
const (
	askInterval   = 5 * time.Millisecond
	askPerQueue   = 20 * time.Microsecond
	minFetchLimit = 1
)

func newFetcher(w *worker) *fetcher {
	p, names := w.engine, w.engine.servedQueues()
	sampler := newPrioritySampler(nil)
	for _, name := range names {
		sampler.meet(name, p.registrationOf(name).options)
	}
	return &fetcher{
		ahead: &w.ahead, lineOver: true,
		worker: w, queues: w.queues, sampler: sampler,
		health: healthreport.Reporter{Component: "fetcher", Emit: w.events.emit},
		limit:  w.slots.Room(), broken: map[string]bool{}, refused: map[string]error{},
		refusals: healthreport.Reporter{Component: "fetcher, claims that nobody holds", Emit: w.events.emit},
	}
}

// run fetches until ctx ends. A fetch under way is not cut: its jobs would be claimed and not run.
func (f *fetcher) run(ctx context.Context) {
	defer f.waiter.Close()
	for {
		free := f.waitForRoom(ctx)
		if ctx.Err() != nil {
			return
		}
		err := f.step(ctx, free)
		f.worker.slots.EndTurn()
		f.worker.haveLooked()
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, errNotRegistered):
			f.worker.beatNow(ctx)
		default:
			f.worker.rights.Doubt(err)
			f.health.Report(err)
			f.failures.Pause(ctx)
		}
	}
}

// step does one thing: find out what a lost fetch did, follow what the pool serves, wait for work, or fetch.
func (f *fetcher) step(ctx context.Context, free int) error {
	if !f.begun {
		return f.begin(free)
	}
	if err := f.survey(); err != nil {
		return err
	}
	if err := f.applyServed(); err != nil {
		return err
	}
	if f.lapsesIn() == 0 {
		f.returnUntaken()
		return nil // there is less room by now
	}
	if f.worker.resting() {
		return f.rest(ctx)
	}
	if free <= 0 {
		return f.withoutRoom()
	}
	f.reopen()
	if f.sampler.idle() {
		return f.waitForWork(ctx)
	}
	if name := f.sampler.together(); name != "" {
		return f.fetchTogether(name, free, false)
	}
	return f.fetch(f.sampler.draw(min(free, f.limit)))
}

// begin fetches from what it serves before it waits for a call, which takes two round trips more, and before the first
// survey, since it holds nothing. A call that it answers thereby is taken back by the fetch. Many names are waited for.
func (f *fetcher) begin(free int) error {
	w := f.worker
	f.begun = true
	names := w.engine.servedQueues()
	if len(names) > rdb.MaxQueues || w.slots.Shared() || w.resting() || free <= 0 || w.gatherers != nil {
		return nil
	}
	f.sampler.addAll(names)
	return f.fetch(f.sampler.draw(min(free, f.limit)))
}

// fetch asks for jobs, or with no shares only which queues are ready.
func (f *fetcher) fetch(shares []rdb.Share) error {
	wanted := 0
	for _, share := range shares {
		wanted += share.Jobs
	}
	drawn := len(shares)
	if shares = f.reserve(shares, wanted); drawn > 0 && len(shares) == 0 {
		return nil
	}
	w, c := f.worker, f.worker.session()
	places := wanted
	if drawn > 0 && w.gathererOf(shares[0].Queue) != nil {
		places = 1
	}
	w.slots.KeepOnly(places)
	interval := max(askInterval, askPerQueue*time.Duration(len(f.sampler.active)))
	ask := len(shares) == 0 || time.Since(f.asked) > interval
	ctx, cancel := context.WithTimeout(w.life, fetchTimeout)
	defer cancel()
	sent, began := w.clock.Local(), time.Now()
	f.sent = began
	c.rdb.Ahead = f.watch.Ahead()
	if wanted > 0 {
		w.engine.claiming.Add(1)
		defer w.engine.claiming.Add(-1) // when what it has brought is held
	}
	fetched, err := c.rdb.Fetch(ctx, c.nextNumber(), wanted, ask, shares)
	if err != nil {
		c.book.Unanswered(c.number)
		f.giveBack(shares, nil) // what it has claimed nevertheless a survey gives back
		f.failed(err, wanted)
		return err
	}
	f.giveBack(shares, fetched.Jobs)
	switch fetched.State {
	case rdb.Fenced:
		return errNotRegistered
	case rdb.Rewound:
		w.noteFellBack(c)
		return nil
	case rdb.Stale: // somebody used our id, or a backup was restored: jump over what was used
		c.number += 1 << 32
		f.surveys.Lose()
		return errors.New("the number of a fetch was not new to Redis")
	}
	w.passed.Add(1)
	f.health.Report(nil)
	f.failures = 0
	f.limit = min(f.limit*2, w.slots.Room())
	f.watch.Travelled(time.Since(began))
	f.noteReady(shares, fetched)
	w.clock.Learn(fetched.Time, sent, w.clock.Local())
	f.take(c, &fetched, wanted)
	return nil
}

// take hands on what a fetch has brought, and tells of it.
func (f *fetcher) take(c *session, fetched *rdb.Fetched, wanted int) {
	w, got := f.worker, len(fetched.Jobs)
	f.deliver(c, fetched)
	for name, wait := range fetched.Held {
		if wait < 0 { // else a rate lets others join in time
			f.flushHeld(name)
		}
	}
	c.rdb.Recycle(fetched.Jobs)
	w.slots.EndTurn()
	if !f.sampler.idle() && w.slots.Places().Full() {
		w.host.requestWorker()
	}
	// last: an observer may end this goroutine, and nothing must be left to do then
	if wanted > 0 && w.events.perJob() {
		w.events.emitHere(event.JobsFetched{Worker: c.rdb.ID, Jobs: got, Asked: wanted})
	}
}

// reserve takes what shares may bring from the quotas of their queues, and returns those that have room. A survey looks
// at them should the answer be lost.
func (f *fetcher) reserve(shares []rdb.Share, wanted int) []rdb.Share {
	shares, full := f.watch.Reserve(shares, wanted)
	for _, name := range full {
		f.sampler.remove(name)
	}
	f.flushHeld(full...)
	for _, share := range shares {
		f.surveys.Touch(share.Queue)
	}
	return shares
}

// giveBack returns to quotas what was reserved and did not come.
func (f *fetcher) giveBack(shares []rdb.Share, jobs []rdb.FetchedJob) {
	if f.watch.GiveBack(shares, jobs) {
		f.worker.host.wakeFetchers()
	}
}

// failed notes that a fetch was not answered, or refused. The next one asks for half: a reply that is too big for the
// link must not come back for ever.
func (f *fetcher) failed(err error, wanted int) {
	f.worker.surveyAgain()
	var dial *redisconn.DialError
	if !errors.As(err, &dial) {
		f.surveys.Lose()
	}
	if wanted > 0 {
		f.limit = max(minFetchLimit, min(f.limit, wanted)/2)
	}
}

// noteReady updates which queues have work.
func (f *fetcher) noteReady(shares []rdb.Share, fetched rdb.Fetched) {
	gave := make(map[string]int, len(shares))
	for i := range fetched.Jobs {
		gave[fetched.Jobs[i].Queue]++
	}
	for name, wait := range fetched.Held {
		f.sampler.remove(name)
		f.watch.Hold(name, wait, gave[name])
	}
	for name, wait := range fetched.Later {
		f.watch.Remind(name, wait)
	}
	f.sampler.learn(shares, len(fetched.Jobs), func(queue string) int { return gave[queue] })
	for _, share := range shares {
		f.sampler.charge(share.Queue, gave[share.Queue])
		if gave[share.Queue] < share.Jobs {
			f.sampler.remove(share.Queue)
		}
	}
	if fetched.Asked {
		f.asked = time.Now()
		f.listing.Expect(f.sampler.setReady(f.watch.Askable(fetched.Ready)))
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
func (f *fetcher) deliver(c *session, fetched *rdb.Fetched) {
	jobs := fetched.Jobs
	if len(jobs) == 0 {
		return
	}
	w := f.worker
	w.engine.delivered.Add(int64(len(jobs)))
	if w.session() != c {
		w.remember(c) // it was fenced while the fetch was under way
	}
	runs, now, received, early := newRuns(len(jobs)), w.clock.Now(), time.Now(), false
	fit, away, withdrawn := runs[:0], []*run(nil), []*run(nil)
	for i, r := range runs {
		f.order++
		r.order, r.fetched = f.order, fetched.Time
		r.fill(w, c, w.engine.runs(jobs[i].Queue, jobs[i].Record), &jobs[i])
		if name, is := r.strayed(); is {
			r.recordErr = nil
			r.fill(w, c, r.registration.without(name), &jobs[i])
		}
		if in := min(jobs[i].In, c.rdb.Ahead); in > 0 {
			r.notBefore, early = received.Add(in), true
		}
		r.token = r.crashes.TokenOf(fetched.Time.UnixMilli())
		if r.registration.withdrawn.Load() { // it is not judged here either
			withdrawn = append(withdrawn, r)
		} else if w.reject(r, &jobs[i], now) {
			away = append(away, r)
		} else {
			fit = append(fit, r)
		}
	}
	f.returnLater(c, withdrawn)
	if early { // a processor that waits for the moment takes no other
		slices.SortStableFunc(fit, func(a, b *run) int { return a.notBefore.Compare(b.notBefore) })
	}
	f.hold(c, fit)
	if w.skippingBeat.Load() {
		w.beatSooner.Wake()
	}
	if g := w.gathererOf(jobs[0].Queue); g != nil {
		g.add(fit)
	} else {
		w.slots.Occupy(len(fit))
		f.noteGiven(len(fit), received)
		w.give(fit)
	}
	f.hold(c, away)
	for _, r := range away {
		r.leave()
		w.handOver(r, r.decision)
	}
}

// hold notes that the worker has these jobs.
func (f *fetcher) hold(c *session, runs []*run) {
	if len(runs) == 0 {
		return
	}
	slots := f.worker.slots
	if g := f.worker.gathererOf(runs[0].claim.Queue); g != nil {
		for _, r := range runs {
			r.apart = true
		}
		g.came += len(runs)
		slots.Apart(len(runs))
	}
	c.hold(runs)
	slots.Hold(len(runs))
}
