package record

import (
	"slices"

	"github.com/265d0351/work/internal/excerpt"
)

// Attempt is one attempt that is over. Times are ms; 0 is not known.
type Attempt struct {
	Number  int    `json:"n,omitzero"` // one more than attempts had failed
	Due     int64  `json:"due,omitzero"`
	Begun   int64  `json:"begun,omitzero"` // 0 also where it did not begin
	Ended   int64  `json:"ended,omitzero"`
	Worker  string `json:"worker,omitzero"`
	Outcome string `json:"outcome"` // how a job has ended, or one of those below
	Error   string `json:"error,omitzero"`
	Stack   string `json:"stack,omitzero"` // of a panic
}

// How attempts end with which a job does not.
const (
	Failed   = "failed"
	TimedOut = "timeout" // failed because its time was up
	Snoozed  = "snoozed"
	Released = "released"
	Crashed  = "crashed" // its worker died
)

// The bounds of what a trail keeps of attempts that ended otherwise than by a failure.
const (
	maxInterrupted       = 10
	maxInterruptionBytes = 200
)

// HasFailed tells whether the attempt counts as a failure of its job.
func (a *Attempt) HasFailed() bool { return a.Outcome == Failed || a.Outcome == TimedOut }

// FailureOutcome is how an attempt has ended that failed, by the kind of its failure.
func FailureOutcome(kind string) string {
	if kind == TimedOut {
		return TimedOut
	}
	return Failed
}

// Interrupt returns the trail with more attempts that did not fail, the texts of which it bounds.
func (t Trail) Interrupt(attempts ...Attempt) Trail {
	all := append([]Attempt{}, t.Interrupted...)
	for _, a := range attempts {
		a.Error, a.Stack = excerpt.Start(a.Error, maxInterruptionBytes), ""
		all = append(all, a)
	}
	if len(all) > maxInterrupted {
		t.FirstBegun = t.begunFirst()
	}
	t.Interrupted = all[max(0, len(all)-maxInterrupted):]
	t.Interruptions = min(t.Interruptions+len(attempts), MaxCount)
	return t
}

// LeftOut is of how many attempts the trail knows nothing any more but that they were.
func (t *Trail) LeftOut() int {
	return max(0, t.Fails-len(t.Errors)) + max(0, t.Interruptions-len(t.Interrupted))
}

// Knows tells whether the attempt whose worker died then is in the trail.
func (t *Trail) Knows(worker string, died int64) bool {
	return slices.ContainsFunc(t.Interrupted, func(a Attempt) bool {
		return a.Outcome == Crashed && a.Worker == worker && a.Ended == died
	})
}
