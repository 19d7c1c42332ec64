package work

import (
	"context"
	"sync"
)

// nudge has the fetcher look up from what it waits for in Redis. That cuts its connection, so it is for what no token tells.
type nudge struct {
	given chan struct{}
	mu    sync.Mutex
	cut   func()
}

func newNudge() *nudge { return &nudge{given: make(chan struct{}, 1)} }

// give wakes the fetcher, now or when it waits next.
func (n *nudge) give() {
	select {
	case n.given <- struct{}{}:
	default:
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut != nil {
		n.cut()
	}
}

// during returns a ctx that a nudge ends, for as long as end is not called. A nudge that came before ends it at once.
func (n *nudge) during(ctx context.Context) (waiting context.Context, end func()) {
	waiting, cancel := context.WithCancel(ctx)
	n.set(cancel)
	if len(n.given) > 0 {
		cancel()
	}
	return waiting, func() { n.set(nil); cancel() }
}

func (n *nudge) set(cut func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = cut
}

// take tells whether there was a nudge, and forgets it.
func (n *nudge) take() bool {
	select {
	case <-n.given:
		return true
	default:
		return false
	}
}
