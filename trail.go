package work

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/265d0351/work/internal/errchain"
)

// trail is what happened to a job since it was enqueued: written by the worker that holds it, beside the record, which
// is never changed.
type trail struct {
	Fails    int       `json:"fails,omitempty"`
	Releases int       `json:"releases,omitempty"` // in a row; how long the next one waits depends on it
	Errors   []failure `json:"errors,omitempty"`   // the last maxErrors
	Reason   string    `json:"reason,omitempty"`   // why it is in the morgue
	RunAt    int64     `json:"run_at,omitempty"`   // ms, when the next attempt is due
	First    int64     `json:"first,omitempty"`    // ms of the first failure, where RetryFor is in force
	Begun    bool      `json:"begun,omitempty"`    // an attempt was put off by its handler, of a job that may expire
	Log      bool      `json:"log,omitempty"`      // it has written a log
	State    bool      `json:"state,omitempty"`    // it has saved a state

	raw []byte // as it is stored
}

// noTrail is that of a job to which nothing has happened.
var noTrail trail

// failure is one failed attempt.
type failure struct {
	At      int64  `json:"at"` // ms
	Attempt int    `json:"attempt"`
	Worker  string `json:"worker"`
	Error   string `json:"error"`
	Stack   string `json:"stack,omitempty"`
}

// The bounds of a trail, so that a job that fails for weeks does not grow.
const (
	maxErrors     = 10
	maxErrorBytes = 1 << 10
	maxStackBytes = 4 << 10
	maxCount      = 1 << 30 // of what is counted: a trail that was written by hand must not overflow
)

// decodeTrail reads a trail. One that cannot be read starts anew and says so in its first error: the job goes on.
func decodeTrail(b []byte) trail {
	if len(b) == 0 {
		return trail{}
	}
	var t trail
	if err := json.Unmarshal(b, &t); err != nil {
		return trail{Errors: []failure{{Error: bound("its earlier trail could not be read: "+err.Error(),
			maxErrorBytes)}}}
	}
	t.Fails, t.Releases = min(max(t.Fails, 0), maxCount), min(max(t.Releases, 0), maxCount)
	return t
}

func (t trail) encode() []byte {
	b, err := json.Marshal(t)
	if err != nil { // strings and numbers only: cannot happen
		return nil
	}
	return b
}

// failed returns the trail with one more failure.
func (t trail) failed(at time.Time, attempt int, worker string, err error) trail {
	f := failure{At: at.UnixMilli(), Attempt: attempt, Worker: worker, Error: bound(errorText(err), maxErrorBytes)}
	if p := errchain.Find[*PanicError](err); p != nil {
		f.Stack = bound(p.Stack, maxStackBytes)
	}
	errors := append(append([]failure{}, t.Errors...), f)
	t.Errors = errors[max(0, len(errors)-maxErrors):]
	t.Fails, t.Releases = t.Fails+1, 0
	return t
}

// bound makes text valid UTF-8 of at most so many bytes.
func bound(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	cut := most - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
