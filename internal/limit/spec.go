package limit

import (
	"fmt"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// Spec is a limit as a program gives it. Its fields are those of work.Limit.
type Spec struct {
	Concurrent int
	Rate       int
	Per        time.Duration
	Burst      int
}

// The bounds of a Spec.
const (
	maxCount     = 1_000_000_000
	maxPer       = 366 * 24 * time.Hour
	burstDefault = 100 * time.Millisecond
)

// Mistake is why it cannot be, and what to give instead; "" where it can.
func (s Spec) Mistake() string {
	switch {
	case s.Concurrent < 0 || s.Concurrent > maxCount:
		return fmt.Sprintf("Concurrent is %d: give 1 to 1,000,000,000, or 0 for no limit; to let none run, pause the "+
			"queue", s.Concurrent)
	case s.Rate < 0 || s.Rate > maxCount:
		return fmt.Sprintf("Rate is %d: give 1 to 1,000,000,000, or 0 for no limit", s.Rate)
	case s.Burst < 0 || s.Burst > maxCount:
		return fmt.Sprintf("Burst is %d: give 1 to 1,000,000,000, or 0 for what the rate gives in 100 ms", s.Burst)
	case s.Rate > 0 && (s.Per < time.Millisecond || s.Per > maxPer):
		return fmt.Sprintf("Per is %s: a Rate needs the time in which so many may begin, 1 ms to 366 days", s.Per)
	case s.Rate == 0 && (s.Per != 0 || s.Burst != 0):
		return "it has Per or Burst and no Rate: give a Rate, or leave them out"
	}
	return ""
}

// Stored is the limit as Redis has it.
func (s Spec) Stored() rdb.Limit {
	if s.Rate == 0 {
		return rdb.Limit{Concurrent: s.Concurrent}
	}
	burst := s.Burst
	if burst == 0 {
		burst = max(1, int(float64(s.Rate)*float64(burstDefault)/float64(s.Per)))
	}
	return rdb.Limit{Concurrent: s.Concurrent, Jobs: s.Rate, Per: s.Per, Burst: burst}
}

// SpecOf is what a stored limit says.
func SpecOf(stored rdb.Limit) Spec {
	return Spec{Concurrent: stored.Concurrent, Rate: stored.Jobs, Per: stored.Per, Burst: stored.Burst}
}
