package inspect

import (
	"time"

	"github.com/265d0351/work/internal/record"
)

// Attempt is one attempt of a job. Times are by Redis' clock, and zero where they are not known.
type Attempt struct {
	// one more than attempts had failed before: one that was snoozed, released, or lost with its worker has the number
	// of the next
	Number int       `json:"number,omitzero"`
	Due    time.Time `json:"due,omitzero"`   // when it was to begin
	Begun  time.Time `json:"begun,omitzero"` // of one under way: when its worker took it
	Ended  time.Time `json:"ended,omitzero"` // of one that crashed: when its worker was declared dead, about
	Worker string    `json:"worker,omitzero"`
	// running, succeeded, failed, timeout (it failed when its time was up: see work.TimeoutError), snoozed, released,
	// crashed (its worker died), discarded or cancelled
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitzero"`
	Stack   string `json:"stack,omitzero"` // of a panic
}

// AttemptRunning is the Outcome of an attempt that is under way.
const AttemptRunning = "running"

// attemptsOf makes them of what is stored.
func attemptsOf(stored []record.Attempt) []Attempt {
	var attempts []Attempt
	for _, a := range stored {
		attempts = append(attempts, Attempt{Number: a.Number, Due: timeOf(a.Due), Begun: timeOf(a.Begun),
			Ended: timeOf(a.Ended), Worker: a.Worker, Outcome: record.StateName(a.Outcome), Error: a.Error,
			Stack: a.Stack})
	}
	return attempts
}

// timeOf is a time that is stored in milliseconds; 0 is none.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
