package work

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/schedule"
)

// validateService refuses what cannot be the name of a service.
func validateService(name string) error {
	if name == "" {
		return nil
	}
	err := validateWord("WorkerOptions.Service", name, maxNameBytes)
	if err == nil && strings.HasPrefix(name, schedule.DefaultService) {
		err = &InvalidError{What: "WorkerOptions.Service", Value: excerpt.Brief(name),
			Remedy: "use one that does not begin with " + schedule.DefaultService}
	}
	return err
}

// Errors of schedules that a program may test for with errors.Is.
var (
	// ErrNoSchedule is returned where a schedule of that id is needed and there is none.
	ErrNoSchedule = errors.New("there is no such schedule")
	// ErrScheduleExists is returned when a schedule is added whose id is taken.
	ErrScheduleExists = errors.New("there is a schedule of that id already")
)

// PeriodicOptions says how a periodic job is enqueued. The zero value of each field is its default.
type PeriodicOptions struct {
	ID string // of the schedule, in the whole namespace; default the name of the job
	TZ string // time zone of the spec, "Europe/Berlin"; default UTC, whatever the machine's is
	// each tick is late by a time below that, the same for all workers; less than the time between ticks
	Jitter time.Duration

	Missed  Missed  // what to do about ticks at which no worker was there; default MissedOnce
	Overlap Overlap // what to do about a tick while the job of the last one waits or runs; default OverlapAllow

	// of its jobs, as the option Key gives one; default none. With several partitions a schedule is where the key of
	// its jobs is: one that is declared with another key than before needs another ID as well
	Key    string
	Weight int // of that key, as the option Weight gives one; 0 is 1. Not without Key

	Needs []string // labels that its jobs need, as the option Needs gives them; default none
}

// Missed says what is done about ticks that are more than ten seconds late: no worker was there, or Redis was away.
// What is less late was not missed, and runs.
type Missed int

// What may be done about missed ticks. [MissedAll] is another one.
const (
	MissedOnce Missed = schedule.MissedOnce // one job stands for all of them
	MissedSkip Missed = schedule.MissedSkip // they are left out
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
	return strconv.Itoa(schedule.MissedTicks(int(m)))
}

// Overlap says what is done about a tick while the job of the last one has not ended: it waits, is scheduled, runs,
// will be retried, or is stalled. A job in the morgue is in nobody's way.
type Overlap int

// What may be done about it.
const (
	OverlapAllow Overlap = schedule.OverlapAllow // enqueue the job all the same
	OverlapSkip  Overlap = schedule.OverlapSkip  // leave the tick out
)

// String is "allow" or "skip".
func (o Overlap) String() string {
	if o == OverlapSkip {
		return "skip"
	}
	return "allow"
}

// periodic is what one call of Periodic asked for.
type periodic struct {
	*schedule.Schedule
	site string // where
}

// called is how an error names it.
func (p periodic) called() string {
	return fmt.Sprintf("schedule %s (added at %s)", excerpt.Brief(p.ID), p.site)
}
