package eventlog

import (
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
)

// Bounded is an event with texts of bounded length, for those who write them down: what a handler returns, Redis
// answers or somebody has given to panic may have megabytes. An error that is short stays what it is, and of a long one
// errors.Is and errors.As still find all.
func Bounded(e event.Event) event.Event {
	switch e := e.(type) {
	case event.WorkerStopped:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.PartitionLeft:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.DataLost:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.JobFailed:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.JobBuried:
		e.Err, e.Reason = excerpt.Error(e.Err), excerpt.Cut(e.Reason)
		return e
	case event.JobDiscarded:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.BatchEnded:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.DeathHookFailed:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.JobSnoozed:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.WaitIgnored:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.JobReleased:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.JobStuck:
		e.Cause = excerpt.Error(e.Cause)
		return e
	case event.PeriodicBroken:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.Trouble:
		e.Err = excerpt.Error(e.Err)
		return e
	case event.LoopPanicked:
		return event.LoopPanicked{Component: e.Component, Value: shortValue(e.Value), Stack: excerpt.CutStack(e.Stack)}
	}
	return e
}

// shortValue is what was given to panic, or its text where that is long.
func shortValue(value any) any {
	if err, ok := value.(error); ok {
		return excerpt.Error(err)
	}
	if text := excerpt.Describe(value); len(text) >= excerpt.Whole {
		return text
	}
	return value
}
