package history

import (
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
)

// Result is how an attempt is counted.
type Result int

// The results.
const (
	Done   Result = iota + 1 // ended without an error
	Failed                   // ended with an error, and is tried again
	Dead                     // the job died
)

// Attempt is what is counted of one attempt.
type Attempt struct {
	Name, ID string // of the job
	Result   Result
	TimedOut bool          // it failed, or its job died, because its time was up
	Error    string        // by which it belongs to a group of errors; empty where it belongs to none
	Begun    time.Time     // when its handler was called, by the clock of this machine; zero where it never was
	Due      time.Time     // by the clock of Redis; zero where nobody knows
	Took     time.Duration // of its handler
	Gap      time.Duration // failed: until the next attempt is due
}

// Counter counts attempts in memory, until a [Reporter] brings the sums to Redis. All methods may be called
// concurrently. Its lock is taken once per answer of Redis, and not per job.
type Counter struct {
	clock *redisclock.Clock
	pace  heartbeatPace

	mu      sync.Mutex
	sums    map[string]*sums // by name
	waiting []*sums          // those with something to tell, in the order in which they began to
	errors  errorCounts
	// how far the clock of Redis, by which jobs are due, is ahead; as of the last report, since a look at clocks costs
	// as much as the rest
	ahead  time.Duration
	looked bool
}

// sums are the counts of one name.
type sums struct {
	name   string
	moment uint32
	counts Counts
	waits  bool // it is among those with something to tell
	due    bool // its moment has come
}

// NewCounter returns a counter that has counted nothing.
func NewCounter(clock *redisclock.Clock) *Counter {
	return &Counter{clock: clock, sums: map[string]*sums{}, errors: errorCounts{}}
}

// Count counts attempts whose outcomes Redis has just acknowledged.
func (c *Counter) Count(attempts []Attempt) {
	if len(attempts) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.looked {
		c.lookAtClock()
	}
	var s *sums
	for i := range attempts {
		a := &attempts[i]
		if s == nil || s.name != a.Name {
			s = c.sumsOf(a.Name)
		}
		s.counts.count(a, c.ahead)
		if a.Result != Done && a.Error != "" {
			c.errors.count(a.Name, a.Error, a.ID)
		}
	}
}

func (c *Counter) lookAtClock() {
	c.ahead, c.looked = time.Until(c.clock.Now()), true
}

func (c *Counter) sumsOf(name string) *sums {
	s := c.sums[name]
	if s == nil {
		s = &sums{name: name, moment: momentOf(name)}
		c.sums[name] = s
	}
	if !s.waits {
		s.waits = true
		c.waiting = append(c.waiting, s)
	}
	return s
}

// The bounds of one call, so that one of a heartbeat costs Redis less than a millisecond, and one of a stop a few.
const (
	MaxCounts      = 250 // each is written to a minute and to a day
	MaxFinalCounts = 1_000
	MaxErrors      = 100
)

// take takes out as much of what was counted as fits into one call: at least one name, those that wait for the longest
// time first, and only those whose moment has come, unless the worker is about to leave. What is cut off a sum, since
// it is stored in whole microseconds, stays.
func (c *Counter) take(last bool) (counted []rdb.Sums, errors []rdb.ErrorCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lookAtClock()
	most, due := MaxCounts, c.pace.due(c.clock.Now(), len(c.waiting))
	if last {
		most = MaxFinalCounts
	}
	waiting := c.waiting[:0]
	counts := 0
	for _, s := range c.waiting {
		s.due = s.due || last || due(s.moment)
		if !s.due || counts >= most {
			waiting = append(waiting, s)
			continue
		}
		stored := s.counts.Take()
		counts += strings.Count(stored, ":")
		counted = append(counted, rdb.Sums{Name: s.name, Counts: stored})
		s.waits, s.due = false, false
	}
	clear(c.waiting[len(waiting):])
	c.waiting = waiting
	return counted, c.errors.take(MaxErrors)
}

// refused counts errors for which Redis had no room among those that have no group of their own.
func (c *Counter) refused(told []rdb.ErrorCount, indices []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range indices {
		if i < len(told) {
			c.errors.lump(told[i].Name, told[i].Sample, told[i].Count)
		}
	}
}

// namesWaiting is how many names have something to tell.
func (c *Counter) namesWaiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}
