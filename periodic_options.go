package work

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// PeriodicOptions says how a periodic job is enqueued. The zero value of each field is its default.
type PeriodicOptions struct {
	ID string // of the schedule, in the whole namespace; default the name of the job
	TZ string // time zone of the spec, "Europe/Berlin"; default UTC, whatever the machine's is
	// each tick is late by a time below that, the same for all workers; less than the time between ticks
	Jitter time.Duration

	Missed  Missed  // what to do about ticks at which no worker was there; default MissedOnce
	Overlap Overlap // what to do about a tick while the job of the last one waits or runs; default OverlapAllow
}

// Missed says what is done about ticks that are more than ten seconds late: no worker was there, or Redis was away.
// What is less late was not missed, and runs.
type Missed int

// What may be done about missed ticks. [MissedAll] is another one.
const (
	MissedOnce Missed = 0  // one job stands for all of them
	MissedSkip Missed = -1 // they are left out
)

// MissedAll has the last n of the ticks that were missed run, each as a job of its own. n is 1 to 100.
func MissedAll(n int) Missed {
	if n < 1 {
		return Missed(max(n, math.MinInt+2) - 2) // beside the two that have a name; refused where it is used
	}
	return Missed(n)
}

// String is "once", "skip", or of how many ticks the jobs run.
func (m Missed) String() string {
	switch m {
	case MissedOnce:
		return "once"
	case MissedSkip:
		return "skip"
	}
	return strconv.Itoa(m.ticks())
}

// ticks is the n of MissedAll.
func (m Missed) ticks() int {
	if m < MissedSkip {
		return int(m) + 2
	}
	return int(m)
}

const maxMissed = 100

// Overlap says what is done about a tick while the job of the last one has not ended: it waits, is scheduled, runs,
// will be retried, or is stalled. A job in the morgue is in nobody's way.
type Overlap int

// What may be done about it.
const (
	OverlapAllow Overlap = 0 // enqueue the job all the same
	OverlapSkip  Overlap = 1 // leave the tick out
)

// String is "allow" or "skip".
func (o Overlap) String() string {
	if o == OverlapSkip {
		return "skip"
	}
	return "allow"
}

func (o PeriodicOptions) validate() []error {
	var mistakes []error
	refuse := func(field string, value any, remedy string) {
		mistakes = append(mistakes, &InvalidError{What: "PeriodicOptions." + field, Value: fmt.Sprint(value),
			Remedy: remedy})
	}
	if o.Jitter < 0 {
		refuse("Jitter", o.Jitter, "give a positive duration, or 0 for none")
	}
	if o.Missed < MissedSkip || o.Missed > maxMissed {
		refuse("Missed", fmt.Sprintf("MissedAll(%d)", o.Missed.ticks()),
			"give MissedOnce, MissedSkip, or MissedAll(n) with n from 1 to 100")
	}
	if o.Overlap != OverlapAllow && o.Overlap != OverlapSkip {
		refuse("Overlap", int(o.Overlap), "give OverlapAllow or OverlapSkip")
	}
	return mistakes
}
