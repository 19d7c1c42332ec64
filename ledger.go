package work

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// ledger counts in memory what becomes of jobs, until the heartbeat brings the sums to Redis. The settler writes it,
// once an outcome is acknowledged, under a lock that is taken once per answer and not per job. What it holds is bounded
// by the names that its worker serves.
type ledger struct {
	clock *redisClock
	off   bool // nothing is counted
	pace  historyPace

	mu     sync.Mutex
	sums   map[*registration]*sums
	dirty  []*sums // those with something to tell, in the order in which they began to
	errors errorCounts
	// of Redis' clock, by which jobs are due; as of the last heartbeat, since a look at clocks costs as much as the
	// rest
	ahead  time.Duration
	looked bool

	teller // the heartbeater's
}

// sums are the counts of one name.
type sums struct {
	name   string
	moment uint32
	point  HistoryPoint
	dirty  bool
	due    bool // its moment has come
}

func newLedger(clock *redisClock, off bool) *ledger {
	return &ledger{clock: clock, off: off, sums: map[*registration]*sums{}, errors: errorCounts{},
		teller: teller{lane: randomHex(16)}}
}

// book counts runs whose outcomes were acknowledged just now.
func (l *ledger) book(runs []*run) {
	if l.off {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.looked {
		l.lookAtClock()
	}
	var of *registration
	var s *sums
	for _, r := range runs {
		kind := r.booking()
		if kind == bookedNot {
			continue
		}
		if s == nil || r.registration != of {
			of, s = r.registration, l.sumsOf(r)
		}
		s.book(r, kind, l.ahead)
		if kind != bookedDone && r.decision.failure != "" {
			l.errors.count(r.job.Name, r.decision.failure, r.job.ID)
		}
	}
}

func (l *ledger) lookAtClock() {
	l.ahead, l.looked = time.Until(l.clock.now()), true
}

func (l *ledger) sumsOf(r *run) *sums {
	s := l.sums[r.registration]
	if s == nil {
		s = &sums{name: r.job.Name, moment: momentOf(r.job.Name)}
		l.sums[r.registration] = s
	}
	if !s.dirty {
		s.dirty = true
		l.dirty = append(l.dirty, s)
	}
	return s
}

func (s *sums) book(r *run, kind booking, ahead time.Duration) {
	switch kind {
	case bookedDone:
		s.point.Done++
	case bookedFailed:
		s.point.Failed++
	case bookedDead:
		s.point.Dead++
	}
	begun := r.begun.Load()
	if begun == 0 {
		return
	}
	s.point.Run.Add(r.elapsed)
	if !r.job.RunAt.IsZero() {
		s.point.Waited.Add(time.Unix(0, begun).Add(ahead).Sub(r.job.RunAt))
	}
}

// booking is how history counts a settled run.
type booking int

const (
	bookedNot booking = iota
	bookedDone
	bookedFailed
	bookedDead
)

func (r *run) booking() booking {
	switch {
	case r.lostClaim:
		return bookedNot // whoever has it now counts it
	case r.decision.verb == verbDone:
		return bookedDone
	case r.decision.verb == verbRetry:
		return bookedFailed
	case r.decision.verb == verbBury, r.decision.death != nil:
		return bookedDead
	}
	return bookedNot
}

// The bounds of what is told at once: a call of a heartbeat then costs Redis less than a millisecond, one of a stop a
// few.
const (
	maxToldCounts  = 250 // each is written to a minute and to a day
	maxFinalCounts = 1_000
	maxToldErrors  = 100
)

// take takes out what was counted, as much as fits into one call: at least one name, those that wait for the longest
// time first, and only those whose moment has come, unless the worker is about to leave. What is cut off a sum, since
// it is stored in whole microseconds, stays.
func (l *ledger) take(last bool) (counted []rdb.Sums, errors []rdb.ErrorCount) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookAtClock()
	most, due := maxToldCounts, l.pace.due(l.clock.now(), len(l.dirty))
	if last {
		most = maxFinalCounts
	}
	waiting := l.dirty[:0]
	counts := 0
	for _, s := range l.dirty {
		s.due = s.due || last || due(s.moment)
		if !s.due || counts >= most {
			waiting = append(waiting, s)
			continue
		}
		stored := s.point.takeStored()
		counts += strings.Count(stored, ":")
		counted = append(counted, rdb.Sums{Name: s.name, Counts: stored})
		s.dirty, s.due = false, false
	}
	clear(l.dirty[len(waiting):])
	l.dirty = waiting
	return counted, l.errors.take(maxToldErrors)
}

// takeStored returns what was counted in the form in which it is stored, and begins anew.
func (p *HistoryPoint) takeStored() string {
	b := make([]byte, 0, 64)
	b = appendCount(b, "d", p.Done)
	b = appendCount(b, "f", p.Failed)
	b = appendCount(b, "m", p.Dead)
	run, waited := p.Run.Sum, p.Waited.Sum
	b = p.Run.appendStored(b, "r")
	b = p.Waited.appendStored(b, "w")
	*p = HistoryPoint{}
	p.Run.Sum, p.Waited.Sum = run%time.Microsecond, waited%time.Microsecond
	return string(b)
}

func (h *Histogram) appendStored(b []byte, letter string) []byte {
	b = appendCount(b, letter, h.Sum.Microseconds())
	for i, n := range h.Counts {
		if n > 0 {
			b = appendCount(b, letter+strconv.Itoa(i), n)
		}
	}
	return b
}

func appendCount(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	if len(b) > 0 {
		b = append(b, ' ')
	}
	return strconv.AppendInt(append(append(b, key...), ':'), n, 10)
}
