package subscription

import (
	"math/rand/v2"
	"slices"
	"time"
)

// heldQueues are the queues that have jobs which may not begin now: paused, at a limit, or over a rate. They are not
// asked again for a while, unless a token says that there is room: whoever makes room leaves one. Nobody makes the room
// of a rate but time, so a worker waits for that.
//
// It is enough that one worker of many does. One that has asked in vain a few times in a row waits longer and longer,
// and one that gets a job is on time again; if that one has no processor left, its fetch leaves a token for the next.
type heldQueues struct {
	queues  map[string]heldQueue
	vain    map[string]int // how often in a row a queue was asked which a rate held
	soonest time.Time      // no rate leaves room before; zero where none is in the way
	late    time.Duration  // by which they were asked later than they might have been, of late
}

type heldQueue struct {
	until time.Time
	known bool // one may begin then, since only a rate is in the way
	open  bool // others may begin before, since it is the rate of a key
}

// The times for which queues are held.
const (
	heldFor  = 100 * time.Millisecond // where nobody knows when there is room
	heldMost = 5 * time.Second        // whatever is known: a token may have gone to a worker that died
	// for which a worker waits longer than it must, doubled each time, while others are faster
	heldYield   = 20 * time.Millisecond
	heldYields  = time.Second           // the most of that
	vainAtFirst = 3                     // so often in vain is chance
	heldLate    = 10 * time.Millisecond // as much is made up for: a worker without processors is later
)

func newHeldQueues() *heldQueues {
	return &heldQueues{queues: map[string]heldQueue{}, vain: map[string]int{}}
}

// note notes that a queue is held, of which a fetch brought so many jobs; a negative wait is not known. A known one is
// over by that lead sooner for the worker that is served.
func (h *heldQueues) note(name string, wait, lead time.Duration, jobs int) {
	now := time.Now()
	if wait < 0 {
		h.queues[name] = heldQueue{until: now.Add(heldFor)}
		return
	}
	h.vain[name]++
	if jobs > 0 {
		delete(h.vain, name)
	}
	if h.vain[name] < vainAtFirst {
		wait -= lead
	} else {
		yield := min(heldYield<<min(h.vain[name]-vainAtFirst, 10), heldYields)
		wait += yield/2 + rand.N(yield/2)
	}
	until := now.Add(min(max(0, wait), heldMost))
	h.queues[name] = heldQueue{until: until, known: true}
	if h.soonest.IsZero() || until.Before(h.soonest) {
		h.soonest = until
	}
}

// remind notes when a key of a queue may begin a job, which is over by that lead sooner for the worker that is served.
// What is known of the queue already goes before it. One that may begin by its rate and was not taken waits for
// something else, and who makes room for that leaves a token.
func (h *heldQueues) remind(name string, wait, lead time.Duration) {
	if queue, held := h.queues[name]; held && !queue.open || wait <= 0 {
		return
	}
	if wait > lead { // else it is asked once more and not again and again, should something else be in the way
		wait -= lead
	}
	until := time.Now().Add(min(wait, heldMost))
	h.queues[name] = heldQueue{until: until, known: true, open: true}
	if h.soonest.IsZero() || until.Before(h.soonest) {
		h.soonest = until
	}
}

// called notes that this worker was called to a queue: it waits no longer than it must, if only this once.
func (h *heldQueues) called(name string) {
	if h.vain[name] > vainAtFirst-2 {
		h.vain[name] = vainAtFirst - 2
	}
}

// freed forgets a queue of which a job has ended, and tells whether that may have made room: in a rate it does not.
func (h *heldQueues) freed(name string) bool {
	queue, held := h.queues[name]
	if !held || queue.known {
		return held && queue.open
	}
	delete(h.queues, name)
	return true
}

// forget forgets all about a queue.
func (h *heldQueues) forget(name string) {
	delete(h.queues, name)
	delete(h.vain, name)
}

// without returns the names that are not held any more. What is known of a rate is left to over: who names a queue here
// may have asked it just now, and in vain.
func (h *heldQueues) without(names []string) []string {
	if len(h.queues) == 0 {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool {
		queue, held := h.queues[name]
		if held && !queue.known && time.Now().After(queue.until) {
			delete(h.queues, name)
			held = false
		}
		return held && !queue.open
	})
}

// next is in how long a rate leaves room again, or a long time.
func (h *heldQueues) next() time.Duration {
	if h.soonest.IsZero() {
		return time.Hour
	}
	return max(0, time.Until(h.soonest))
}

// over forgets and returns those for which a rate leaves room again. It learns how late that was noticed, unless it was
// late on purpose. It costs nothing while there is none.
func (h *heldQueues) over(learn bool) (names []string) {
	now := time.Now()
	if h.soonest.IsZero() || now.Before(h.soonest) {
		return nil
	}
	h.soonest = time.Time{}
	for name, queue := range h.queues {
		switch {
		case !queue.known:
		case !now.Before(queue.until):
			if learn {
				h.wasLate(now.Sub(queue.until))
			}
			names = append(names, name)
			delete(h.queues, name)
		case h.soonest.IsZero() || queue.until.Before(h.soonest):
			h.soonest = queue.until
		}
	}
	return names
}

// wasLate learns how late a queue was asked: a machine that has much to do makes timers late, and so does a fetch under
// way. What was worst is forgotten slowly.
func (h *heldQueues) wasLate(by time.Duration) { h.late = max(min(by, heldLate), h.late-h.late/16) }
