package record

import (
	"encoding/json"

	"github.com/265d0351/work/internal/excerpt"
)

// Trail is what happened to a job since it was enqueued: written by the worker that holds it, beside the record, which
// is never changed.
type Trail struct {
	Fails    int       `json:"fails,omitempty"`
	Releases int       `json:"releases,omitempty"` // in a row; how long the next one waits depends on it
	Errors   []Failure `json:"errors,omitempty"`   // the last maxErrors
	Reason   string    `json:"reason,omitempty"`   // why it is in the morgue
	Failure  string    `json:"failure,omitempty"`  // the kind of the failure with which it came there
	RunAt    int64     `json:"run_at,omitempty"`   // ms, when the next attempt is due
	First    int64     `json:"first,omitempty"`    // ms of the first failure, where RetryFor is in force
	Begun    bool      `json:"begun,omitempty"`    // an attempt was put off by its handler, of a job that may expire
	Log      bool      `json:"log,omitempty"`      // it has written a log
	State    bool      `json:"state,omitempty"`    // it has saved a state, or steps

	Interrupted   []Attempt `json:"interrupted,omitempty"`   // the last maxInterrupted of those that ended otherwise
	Interruptions int       `json:"interruptions,omitempty"` // how many there were

	// ms, when the first attempt has begun, where that is not among those that are kept; 0 is not known
	FirstBegun int64 `json:"first_begun,omitempty"`

	Children *Children `json:"children,omitempty"` // that attempts which are over have enqueued; nil for none

	Raw []byte `json:"-"` // as it is stored; whoever reads it notes it
}

// NoTrail is that of a job to which nothing has happened.
var NoTrail Trail

// Failure is one failed attempt.
type Failure struct {
	At      int64  `json:"at"`             // ms
	Due     int64  `json:"due,omitzero"`   // ms
	Begun   int64  `json:"begun,omitzero"` // ms; 0 where it did not begin
	Attempt int    `json:"attempt"`
	Worker  string `json:"worker"`
	Error   string `json:"error"`
	Stack   string `json:"stack,omitempty"`
	Kind    string `json:"kind,omitempty"` // TimedOut, or empty for any other
}

// The bounds of a trail, so that a job that fails for weeks does not grow.
const (
	maxErrors     = 10
	MaxErrorBytes = 1 << 10 // also of a reason, and of the message of a check-in
	maxStackBytes = 4 << 10
	MaxCount      = 1 << 30 // of what is counted: a trail that was written by hand must not overflow
)

// DecodeTrail reads a trail. One that cannot be read starts anew and says so in its first error: the job goes on.
func DecodeTrail(b []byte) Trail {
	if len(b) == 0 {
		return Trail{}
	}
	var t Trail
	if err := json.Unmarshal(b, &t); err != nil {
		return Trail{Errors: []Failure{{Error: excerpt.Start("its earlier trail could not be read: "+err.Error(),
			MaxErrorBytes)}}}
	}
	t.Fails, t.Releases = min(max(t.Fails, 0), MaxCount), min(max(t.Releases, 0), MaxCount)
	t.Interruptions = min(max(t.Interruptions, 0), MaxCount)
	if c := t.Children; c != nil {
		c.IDs = c.IDs[max(0, len(c.IDs)-MaxChildren):]
		c.Count = min(max(c.Count, len(c.IDs)), MaxCount)
	}
	return t
}

// Encode returns the JSON of the trail.
func (t Trail) Encode() []byte {
	b, err := json.Marshal(t)
	if err != nil { // strings and numbers only: cannot happen
		return nil
	}
	return b
}

// Failed returns the trail with one more failure, the texts of which it bounds.
func (t Trail) Failed(f Failure) Trail {
	errors := append(append([]Failure{}, t.Errors...), f.Bounded())
	if len(errors) > maxErrors {
		t.FirstBegun = t.begunFirst()
	}
	t.Errors = errors[max(0, len(errors)-maxErrors):]
	t.Fails, t.Releases = t.Fails+1, 0
	return t
}

// Bounded is the failure with texts that are not too long for a trail.
func (f Failure) Bounded() Failure {
	f.Error, f.Stack = excerpt.Start(f.Error, MaxErrorBytes), excerpt.Start(f.Stack, maxStackBytes)
	return f
}

// LastError is the text of the last failure; empty before the first.
func (t *Trail) LastError() string {
	if n := len(t.Errors); n > 0 {
		return t.Errors[n-1].Error
	}
	return ""
}

// FailureKind is the kind of the last failure; of a job in the morgue, of that with which it came there.
func (t *Trail) FailureKind() string {
	if n := len(t.Errors); t.Reason == "" && n > 0 {
		return t.Errors[n-1].Kind
	}
	return t.Failure
}

// begunFirst is when the first attempt has begun, as far as the trail knows.
func (t *Trail) begunFirst() int64 {
	if t.FirstBegun > 0 {
		return t.FirstBegun
	}
	first := int64(0)
	for _, f := range t.Errors {
		first = earlier(first, f.Begun)
	}
	for _, a := range t.Interrupted {
		first = earlier(first, a.Begun)
	}
	return first
}

// earlier is the earlier of two times, either of which may not be known.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
