package subscription

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/265d0351/work/internal/needs"
)

// Served is which of its registered queues a pool serves now. Whoever calls Serve or Withdraw of the pool changes it;
// the fetcher of each worker brings what it fetches, and what Redis knows of it, in line with it: see [Listing]. Its
// zero value is that of a pool before its start. All methods may be called concurrently.
type Served struct {
	mu        sync.Mutex
	version   int64
	names     []string // in order; another slice after each change
	withdrawn map[string]*atomic.Bool
	held      map[string]bool     // that cannot be served yet, though they may be wanted
	wanted    map[string]bool     // by name: what was wanted last; others are as chosen at the start
	labels    []string            // of the workers
	parts     map[string][]string // by name: the known queues of its jobs that need labels, in order
	shared    map[string][]string // by name: the queues that it shares with others, in order
	moved     chan struct{}       // closed at the next change of anything that somebody may wait for
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
	s.names = s.withParts(s.serving())
	s.version++
}

// withParts are queues with those of their jobs that need something and find it here, in order. The caller holds the
// lock.
func (s *Served) withParts(queues map[string][]string) []string {
	names := make([]string, 0, len(queues))
	for queue, labels := range queues {
		names = append(names, queue)
		for _, part := range s.parts[queue] {
			if needs.Met(needs.Of(part), labels) {
				names = append(names, part)
			}
		}
	}
	slices.Sort(names)
	return names
}

// serving are the queues that are served, but for those of jobs that need something, each with what the workers have:
// their labels, and handlers for names whose jobs are there. The caller holds the lock.
func (s *Served) serving() map[string][]string {
	return s.chosen(func(name string) bool { return !s.held[name] })
}

// meant is serving together with what is held.
func (s *Served) meant() map[string][]string { return s.chosen(func(string) bool { return true }) }

func (s *Served) chosen(also func(name string) bool) map[string][]string {
	queues := make(map[string][]string, len(s.withdrawn))
	for name, withdrawn := range s.withdrawn {
		if withdrawn.Load() || !also(name) {
			continue
		}
		for _, queue := range append([]string{name}, s.shared[name]...) {
			if queues[queue] == nil {
				queues[queue] = slices.Clone(s.labels)
			}
			queues[queue] = append(queues[queue], needs.Handler(name))
		}
	}
	return queues
}

// Share says which queues names share with others, or did, and tells whether more are served now. Queues that were said
// before stay. It is called after Open.
func (s *Served) Share(queues map[string][]string) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, others := range queues {
		for _, queue := range others {
			at, known := slices.BinarySearch(s.shared[name], queue)
			if known || s.withdrawn[name] == nil {
				continue
			}
			if s.shared == nil {
				s.shared = map[string][]string{}
			}
			s.shared[name] = slices.Insert(slices.Clone(s.shared[name]), at, queue)
			more = true
		}
	}
	if more {
		s.list()
	}
	return more
}

// shares tells whether a name is that of a queue with jobs of several names. The caller holds the lock.
func (s *Served) shares(queue string) bool {
	for _, queues := range s.shared {
		if slices.Contains(queues, queue) {
			return true
		}
	}
	return false
}

// IsMeant tells whether a queue is among those of Meant, also of one that nobody knew of.
func (s *Served) IsMeant(queue string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	labels, meant := s.meant()[needs.Name(queue)]
	return meant && needs.Met(needs.Of(queue), labels)
}

// SetLabels says which labels the workers have. It is called before Open.
func (s *Served) SetLabels(labels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.labels = labels
}

// mostParts is of how many queues of one name it is known that there are jobs which need labels, beyond those that the
// workers serve. Of more only the waking is slower: see Siblings.
const mostParts = 256

// Learn notes queues of jobs that need labels, of whatever names, and tells whether more are served now.
func (s *Served) Learn(queues []string) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var serving map[string][]string
	for _, queue := range queues {
		name := needs.Name(queue)
		if s.withdrawn[name] == nil && !s.shares(name) {
			continue
		}
		if serving == nil {
			serving = s.serving()
		}
		labels, serves := serving[name]
		if !serves { // it may be served again
			labels = append(slices.Clone(s.labels), needs.Handler(name))
		}
		parts, met := s.parts[name], needs.Met(needs.Of(queue), labels)
		at, known := slices.BinarySearch(parts, queue)
		if known || !met && len(parts) >= mostParts {
			continue
		}
		if s.parts == nil {
			s.parts = map[string][]string{}
		}
		s.parts[name] = slices.Insert(parts, at, queue)
		more = more || met
	}
	if more {
		s.list()
	}
	return more
}

// Siblings are the other queues of the jobs of that name, those that are not served here included: they share its
// limits. As long as there are none that costs next to nothing.
func (s *Served) Siblings(queue string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parts) == 0 {
		return nil
	}
	name := needs.Name(queue)
	return slices.DeleteFunc(append([]string{name}, s.parts[name]...), func(one string) bool { return one == queue })
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

// Meant are the queues that are served now, and those that are as soon as they are not held any more, in order.
func (s *Served) Meant() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		return s.names
	}
	return s.withParts(s.meant())
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
