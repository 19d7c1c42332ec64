package work

import (
	"slices"
	"time"
)

// heldQueues are the queues that have jobs which may not begin now: paused, at a limit, or over a rate. They are not asked
// again for a while, unless a token says that there is room: whoever makes room leaves one.
type heldQueues map[string]heldQueue

type heldQueue struct {
	until time.Time
	known bool // there is room by then, since only a rate is in the way
}

// heldFor is after what time a queue is asked again of which nobody knows when there is room.
const heldFor = 100 * time.Millisecond

// note notes that a queue is held; a negative wait is not known.
func (h heldQueues) note(name string, wait time.Duration) {
	if wait < 0 {
		h[name] = heldQueue{until: time.Now().Add(heldFor)}
		return
	}
	h[name] = heldQueue{until: time.Now().Add(wait), known: true}
}

// without returns the names that are not held any more.
func (h heldQueues) without(names []string) []string {
	if len(h) == 0 {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool {
		queue, held := h[name]
		if held && time.Now().After(queue.until) {
			delete(h, name)
			held = false
		}
		return held
	})
}

// next is in how long a rate leaves room again, or a long time.
func (h heldQueues) next() time.Duration {
	next := time.Hour
	for _, queue := range h {
		if queue.known {
			next = min(next, max(0, time.Until(queue.until)))
		}
	}
	return next
}

// over forgets and returns those for which a rate leaves room again.
func (h heldQueues) over() (names []string) {
	for name, queue := range h {
		if queue.known && !time.Now().Before(queue.until) {
			names = append(names, name)
			delete(h, name)
		}
	}
	return names
}
