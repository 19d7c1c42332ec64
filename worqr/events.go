package worqr

import (
	"encoding/json"
	"time"
)

// Event is one thing that happened, as [Client.Events] and [Client.Watch] tell it. The types of this file are all there
// are.
type Event interface{ event() }

// Work says that tasks wait in a queue: they were enqueued or put back, or waited when the work began.
type Work struct {
	Queue string
	Count int // how many were put in
}

// Done says that somebody has finished a task.
type Done struct {
	Queue  string
	Worker string
	Task   []byte
	// Result is JSON, nil without a result: a string if it was told by FinishTask or a handler, and of any kind if the
	// released program told it, or FinishJSON. Text is that string.
	Result json.RawMessage

	raw []byte // a result of bytes that are no text
}

// Cancelled says that a task was cancelled. Those processes of it that this client had have ended.
type Cancelled struct {
	Queue     string
	Task      []byte
	Processes []string
}

// Deleted says that a queue was deleted, with the tasks that waited.
type Deleted struct{ Queue string }

// Lapsed says that this client's worker failed to stay alive or was failed by somebody. Its processes are gone; it
// starts anew.
type Lapsed struct{ Worker string }

// Restarted says that a worker that had lapsed is registered again and serves its queues.
type Restarted struct{ Worker string }

// WorkerFailed says that this client found a worker dead and put its tasks back.
type WorkerFailed struct {
	Worker   string
	Returned int
}

// Failed reports what went wrong in the background: once when it begins, not at each attempt.
type Failed struct {
	Queue string // "" when it concerns none
	Err   error
}

// Debug says what this client's worker works on. It comes every Options.DebugEvery in the mode Options.Debug, also when
// there is nothing.
type Debug struct {
	Worker   string
	JobCount int
	Jobs     map[string]time.Duration // by the id of the process: how long it has been worked on
}

// Missed says that the reader was so slow that so many events before the next one were dropped.
type Missed struct{ Count int }

func (Work) event()         {}
func (Done) event()         {}
func (Cancelled) event()    {}
func (Deleted) event()      {}
func (Lapsed) event()       {}
func (Restarted) event()    {}
func (WorkerFailed) event() {}
func (Failed) event()       {}
func (Debug) event()        {}
func (Missed) event()       {}
