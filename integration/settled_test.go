package integration

import (
	"sync"
	"sync/atomic"

	"github.com/265d0351/work/event"
)

// settled counts the jobs whose outcomes a pool tells of as acknowledged.
type settled struct {
	jobs       int64 // how many there are in all
	count      atomic.Int64
	first, all chan struct{} // closed with the first and the last
	begun      sync.Once
}

// observe is called by the settlers of all workers of the pool.
func (s *settled) observe(e event.Event) {
	told, is := e.(event.JobsSettled)
	if !is {
		return
	}
	now := s.count.Add(int64(told.Jobs))
	s.begun.Do(func() { close(s.first) })
	if now == s.jobs {
		close(s.all)
	}
}
