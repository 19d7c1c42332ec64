package work

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// Limit is how many jobs of one name may run, over all workers of the namespace. The zero value is no limit.
//
// A rate is a bucket of Burst that is filled evenly: in any time d no more than Burst + d*Rate/Per begin.
type Limit struct {
	Concurrent int           // at once; 0 is not limited
	Rate       int           // how many may begin in each Per; 0 is not limited
	Per        time.Duration // at least a millisecond, at most a year; needed with Rate, and only then
	// how many may begin one right after the other; 0 is what the rate gives in 100 ms, at least 1
	Burst int
}

// String writes it as a person says it: "5 at once, 300 in 1m0s with a burst of 10", or "none".
func (l Limit) String() string {
	var parts []string
	if l.Concurrent > 0 {
		parts = append(parts, fmt.Sprintf("%d at once", l.Concurrent))
	}
	if l.Rate > 0 {
		rate := fmt.Sprintf("%d in %s", l.Rate, l.Per)
		if l.Burst > 0 {
			rate += fmt.Sprintf(" with a burst of %d", l.Burst)
		}
		parts = append(parts, rate)
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// MarshalJSON writes Per as [time.Duration] prints it, and leaves out what is not limited.
func (l Limit) MarshalJSON() ([]byte, error) {
	per := ""
	if l.Per != 0 {
		per = l.Per.String()
	}
	return json.Marshal(struct {
		Concurrent int    `json:"concurrent,omitzero"`
		Rate       int    `json:"rate,omitzero"`
		Per        string `json:"per,omitzero"`
		Burst      int    `json:"burst,omitzero"`
	}{l.Concurrent, l.Rate, per, l.Burst})
}

// The bounds of a Limit.
const (
	maxLimit     = 1_000_000_000
	maxRatePer   = 366 * 24 * time.Hour
	burstDefault = 100 * time.Millisecond
)

// LimitError says what is wrong with a [Limit].
type LimitError struct {
	Name  string // of the job
	Limit Limit
	Why   string
}

func (e *LimitError) Error() string { return cut(e.text()) }

func (e *LimitError) text() string {
	return fmt.Sprintf("the limit of job %s cannot be: %s", quoted(e.Name), e.Why)
}

// check returns a *LimitError for a limit that cannot be.
func (l Limit) check(name string) error {
	why := ""
	switch {
	case l.Concurrent < 0 || l.Concurrent > maxLimit:
		why = fmt.Sprintf("Concurrent is %d: give 1 to 1,000,000,000, or 0 for no limit; to let none run, pause the "+
			"queue", l.Concurrent)
	case l.Rate < 0 || l.Rate > maxLimit:
		why = fmt.Sprintf("Rate is %d: give 1 to 1,000,000,000, or 0 for no limit", l.Rate)
	case l.Burst < 0 || l.Burst > maxLimit:
		why = fmt.Sprintf("Burst is %d: give 1 to 1,000,000,000, or 0 for what the rate gives in 100 ms", l.Burst)
	case l.Rate > 0 && (l.Per < time.Millisecond || l.Per > maxRatePer):
		why = fmt.Sprintf("Per is %s: a Rate needs the time in which so many may begin, 1 ms to 366 days", l.Per)
	case l.Rate == 0 && (l.Per != 0 || l.Burst != 0):
		why = "it has Per or Burst and no Rate: give a Rate, or leave them out"
	}
	if why == "" {
		return nil
	}
	return &LimitError{Name: name, Limit: l, Why: why}
}

// stored is the limit as Redis has it.
func (l Limit) stored() rdb.Limit {
	if l.Rate == 0 {
		return rdb.Limit{Concurrent: l.Concurrent}
	}
	burst := l.Burst
	if burst == 0 {
		burst = max(1, int(float64(l.Rate)*float64(burstDefault)/float64(l.Per)))
	}
	return rdb.Limit{Concurrent: l.Concurrent, Jobs: l.Rate, Per: l.Per, Burst: burst}
}

func limitOf(stored rdb.Limit) Limit {
	return Limit{Concurrent: stored.Concurrent, Rate: stored.Jobs, Per: stored.Per, Burst: stored.Burst}
}
