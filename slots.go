package work

import (
	"context"
	"runtime"
	"sync/atomic"
)

// slots counts what a worker may still fetch: a job for each free processor, as long as not too many outcomes wait to
// be acknowledged. So memory stays bounded while Redis is away.
type slots struct {
	concurrency int
	most        int // claims held at once, running or not yet acknowledged

	queued atomic.Int64 // runs given to processors and not taken up
	busy   atomic.Int64 // runs given to processors and not returned
	held   atomic.Int64 // claims not yet acknowledged
	parked atomic.Int64 // of those, the ones whose outcome is refused for a reason of its own
	freed  chan struct{}
}

func newSlots(concurrency, most int) *slots {
	return &slots{concurrency: concurrency, most: most, freed: make(chan struct{}, 1)}
}

// maxParked is how many outcomes may be parked before they count against what is fetched. Until then one broken key
// keeps no other queue from being served; after that memory comes first.
const maxParked = 1000

func (s *slots) free() int {
	waiting := s.held.Load() - min(s.parked.Load(), maxParked)
	return int(min(int64(s.concurrency)-s.busy.Load(), int64(s.most)-waiting))
}

func (s *slots) hold()    { s.held.Add(1) }
func (s *slots) occupy()  { s.queued.Add(1); s.busy.Add(1) }
func (s *slots) takeUp()  { s.queued.Add(-1) }
func (s *slots) vacate()  { s.busy.Add(-1); s.signal() }
func (s *slots) settled() { s.held.Add(-1); s.signal() }

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

// wait returns how many jobs may be fetched, at least one, or 0 when ctx ended.
func (s *slots) wait(ctx context.Context) int {
	s.until(ctx, func() bool { return s.free() > 0 })
	if ctx.Err() != nil {
		return 0
	}
	for range gatherYields { // jobs that are about to end make the fetch larger
		if s.free() >= s.concurrency/2 {
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
