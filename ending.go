package work

import "github.com/265d0351/work/internal/errchain"

// Ending is what becomes of a job after an attempt.
type Ending string

// The endings of an attempt.
const (
	EndingDone    Ending = "done"    // the job has ended well
	EndingRetry   Ending = "retry"   // it failed, and runs again after its backoff
	EndingSnooze  Ending = "snooze"  // it is put off, by Snooze or Release; no attempt is used
	EndingRelease Ending = "release" // it goes back to the front of its queue; no attempt is used
	EndingBury    Ending = "bury"    // it goes to the morgue
	EndingDiscard Ending = "discard" // it is dropped
	EndingCancel  Ending = "cancel"  // somebody has cancelled it
)

// Ending tells a middleware what becomes of the job if the outermost one returns err, and whether that is a failure of
// the attempt: any error but those of [Snooze], [Release] and [Discard], and that of a ctx that ended with the worker.
// It is what holds now; a stop that begins, a result that cannot be kept, or a backoff that ends after the deadline may
// still change it. Of a job that no pool runs it knows the fields only. It may be called by any goroutine of the
// handler.
func (j *Job) Ending(err error) (ending Ending, failed bool) {
	v := errchain.Find[*disposition](err)
	switch {
	case j.run != nil && j.run.calledOff.Load():
		return EndingCancel, false
	case err == nil:
		return EndingDone, false
	case v == nil && j.run != nil && j.run.cutShort(err):
		return EndingRelease, false
	case v == nil, v.verb == verbRetry:
		return j.endingOfFailure(err), true
	case v.verb == verbRelease && j.run != nil && j.run.worker.stopping():
		return EndingRelease, false
	case v.verb == verbRelease, v.verb == verbSnooze:
		return EndingSnooze, false
	case v.verb == verbDiscard:
		return EndingDiscard, false
	}
	return EndingBury, true
}

func (j *Job) endingOfFailure(err error) Ending {
	bad := errchain.Find[*ArgumentError](err)
	switch {
	case bad != nil && bad.uncalled:
		return EndingBury
	case j.RetriesLeft > 0 && (j.run == nil || !j.run.hopeless(err)):
		return EndingRetry
	case j.run != nil && j.run.registration.options.SkipMorgue:
		return EndingDiscard
	}
	return EndingBury
}
