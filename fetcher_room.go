package work

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// What the fetcher does about queues of which it may not ask for more now, and about a worker that is to rest.

// ration reserves what shares may bring of names that have a quota, and leaves those out that have no room.
func (f *fetcher) ration(shares []rdb.Share, wanted int) []rdb.Share {
	kept := shares[:0]
	for _, share := range shares {
		if q := f.quotaOf(share.Queue); q != nil {
			share.Most = q.reserve(wanted)
			if share.Most == 0 {
				f.full[share.Queue] = true
				f.sampler.remove(share.Queue)
				continue
			}
			share.Jobs = min(share.Jobs, share.Most)
		}
		kept = append(kept, share)
	}
	return kept
}

// passOn gives a token to others that this pool has no room for: another worker of it was faster.
func (f *fetcher) passOn(name string) error {
	f.full[name] = true
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	return f.worker.store.Wake(ctx, []string{name})
}

// unreserve gives back what was reserved and did not come.
func (f *fetcher) unreserve(shares []rdb.Share, jobs []rdb.FetchedJob) {
	for _, share := range shares {
		if share.Most == 0 {
			continue
		}
		for i := range jobs {
			if jobs[i].Queue == share.Queue {
				share.Most--
			}
		}
		if f.quotaOf(share.Queue).giveBack(share.Most) {
			f.worker.pool.nudge()
		}
	}
}

func (f *fetcher) quotaOf(name string) *quota {
	if registration := f.worker.registrations[name]; registration != nil {
		return registration.quota
	}
	return nil
}

// reconsider asks again of queues that have room by now.
func (f *fetcher) reconsider() {
	for name := range f.worker.roomy.take() {
		if f.held.freed(name) {
			f.sampler.add(name)
		}
	}
	for name := range f.full {
		if f.quotaOf(name).wanted() {
			delete(f.full, name)
			f.sampler.add(name)
		}
	}
	f.sampler.addAll(f.held.over(true))
}

// askable leaves out the queues of which nothing may be asked now.
func (f *fetcher) askable(names []string) []string {
	names = f.held.without(names)
	if len(f.full) == 0 {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool { return f.full[name] })
}

// wait returns for how many jobs there are processors: at least one, unless ctx ended, there is news, or a rate leaves
// room.
func (f *fetcher) wait(ctx context.Context) int {
	slots := f.worker.slots
	if slots.free() > 0 || f.held.soonest.IsZero() {
		return slots.wait(ctx, f.worker.newsForFetcher)
	}
	given := time.Now().Add(f.held.next() + heldYield) // a processor may become free in time
	moment := time.AfterFunc(time.Until(given), slots.signal)
	defer moment.Stop()
	return slots.wait(ctx, func() bool { return !time.Now().Before(given) || f.worker.newsForFetcher() })
}

// handOn calls others to the queues in whose rates there is room now. This worker watched them, maybe alone, and has no
// processor left.
func (f *fetcher) handOn() error {
	if f.held.soonest.IsZero() || time.Since(f.held.soonest) < heldYield {
		return nil
	}
	names := f.held.over(false)
	f.sampler.addAll(names)
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	return f.worker.store.Wake(ctx, names)
}

// await waits for a token of a queue that may be asked, or until the fetcher has to look up for another reason.
func (f *fetcher) await(ctx context.Context) (name string, why waking) {
	atMost := min(f.held.next(), lookUp)
	if len(f.rumour) > 0 {
		atMost = min(atMost, rumourLife)
	}
	f.worker.waits.Store(true)
	defer f.worker.waits.Store(false)
	return f.blocker.wait(ctx, atMost, f.full)
}

// rest waits until a worker that is paused goes on. The tokens that it may have taken go to others, who run what waits.
func (f *fetcher) rest(ctx context.Context) error {
	if err := f.callOthers(); err != nil {
		return err
	}
	for f.worker.resting() && !f.worker.newsForFetcher() {
		select {
		case <-ctx.Done():
			return nil
		case <-f.worker.nudged.given:
		}
	}
	if f.worker.resting() {
		return nil
	}
	return f.fetch(f.worker.slots.free(), nil)
}

func (f *fetcher) callOthers() error {
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	return f.worker.store.Wake(ctx, f.worker.duties.listed())
}

// The bounds of how long before a rate lets it begin a job is taken.
const (
	slackAhead = 2 * time.Millisecond // for timers, and for the fetch to get its turn
	mostAhead  = 100 * time.Millisecond
)

// lead is how long before a rate leaves room the fetcher asks. Whoever asks at that moment is late by a round trip each
// time, and what a rate gave meanwhile is lost where its burst is small.
func (f *fetcher) lead() time.Duration { return min(f.trip+f.held.late+slackAhead, mostAhead/2) }

// ahead is how long before a rate lets it begin a job is taken: until its time a processor holds it.
func (f *fetcher) ahead() time.Duration { return 2 * f.lead() }

// travelled learns from a fetch how long they take.
func (f *fetcher) travelled(trip time.Duration) {
	if f.trip == 0 {
		f.trip = trip
	}
	f.trip += (trip - f.trip) / 8
}
