package work

import "errors"

// State is where a job is in its life.
type State string

// The states of a job that lives, and of one that has ended and whose outcome is kept.
const (
	StateQueued    State = "queued"    // it waits in its queue
	StateScheduled State = "scheduled" // it is not due yet, or was put off
	StateRunning   State = "running"   // a worker holds it
	StateRetrying  State = "retrying"  // it has failed and waits for its next attempt
	StateStalled   State = "stalled"   // it was put aside by hand
	StateDead      State = "dead"      // it is in the morgue
	// it has a record and is nowhere: Redis was tampered with, Inspector.Doctor mends it
	StateLost      State = "lost"
	StateSucceeded State = "succeeded"
	StateCancelled State = "cancelled" // or it is to be, as soon as a worker comes by it
	StateDiscarded State = "discarded"
	StateExpired   State = "expired"
	StateDeleted   State = "deleted"
)

// Ended tells whether there is nothing of the job but its outcome, or soon will be. A dead one has not ended: it can be
// retried.
func (s State) Ended() bool {
	switch s {
	case StateSucceeded, StateCancelled, StateDiscarded, StateExpired, StateDeleted:
		return true
	}
	return false
}

// ErrNotFound is returned for a job of which nothing is there: there was none, or it has ended and no outcome is kept.
var ErrNotFound = errors.New("there is no such job: it has ended and nothing is kept of it, or never was")
