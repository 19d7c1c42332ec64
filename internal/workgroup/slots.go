package workgroup

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Slots counts what a worker may still fetch: a job for each free goroutine, as long as not too many results wait to
// be acknowledged. So memory stays bounded while Redis is away.
//
// A job is held from its fetch to its acknowledgement. In between it occupies a place among those of the goroutines:
// queued until one of them has taken it up, busy until it is vacated. One that is away, since all that it does is wait,
// leaves room for another one meanwhile.
//
// Several who fetch for the same goroutines share the places: see [Places]. What else is counted is of each alone, so
// that one whose Redis takes no results keeps nobody else from fetching.
type Slots struct {
	places *Places
	most   int

	lent  int           // of the places, for the fetch under way; guarded by those
	turns int64         // how often places were lent; guarded by them
	began time.Time     // when they were lent last; guarded by them
	trip  time.Duration // how long turns last, about: the newer ones count most; guarded by them
	lapse *time.Timer   // takes back what is lent; nil between turns. Of the one who fetches

	queued atomic.Int64
	busy   atomic.Int64
	held   atomic.Int64
	parked atomic.Int64
	away   atomic.Int64
	spread atomic.Int64 // waiting for replicas
	apart  atomic.Int64 // bounded by somebody else
	more   atomic.Int64 // that may be held beside most
	freed  Wakeup
}

// NewSlots makes the slots of a worker with room for so many jobs given to goroutines at once, one for each goroutine
// and those that are prefetched, and of at most so many that are held, running or not yet acknowledged.
func NewSlots(room, most int) *Slots { return NewPlaces(room).Slots(most) }

// maxParked is how many results may be parked before they count against what is fetched. Until then one broken key
// keeps no other queue from being served; after that memory comes first.
const maxParked = 1000

// maxUnconfirmed is how many results may wait for replicas before they count against what is fetched. Nothing of them
// is left in Redis' lists, so only memory bounds them: with replicas that are 100 ms behind it is 50,000 jobs/s.
const maxUnconfirmed = 5000

// Free is how many jobs may be fetched; it may be negative.
func (s *Slots) Free() int { return min(s.places.Free(), s.own()) }

// own is how many more may be held.
func (s *Slots) own() int {
	waiting := s.held.Load() - s.away.Load() - min(s.parked.Load(), maxParked) - min(s.spread.Load(), maxUnconfirmed) -
		s.apart.Load()
	return int(int64(s.most) + s.more.Load() - waiting)
}

// Room is how many jobs the goroutines may be given at once.
func (s *Slots) Room() int { return s.places.room + int(s.places.ahead.Load()) }

// FetchAhead has so many jobs fetched beside those that there is room for, and so many more be held, until it is called
// again. It is for the only one who fetches for the goroutines.
func (s *Slots) FetchAhead(jobs, held int) {
	s.places.ahead.Store(int64(jobs))
	s.more.Store(int64(held))
}

// enough is how many jobs a fetch is worth while for: one, or half of what is fetched ahead. The other half keeps the
// goroutines busy until it is answered.
func (s *Slots) enough() int { return max(1, int(s.places.ahead.Load())/2) }

// Ready tells whether Wait would not wait.
func (s *Slots) Ready() bool { return s.worthwhile(s.Free()) }

// worthwhile tells whether so many jobs are enough for a fetch; any are while a goroutine is idle.
func (s *Slots) worthwhile(jobs int) bool { return jobs >= s.enough() || jobs > 0 && !s.places.Full() }

// Most is how many jobs may be held at once.
func (s *Slots) Most() int { return s.most }

// Hold notes jobs that were fetched.
func (s *Slots) Hold(n int) { s.held.Add(int64(n)) }

// Apart notes so many of the jobs that are held as ones whose number is bounded by somebody else, so that they do not
// count against what is fetched; below zero those that do again, or are not held any more. They are neither parked nor
// waiting for replicas as long as they are apart.
func (s *Slots) Apart(n int) { s.apart.Add(int64(n)); s.Signal() }

// Held is how many jobs are not acknowledged yet.
func (s *Slots) Held() int { return int(s.held.Load()) }

// Settled notes jobs whose results were acknowledged.
func (s *Slots) Settled(n int) { s.held.Add(int64(-n)); s.Signal() }

// Park notes a result that is refused for a reason of its own, which is tried again later. That may be all that the
// fetcher has waited for.
func (s *Slots) Park() { s.parked.Add(1); s.Signal() }

// Unpark notes so many that are tried again.
func (s *Slots) Unpark(n int) { s.parked.Add(int64(-n)) }

// Unconfirmed notes results that are acknowledged and wait for replicas; below zero those that do not any longer.
func (s *Slots) Unconfirmed(n int) { s.spread.Add(int64(n)); s.Signal() }

// Waiting is how many results wait for replicas.
func (s *Slots) Waiting() int { return int(s.spread.Load()) }

// Occupy notes jobs that are given to goroutines.
func (s *Slots) Occupy(n int) {
	s.queued.Add(int64(n))
	s.busy.Add(int64(n))
	s.places.busy.Add(int64(n))
}

// TakeUp notes that a goroutine has begun with one, or will not.
func (s *Slots) TakeUp() { s.queued.Add(-1) }

// Queued is how many were given to goroutines and not taken up.
func (s *Slots) Queued() int { return int(s.queued.Load()) }

// Leave notes that one which is busy is away from now on, and that another may be fetched. It returns false where so
// many of the goroutines are away already.
func (s *Slots) Leave(most int) bool {
	for away := s.places.away.Load(); away < int64(most); away = s.places.away.Load() {
		if s.places.away.CompareAndSwap(away, away+1) {
			s.away.Add(1)
			s.Signal()
			if s.Shared() {
				s.places.call()
			}
			return true
		}
	}
	return false
}

// Return notes that one is not away any more, or is about to come back: nothing is fetched in its stead.
func (s *Slots) Return() { s.away.Add(-1); s.places.away.Add(-1) }

// Away is how many are away.
func (s *Slots) Away() int { return int(s.away.Load()) }

// Busy is how many were given to goroutines and not vacated, with those that are away.
func (s *Slots) Busy() int { return int(s.busy.Load()) }

// overlapFrom is how much room a worker must have for it to be worth while to fetch with the half of it.
const overlapFrom = 64

// Vacate gives a place back. Where half of them are free, or half of what was fetched ahead is left, the fetcher and
// the settler get a turn: goroutines with short jobs would otherwise go on until none is left, and then wait for
// Redis, which had nothing to do until then.
func (s *Slots) Vacate() {
	s.busy.Add(-1)
	busy := s.places.vacate()
	if s.Shared() || s.worthwhile(s.places.Free()) {
		s.Signal()
	}
	turn := s.places.room / 2
	if enough := s.enough(); enough > 1 {
		turn = s.Room() - enough
	}
	if s.Room() >= overlapFrom && busy == int64(turn) {
		runtime.Gosched()
	}
}

// Signal has the one that waits look again.
func (s *Slots) Signal() { s.freed.Wake() }

// Wait returns how many jobs may be fetched: at least one, unless ctx ended or there is news.
func (s *Slots) Wait(ctx context.Context, news func() bool) int {
	s.Until(ctx, func() bool { return s.Ready() || news() })
	if ctx.Err() != nil {
		return 0
	}
	Gather(func() bool { return s.Free() >= s.Room()/2 }) // jobs that are about to end make the fetch larger
	return s.Free()
}

// Until waits for a condition that changes only with these counts, or with a Signal, and returns whether it holds. One
// goroutine at a time may wait.
func (s *Slots) Until(ctx context.Context, condition func() bool) bool {
	for !condition() {
		select {
		case <-ctx.Done():
			return condition()
		case <-s.freed:
		}
	}
	return true
}
