package work

import (
	"context"
	"runtime"
	"sync/atomic"
)

// slots counts what a worker may still fetch: a job for each free processor, as long as not too many outcomes wait to
// be acknowledged. So memory stays bounded while Redis is away.
type slots struct {
	room int // runs given to processors at once: one for each, and those that are prefetched
	most int // claims held at once, running or not yet acknowledged

	queued atomic.Int64 // runs given to processors and not taken up
	busy   atomic.Int64 // runs given to processors and not returned
	held   atomic.Int64 // claims not yet acknowledged
	parked atomic.Int64 // of those, the ones whose outcome is refused for a reason of its own
	freed  chan struct{}
}

func newSlots(room, most int) *slots {
	return &slots{room: room, most: most, freed: make(chan struct{}, 1)}
}

// maxParked is how many outcomes may be parked before they count against what is fetched. Until then one broken key
// keeps no other queue from being served; after that memory comes first.
const maxParked = 1000

func (s *slots) free() int {
	waiting := s.held.Load() - min(s.parked.Load(), maxParked)
	return int(min(int64(s.room)-s.busy.Load(), int64(s.most)-waiting))
}

func (s *slots) hold(n int)    { s.held.Add(int64(n)) }
func (s *slots) occupy(n int)  { s.queued.Add(int64(n)); s.busy.Add(int64(n)) }
func (s *slots) takeUp()       { s.queued.Add(-1) }
func (s *slots) park()         { s.parked.Add(1); s.signal() } // it may be all that the fetcher waited for
func (s *slots) settled(n int) { s.held.Add(int64(-n)); s.signal() }

// overlapFrom is how much room a worker must have for it to be worth while to fetch with the half of it.
const overlapFrom = 64

// vacate gives a place back. Where half of them are free the fetcher and the settler get a turn: processors of short
// jobs would otherwise go on until none is left, and then wait for Redis, which had nothing to do until then.
func (s *slots) vacate() {
	busy := s.busy.Add(-1)
	s.signal()
	if s.room >= overlapFrom && busy == int64(s.room/2) {
		runtime.Gosched()
	}
}

// signal wakes the one that waits; a second signal before it looked is the same news.
func (s *slots) signal() {
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// gatherYields is how often whoever is about to talk to Redis lets others run first, so that what they are about to
// finish goes with it: a round trip costs as much as dozens of short jobs. It costs nothing where jobs are long.
const gatherYields = 4

// wait returns how many jobs may be fetched: at least one, unless ctx ended or there is news.
func (s *slots) wait(ctx context.Context, news func() bool) int {
	s.until(ctx, func() bool { return s.free() > 0 || news() })
	if ctx.Err() != nil {
		return 0
	}
	for range gatherYields { // jobs that are about to end make the fetch larger
		if s.free() >= s.room/2 {
			break
		}
		runtime.Gosched()
	}
	return s.free()
}

// until waits for a condition that changes only with these counts; one goroutine at a time may wait.
func (s *slots) until(ctx context.Context, condition func() bool) bool {
	for !condition() {
		select {
		case <-ctx.Done():
			return condition()
		case <-s.freed:
		}
	}
	return true
}
