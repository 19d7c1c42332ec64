package subscription

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// Watch knows which queues of a worker have jobs and may not be asked for them now, and when that is over: those that
// Redis holds (a pause, a limit or a rate, which count over all workers), and those whose quota in this pool is used
// up. It belongs to the goroutine of the fetcher; only MadeRoom is for others.
type Watch struct {
	quota func(name string) *Quota
	held  *heldQueues
	full  map[string]*Quota // queues whose quota is used up
	trip  time.Duration     // that a fetch takes, about

	roomy atomic.Bool // there is something in room
	mu    sync.Mutex
	room  map[string]bool // queues whose limit has room again
}

// NewWatch makes a watch of a worker. quota returns the quota of a queue in its pool, nil where there is none.
func NewWatch(quota func(name string) *Quota) *Watch {
	return &Watch{quota: quota, held: newHeldQueues(), full: map[string]*Quota{}}
}

// Reserve takes what shares may bring from the quotas of their queues, of so many jobs that are asked for in all. It
// returns the shares without those that have no room, whose names are left out until Reopened. They are in the place
// of the given ones.
func (w *Watch) Reserve(shares []rdb.Share, wanted int) (kept []rdb.Share, leftOut []string) {
	kept = shares[:0]
	for _, share := range shares {
		if q := w.quota(share.Queue); q != nil {
			share.Most = q.Reserve(wanted)
			if share.Most == 0 {
				w.full[share.Queue] = q
				leftOut = append(leftOut, share.Queue)
				continue
			}
			share.Jobs = min(share.Jobs, share.Most)
		}
		kept = append(kept, share)
	}
	return kept, leftOut
}

// GiveBack returns what was reserved for shares and is not among the jobs that came. It tells whether other fetchers of
// the pool are to hear of it.
func (w *Watch) GiveBack(shares []rdb.Share, jobs []rdb.FetchedJob) (heard bool) {
	for _, share := range shares {
		if share.Most == 0 {
			continue
		}
		for i := range jobs {
			if jobs[i].Queue == share.Queue {
				share.Most--
			}
		}
		heard = w.quota(share.Queue).GiveBack(share.Most) || heard
	}
	return heard
}

// HasQuota tells whether this pool may run one more of a queue. If not, the queue is left out until Reopened.
func (w *Watch) HasQuota(name string) bool {
	q := w.quota(name)
	if q == nil || q.Wanted() {
		return true
	}
	w.full[name] = q
	return false
}

// Shut leaves a queue out until there is room in a quota, which belongs to the worker and not to its pool.
func (w *Watch) Shut(name string, until *Quota) { w.full[name] = until }

// Full are the queues whose quota is used up. They are not to be waited for.
func (w *Watch) Full() map[string]bool {
	if len(w.full) == 0 {
		return nil
	}
	names := make(map[string]bool, len(w.full))
	for name := range w.full {
		names[name] = true
	}
	return names
}

// Hold notes that Redis holds a queue, of which a fetch has brought so many jobs. One may begin in that time; a
// negative one is not known.
func (w *Watch) Hold(name string, wait time.Duration, brought int) {
	w.held.note(name, wait, w.lead(), brought)
}

// Remind notes that all that waits in a queue waits for the rate of its key, and that a key may begin one in that time.
// The queue is not held: others may come into it.
func (w *Watch) Remind(name string, wait time.Duration) { w.held.remind(name, wait, w.lead()) }

// Called notes that this worker was called to a queue.
func (w *Watch) Called(name string) { w.held.called(name) }

// Forget forgets all about a queue.
func (w *Watch) Forget(name string) {
	w.held.forget(name)
	delete(w.full, name)
}

// MadeRoom notes queues whose limit has room again since jobs of this worker have ended. The worker need not wait for a
// token, which may go to another one, nor until it would ask a held queue again. It may be called concurrently.
func (w *Watch) MadeRoom(names map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.room == nil {
		w.room = map[string]bool{}
	}
	for name := range names {
		w.room[name] = true
	}
	w.roomy.Store(true)
}

// takeRoom returns and forgets those; most of the time there are none, which costs next to nothing.
func (w *Watch) takeRoom() map[string]bool {
	if !w.roomy.Load() {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.room
	w.room = nil
	w.roomy.Store(false)
	return names
}

// Reopened returns the queues that may be asked again by now.
func (w *Watch) Reopened() (names []string) {
	for name := range w.takeRoom() {
		if w.held.freed(name) {
			names = append(names, name)
		}
	}
	for name, quota := range w.full {
		if quota.Wanted() {
			delete(w.full, name)
			names = append(names, name)
		}
	}
	return append(names, w.held.over(true)...)
}

// Askable leaves out of names those that may not be asked now.
func (w *Watch) Askable(names []string) []string {
	names = w.held.without(names)
	if len(w.full) == 0 {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool { return w.full[name] != nil })
}

// Next is in how long a rate leaves room again, or a long time.
func (w *Watch) Next() time.Duration { return w.held.next() }

// HandOn returns the queues in whose rates there is room now, for a worker that has no processor for them. It watched
// them, maybe alone, so others are to be called. Whoever has a processor a moment later keeps them.
func (w *Watch) HandOn() []string {
	if w.held.soonest.IsZero() || time.Since(w.held.soonest) < heldYield {
		return nil
	}
	return w.held.over(false)
}

// HandOnIn is in how long a worker without a processor hands queues on, if it watches rates at all.
func (w *Watch) HandOnIn() (in time.Duration, waits bool) {
	if w.held.soonest.IsZero() {
		return 0, false
	}
	return w.held.next() + heldYield, true
}

// The bounds of how long before a rate lets it begin a job is taken.
const (
	slackAhead = 2 * time.Millisecond // for timers, and for the fetch to get its turn
	mostAhead  = 100 * time.Millisecond
)

// LeastAhead is how long before its time a job is taken at the least.
const LeastAhead = 2 * slackAhead

// lead is how long before a rate leaves room the fetcher asks. Whoever asks right then is late by a round trip each
// time, and what a rate gave meanwhile is lost where its burst is small.
func (w *Watch) lead() time.Duration { return min(w.trip+w.held.late+slackAhead, mostAhead/2) }

// Ahead is how long before a rate lets it begin a job is taken: until its time a processor holds it.
func (w *Watch) Ahead() time.Duration { return 2 * w.lead() }

// Travelled learns from a fetch how long they take.
func (w *Watch) Travelled(trip time.Duration) {
	if w.trip == 0 {
		w.trip = trip
	}
	w.trip += (trip - w.trip) / 8
}
