package subscription

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Served is which of its registered queues a pool serves now. Whoever calls Serve or Withdraw of the pool changes it;
// the fetcher of each worker brings what it fetches, and what Redis knows of it, in line with it: see [Listing]. Its
// zero value is that of a pool before its start. All methods may be called concurrently.
type Served struct {
	mu        sync.Mutex
	version   int64
	names     []string // in order; another slice after each change
	withdrawn map[string]*atomic.Bool
	held      map[string]bool // that cannot be served yet, though they may be wanted
	wanted    map[string]bool // by name: what was wanted last; others are as chosen at the start
	moved     chan struct{}   // closed at the next change of anything that somebody may wait for
}

// Open is called when the pool is about to start: it serves those of its queues that were chosen, but for what was
// changed before.
func (s *Served) Open(registered []string, chosen func(name string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withdrawn = make(map[string]*atomic.Bool, len(registered)) // others for each start
	s.held = nil
	for _, name := range registered {
		serve, said := s.wanted[name]
		withdrawn := &atomic.Bool{}
		withdrawn.Store(said && !serve || !said && !chosen(name))
		s.withdrawn[name] = withdrawn
	}
	s.list()
}

// list makes the names anew. The caller holds the lock.
func (s *Served) list() {
	names := make([]string, 0, len(s.withdrawn))
	for name, withdrawn := range s.withdrawn {
		if !withdrawn.Load() && !s.held[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	s.names = names
	s.version++
}

// Withdrawn is true as long as the queue is not served. It is for those who look before each job; before Open it is
// nil.
func (s *Served) Withdrawn(name string) *atomic.Bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.withdrawn[name]
}

// Change has queues served, or not, and returns the version that says so. From here on nothing begins of what is
// withdrawn. Before Open it says what Open is to serve.
func (s *Served) Change(names []string, serve bool) (version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted == nil {
		s.wanted = map[string]bool{}
	}
	for _, name := range names {
		s.wanted[name] = serve
		if withdrawn := s.withdrawn[name]; withdrawn != nil {
			withdrawn.Store(!serve)
		}
	}
	if s.version > 0 { // it was opened
		s.list()
	}
	return s.version
}

// Hold has queues not served, whatever is wanted, until Release. It is called after Open, before anybody serves them.
func (s *Served) Hold(names []string) {
	if len(names) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = make(map[string]bool, len(names))
	for _, name := range names {
		s.held[name] = true
	}
	s.list()
}

// Release has a queue served that was held, if that is wanted.
func (s *Served) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, name)
	s.list()
}

// Overruled tells whether somebody has wanted the opposite for one of the names since.
func (s *Served) Overruled(names []string, serve bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(names, func(name string) bool { return s.wanted[name] != serve })
}

// Now returns the names that are served, in an order and a slice that nobody changes, and which version that is.
func (s *Served) Now() (names []string, version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names, s.version
}

// Moved returns what is closed when the next thing happens that somebody who changes may wait for.
func (s *Served) Moved() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moved == nil {
		s.moved = make(chan struct{})
	}
	return s.moved
}

// Tell has those who wait look again.
func (s *Served) Tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moved != nil {
		close(s.moved)
		s.moved = nil
	}
}
