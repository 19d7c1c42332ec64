package workgroup

import "runtime"

// Wakeup has one goroutine look up from what it waits for: it receives from the channel. Any number may wake it, and
// never wait for it; two wakeups before it has looked up are one.
type Wakeup chan struct{}

// NewWakeup makes a Wakeup that nobody has given yet.
func NewWakeup() Wakeup { return make(Wakeup, 1) }

// Wake wakes the goroutine, now or when it waits next.
func (w Wakeup) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// gatherYields is how often Gather lets others run.
const gatherYields = 4

// Gather lets other goroutines run for a moment, until there is enough. It is for whoever is about to talk to Redis:
// what others are about to finish goes along, and a round trip costs as much as dozens of short jobs. It costs nothing
// where jobs are long.
func Gather(enough func() bool) {
	for yields := 0; !enough() && yields < gatherYields; yields++ {
		runtime.Gosched()
	}
}
