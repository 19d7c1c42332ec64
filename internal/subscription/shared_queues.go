package subscription

import (
	"maps"
	"sync/atomic"
)

// Shared are the queues that names of a pool share with others, or did, by name, each with what holds for all of its
// jobs. Of a pool that has none it is empty, and costs next to nothing. One goroutine at a time adds queues; all else
// may be called concurrently.
type Shared[T any] struct {
	known atomic.Pointer[map[string]*T] // another map after each change
}

// Of is a queue; nil where there is none of that name.
func (s *Shared[T]) Of(name string) *T { return s.All()[name] }

// All are all of them. Nobody changes the map.
func (s *Shared[T]) All() map[string]*T {
	if known := s.known.Load(); known != nil {
		return *known
	}
	return nil
}

// Add adds a queue.
func (s *Shared[T]) Add(name string, queue *T) {
	known := maps.Clone(s.All())
	if known == nil {
		known = map[string]*T{}
	}
	known[name] = queue
	s.known.Store(&known)
}

// Forget forgets all: a start that has failed may have left some.
func (s *Shared[T]) Forget() { s.known.Store(nil) }
