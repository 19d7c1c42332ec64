package intake

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/replicas"
)

// Site is what an intake uses of one partition.
type Site struct {
	Store   Store
	Uploads Uploads // may be nil where no job has Contents
	// Witness dials a connection for those who wait for replicas; nil where nobody does.
	Witness func(ctx context.Context) (replicas.Witness, error)
}

// Directory knows the map of the partitions. *partition.Directory is one.
type Directory interface {
	// Map is the newest map that is known.
	Map() *partition.Map
	// Changed is closed when there is a newer one.
	Changed() <-chan struct{}
	// RefreshFrom reads the map of one partition.
	RefreshFrom(ctx context.Context, partition int) error
	// Refresh reads the maps of all partitions that are known, and of others where none of them answers.
	Refresh(ctx context.Context) error
}

// undivided is the map of those who have no Directory.
var undivided = &partition.Map{}

const (
	// mostAnywhere is how many lanes of a partition there are for jobs that may be anywhere: so many calls to it may
	// hang before it gets no more.
	mostAnywhere = 4
	// answersIn is how soon a partition answers as a rule.
	answersIn = 10 * time.Millisecond
	// mostBound is how many there are for what is bound to it.
	mostBound = 2
	// leftOut is for how long a partition that has failed gets nothing that may be anywhere, at first; longestLeftOut
	// at the most. Then it is asked whether it answers, and if it does one call tries it: jobs of callers who wait are
	// not sent to one that may hang.
	leftOut        = time.Second
	longestLeftOut = 30 * time.Second
)

// site is a partition as an intake goes by it. All but what New sets is guarded by the mu of lanes.
type site struct {
	Site
	number    int
	confirmer *replicas.Confirmer

	anywhere laneSet    // of what may be in any partition
	bound    desk       // of what is bound to this one
	beside   [2]laneSet // by kind

	fails   int       // in a row
	out     time.Time // until when it is left out; zero while all is well
	load    int64     // jobs that might have gone to any and went here, or as if: see best
	asking  bool      // it is being asked whether it answers
	answers bool      // it does, and a call may try whether it is well again
	probing bool      // a call tries that
	began   time.Time // its last call that could have gone elsewhere
	slow    int       // calls that are under way for too long to be waited for
}

// laneSet are lanes of one partition for one use, made as they are needed.
type laneSet struct {
	made int
	free []*lane
}

// room tells whether another call can be under way, of so many.
func (s *laneSet) room(most int) bool { return len(s.free) > 0 || s.made < most }

// take takes a lane that is free, or makes one; nil where there are as many as there may be.
func (s *laneSet) take(l *lanes, of *site, at *desk) *lane {
	if n := len(s.free) - 1; n >= 0 {
		own := s.free[n]
		s.free = s.free[:n]
		return own
	}
	s.made++
	own := &lane{id: ids.Job(l.Clock.Now()), site: of, desk: at}
	l.all = append(l.all, own)
	return own
}

// site is that of a partition, made when it is asked for first; mu is held.
func (l *lanes) site(number int) *site {
	for len(l.sites) <= number {
		l.sites = append(l.sites, nil)
	}
	if l.sites[number] == nil {
		s := &site{Site: l.Site, number: number}
		if number > 0 {
			s.Site = l.Others(number)
		}
		s.bound.site = s
		s.confirmer = replicas.New(replicas.Config{Dial: s.Witness, Closed: l.Closed})
		l.sites[number] = s
	}
	return l.sites[number]
}

// siteOf is site for those who do not hold mu.
func (l *lanes) siteOf(number int) *site {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.site(number)
}

// present are the partitions that were used so far.
func (l *lanes) present() (sites []*site) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sites {
		if s != nil {
			sites = append(sites, s)
		}
	}
	return sites
}

// note notes whether a call was answered; mu is held.
func (s *site) note(answered bool) {
	now := time.Now()
	switch {
	case answered && s.fails > 0:
		s.fails, s.out, s.answers = 0, time.Time{}, false
	case !answered && !now.Before(s.out): // calls that fail together count once
		s.fails++
		s.out, s.answers = now.Add(min(leftOut<<min(s.fails-1, 10), longestLeftOut)), false
	}
}

// probe asks a partition that has failed whether it answers, once it was left out for long enough; mu is held.
func (l *lanes) probe(s *site) {
	if s.fails == 0 || s.asking || s.answers || time.Now().Before(s.out) || l.closed {
		return
	}
	s.asking = true
	l.serving.Go(func() {
		ctx, cancel := context.WithTimeout(l.life, l.Timeout)
		defer cancel()
		err := l.Directory.RefreshFrom(ctx, s.number)
		l.mu.Lock()
		defer l.mu.Unlock()
		s.asking = false
		if err != nil {
			s.note(false)
		} else if s.fails > 0 {
			s.answers = true
		}
	})
}

// The ranks of partitions for a call that may go to any. The lower ones come first.
const (
	rankWell   = iota // or it is to be tried whether it is well again
	rankBusy          // its last call should have been answered: if it has begun to hang, one call is enough there
	rankSlow          // it has calls under way that should have been answered
	rankOut           // it has failed lately
	rankNoRoom        // all of its lanes have calls under way
)

// rank tells how good a choice a partition is; mu is held.
func (s *site) rank(now time.Time) int {
	switch {
	case !s.anywhere.room(mostAnywhere):
		return rankNoRoom
	case s.fails > 0 && (s.probing || !s.answers):
		return rankOut
	case s.slow > 0:
		return rankSlow
	case s.anywhere.made > len(s.anywhere.free) && now.Sub(s.began) > answersIn:
		return rankBusy
	}
	return rankWell
}

// choose chooses a partition for the next call that may go to any: the open one that has got the fewest jobs, but for
// those that are not well while others are. It returns nil where all of those have no room; mu is held.
func (l *lanes) choose(m *partition.Map) *site {
	if m.Single() {
		return l.site(0)
	}
	best, rank := l.best(m, nil)
	if best == nil {
		return nil
	}
	l.turn = best.number + 1
	if rank == rankWell && best.fails > 0 {
		best.probing = true
	}
	return best
}

// mostBehind is how many jobs a partition makes up for that it has not got while others have: not those of an outage.
const mostBehind = 2 * rdb.MaxBatch

// best is the best choice, but for one partition: of those that are as well as any the one with the fewest jobs, and
// the next in turn where several have as few. (Turns alone would be uneven: calls that went alone often come between
// those of many.) mu is held.
func (l *lanes) best(m *partition.Map, but *site) (best *site, rank int) {
	now, n := time.Now(), m.Len()
	rank = rankNoRoom
	well := false
	for i := range n {
		number := (l.turn + i) % n
		if m.State(number) != partition.Open {
			continue
		}
		s := l.site(number)
		if s == but {
			continue
		}
		l.probe(s)
		well = well || s.fails == 0
		s.load = max(s.load, l.load-mostBehind)
		if its := s.rank(now); its < rank || its == rank && its < rankNoRoom && s.load < best.load {
			best, rank = s, its
		}
	}
	if rank == rankOut && well { // one that is well has room soon
		return nil, rankNoRoom
	}
	return best, rank
}

// charge notes that so many jobs go to a partition that might have gone to another; mu is held.
func (l *lanes) charge(s *site, jobs int) {
	s.load += int64(jobs)
	l.load = max(l.load, s.load)
}

// elsewhere tells whether a call that has failed without being executed had better go to another partition; mu is held.
func (l *lanes) elsewhere(m *partition.Map, failed *site) bool {
	if m.Single() {
		return false
	}
	_, rank := l.best(m, failed)
	return rank <= rankSlow
}

// movable tells whether a call that has failed so was not executed, and may go well with another server.
func movable(err error, again, mayCount bool) bool {
	return !mayCount && (again || redisconn.ConcernsServer(err))
}

// placed gives those of the jobs whose ids are ours the letters of the partition where they go. The room of the records
// is used again: nobody reads them, as they are of no call.
func placed(jobs []rdb.NewJob, number int) {
	for i := range jobs {
		job := &jobs[i]
		if job.Chosen {
			continue
		}
		if at, made := ids.PartitionOf(job.ID); !made || at == number {
			continue
		}
		before := job.ID
		job.ID = ids.InPartition(before, number)
		replaceID(job.Record, before, job.ID)
	}
}

// recordBegins is how the record of a job begins, before its id.
const recordBegins = `{"jid":"`

// replaceID replaces the id in a record by one of the same length.
func replaceID(record []byte, before, now string) {
	end := len(recordBegins) + len(before)
	if len(record) > end && string(record[len(recordBegins):end]) == before {
		copy(record[len(recordBegins):end], now)
	}
}
