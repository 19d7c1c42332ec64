package work

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/limit"
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

// LimitError says what is wrong with a [Limit].
type LimitError struct {
	Name  string // of the job
	Limit Limit
	Why   string

	PerKey bool // it is that of each key
}

func (e *LimitError) Error() string { return excerpt.Cut(e.text()) }

func (e *LimitError) text() string {
	of := "job"
	if e.PerKey {
		of = "keys of job"
	}
	return fmt.Sprintf("the limit of %s %s cannot be: %s", of, excerpt.Brief(e.Name), e.Why)
}

// limited tells whether the jobs have a limit that workers declare.
func (o *JobOptions) limited() bool { return o.Limit != Limit{} || o.keyRule() != rdb.KeyRule{} }

// keyRule is what restrains each key.
func (o *JobOptions) keyRule() rdb.KeyRule {
	return rdb.KeyRule{Limit: limit.Spec(o.PerKey).Stored(), Ordered: o.Ordered, BackAgain: o.RetryAtBack,
		DeathStop: o.StopAtDeath}
}

// checkLimits returns a *LimitError for a limit of jobs of that name, or of their keys, that cannot be.
func (o *JobOptions) checkLimits(name string) error {
	err := o.PerKey.check(name)
	if of, is := err.(*LimitError); is {
		of.PerKey = true
	}
	return cmp.Or(o.Limit.check(name), err)
}

// check returns a *LimitError for a limit that cannot be.
func (l Limit) check(name string) error {
	if why := limit.Spec(l).Mistake(); why != "" {
		return &LimitError{Name: name, Limit: l, Why: why}
	}
	return nil
}
