package work

import (
	"cmp"
	"slices"

	"github.com/265d0351/work/internal/rdb"
)

// prioritySampler decides how many jobs to ask from which queue. Among the queues that have work, each gets a share of
// the jobs in proportion to its priority: equal ones take turns, and none that has work starves.
//
// It is stride scheduling (Waldspurger and Weihl, 1995): each queue has a pass that grows by jobs/priority as it is
// served, and the one with the smallest pass is next. A draw takes small lots instead of single jobs, since ten jobs
// from one queue cost Redis less than one from each of ten; the passes even that out over the next draws.
type prioritySampler struct {
	active []*stride // queues that are known to have work
	byName map[string]*stride
	floor  float64 // the smallest pass of those that have work: where a queue joins that has just got some

	batches int // how many of the queues that have work give their jobs together
	spares  int // how many queues the next fetch names to fill up from: see learn
}

type stride struct {
	name   string
	weight float64
	pass   float64
	share  int // within the draw under way
	active bool
	// Its jobs are taken together: a batch counts as one job, and no draw has some of them beside those of others.
	together bool
}

// spareQueues is how many queues a fetch names at the least beyond those that it wants something from, to fill up from
// when those have less than was thought.
const spareQueues = 2

// batchesPerDraw is over how many queues a draw spreads at the least, when all are of equal weight. More make each draw
// fairer, fewer make it cheaper for Redis; over many draws the shares are the same.
const batchesPerDraw = 2

func newPrioritySampler(priorities map[string]int) *prioritySampler {
	s := &prioritySampler{byName: make(map[string]*stride, len(priorities)), spares: spareQueues}
	for name, priority := range priorities {
		s.meet(name, JobOptions{Priority: priority})
	}
	return s
}

// meet adds a queue to those that are known, if it is new.
func (s *prioritySampler) meet(name string, options JobOptions) {
	if s.byName[name] == nil {
		s.byName[name] = &stride{name: name, weight: float64(options.Priority), together: options.Together.Most > 0}
	}
}

// forget removes a queue from those that are known.
func (s *prioritySampler) forget(name string) {
	s.remove(name)
	delete(s.byName, name)
}

// setReady replaces the set of queues that have work. It returns the names that it does not know.
func (s *prioritySampler) setReady(names []string) (strangers []string) {
	s.raiseFloor()
	for _, q := range s.active {
		q.active = false
	}
	s.active, s.batches = s.active[:0], 0
	for _, name := range names {
		if s.byName[name] == nil {
			strangers = append(strangers, name)
		}
		s.join(name)
	}
	return strangers
}

// add notes that a queue has work.
func (s *prioritySampler) add(name string) {
	s.raiseFloor()
	s.join(name)
}

func (s *prioritySampler) addAll(names []string) {
	for _, name := range names {
		s.add(name)
	}
}

// join lets a queue in where the others are, so that it cannot catch up on turns that it did not need.
func (s *prioritySampler) join(name string) {
	q := s.byName[name]
	if q == nil || q.active {
		return
	}
	q.active = true
	q.pass = max(q.pass, s.floor)
	s.active = append(s.active, q)
	if q.together {
		s.batches++
	}
}

// remove notes that a queue is empty.
func (s *prioritySampler) remove(name string) {
	q := s.byName[name]
	if q == nil || !q.active {
		return
	}
	s.raiseFloor()
	q.active = false
	s.active = slices.DeleteFunc(s.active, func(other *stride) bool { return other == q })
	if q.together {
		s.batches--
	}
}

func (s *prioritySampler) raiseFloor() {
	if len(s.active) > 0 {
		least := slices.MinFunc(s.active, func(a, b *stride) int { return cmp.Compare(a.pass, b.pass) })
		s.floor = max(s.floor, least.pass)
	}
}

// ready returns the queues that are known to have work.
func (s *prioritySampler) ready() []string {
	names := make([]string, len(s.active))
	for i, q := range s.active {
		names[i] = q.name
	}
	return names
}

// idle tells whether no queue is known to have work.
func (s *prioritySampler) idle() bool { return len(s.active) == 0 }

// draw splits so many jobs over the queues that have work, and names a few more with a share of 0 to fill up from.
// Call charge with what came of it.
func (s *prioritySampler) draw(jobs int) []rdb.Share {
	slices.SortFunc(s.active, func(a, b *stride) int { return cmp.Compare(a.pass, b.pass) })
	candidates := s.active
	if s.batches > 0 {
		candidates = slices.DeleteFunc(slices.Clone(s.active), func(q *stride) bool { return q.together })
	}
	candidates = candidates[:min(len(candidates), rdb.MaxQueues)]
	if len(candidates) == 0 {
		return nil
	}
	heaviest := 0.0
	for _, q := range candidates {
		heaviest = max(heaviest, q.weight)
	}
	// of the heaviest queue; a light one must not get ahead by far more than its share
	lot := float64(jobs) / batchesPerDraw
	tentative := make([]float64, len(candidates))
	for i, q := range candidates {
		tentative[i], q.share = q.pass, 0
	}
	for left := jobs; left > 0; {
		least := 0
		for i := range tentative {
			if tentative[i] < tentative[least] {
				least = i
			}
		}
		n := min(max(1, int(lot*candidates[least].weight/heaviest)), left)
		candidates[least].share += n
		tentative[least] += float64(n) / candidates[least].weight
		left -= n
	}
	return s.shares(candidates)
}

// together is the queue that is next, where its jobs are taken together; empty where it is another one.
func (s *prioritySampler) together() string {
	if s.batches == 0 {
		return ""
	}
	next := slices.MinFunc(s.active, func(a, b *stride) int { return cmp.Compare(a.pass, b.pass) })
	if !next.together {
		return ""
	}
	return next.name
}

// drawWith is draw with at least one job from that queue.
func (s *prioritySampler) drawWith(jobs int, name string) []rdb.Share {
	shares := s.draw(jobs)
	most, at := 0, -1
	for i := range shares {
		if shares[i].Queue == name {
			at = i
		}
		if shares[i].Jobs > shares[most].Jobs {
			most = i
		}
	}
	switch {
	case at >= 0 && shares[at].Jobs > 0, len(shares) == 0:
		return shares
	case at >= 0:
		shares[at].Jobs = 1
	default:
		shares = append(shares, rdb.Share{Queue: name, Jobs: 1})
	}
	shares[most].Jobs--
	return shares
}

// shares names the queues in the order of the candidates, and a few with a share of nothing, which the fetch may fill
// up from.
func (s *prioritySampler) shares(candidates []*stride) []rdb.Share {
	shares := make([]rdb.Share, 0, len(candidates))
	spares := 0
	for _, q := range candidates {
		if q.share == 0 {
			spares++
			if spares > s.spares {
				continue
			}
		}
		shares = append(shares, rdb.Share{Queue: q.name, Jobs: q.share})
	}
	return shares
}

// learn finds out how many queues to fill up from, by what a fetch of so many jobs got from these and how many of them
// gave what was not asked of them: as long as many queues have a few jobs each, those that are drawn do not fill it.
// Such a fetch costs nearly as much as a full one, and asks which queues have work besides.
func (s *prioritySampler) learn(shares []rdb.Share, got int, gave func(queue string) int) {
	wanted, spares, used := 0, 0, 0
	for _, share := range shares {
		wanted += share.Jobs
		if share.Jobs == 0 {
			spares++
			if gave(share.Queue) > 0 {
				used = spares
			}
		}
	}
	switch {
	case got < wanted && spares == s.spares:
		s.spares = min(2*s.spares, rdb.MaxQueues)
	case got >= wanted && s.spares > used+spareQueues:
		s.spares--
	}
}

// charge books what a queue gave.
func (s *prioritySampler) charge(name string, jobs int) {
	q := s.byName[name]
	if q == nil || jobs == 0 {
		return
	}
	if q.together {
		jobs = 1
	}
	q.pass += float64(jobs) / q.weight
}
