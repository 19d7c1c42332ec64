package work

import (
	"sync"
	"sync/atomic"
)

// roomyQueues are those whose limit has room again, as the settler of a worker has learnt. Its fetcher need not wait
// for a token, which may go to another worker, nor until it would ask a held queue again.
type roomyQueues struct {
	some  atomic.Bool
	mu    sync.Mutex
	names map[string]bool
}

func (r *roomyQueues) add(names map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[string]bool{}
	}
	for name := range names {
		r.names[name] = true
	}
	r.some.Store(true)
}

// take returns and forgets them; most of the time there are none, which costs next to nothing.
func (r *roomyQueues) take() map[string]bool {
	if !r.some.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	names := r.names
	r.names = nil
	r.some.Store(false)
	return names
}
