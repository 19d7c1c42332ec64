package work

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// SignatureError says that a function cannot be a handler or a middleware, or a value not the prototype of a pool. It is
// found once, when the pool starts; nothing was run.
type SignatureError struct {
	Role     string // "handler", "middleware" or "prototype"
	Function string // readable name, file and line of the function; for what is no function, its type
	Found    string // what is wrong with it, to be read after Function: "returns nothing"
	Wanted   string // what it should be instead
	Remedy   string // what to change
}

// Error is one sentence: what was found in which function, what was wanted, what to change.
func (e *SignatureError) Error() string {
	return fmt.Sprintf("%s %s %s, wanted %s: %s", e.Role, e.Function, e.Found, e.Wanted, e.Remedy)
}

// ArgumentError says that a job's arguments do not fit its handler. Trying again would not help: either the enqueuer or
// the handler has to change.
type ArgumentError struct {
	Handler string // readable name, file and line of the handler
	Index   int    // which argument, the first is 0 (Error counts from 1); -1 when it is about the list as a whole
	JSON    string // the argument's JSON, or the list's: valid UTF-8, cut to 200 bytes, empty when there was none
	Want    string // the Go type of the parameter; for the list, how many and which
	Err     error  // why it does not fit

	// uncalled: this is about the job that ran, whose handler was therefore not called. A handler that enqueues can itself
	// get an ArgumentError, about that other job, and return it: then this is false, and its own job may be tried again.
	uncalled bool
}

// Error names the handler, the argument, its JSON, the type it should fit and the reason.
func (e *ArgumentError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("arguments of %s are %s, wanted %s: %v", e.Handler, cmp.Or(e.JSON, "missing"), e.Want, e.Err)
	}
	return fmt.Sprintf("argument %d of %s is %s, wanted %s: %v", e.Index+1, e.Handler, e.JSON, e.Want, e.Err)
}

// Unwrap returns the reason, often an error of encoding/json or of the type's own UnmarshalJSON.
func (e *ArgumentError) Unwrap() error { return e.Err }

// maxArgumentExcerpt bounds what an ArgumentError quotes: it ends up in logs and in the trail of the job.
const maxArgumentExcerpt = 200

func argumentExcerpt(text []byte) string {
	return bound(string(text[:min(len(text), maxArgumentExcerpt+utf8.UTFMax)]), maxArgumentExcerpt)
}

// String is the readable name of the user's function and where it is: "shop.(*Context).CreateWatch (handlers.go:12)".
func (h *handler) String() string { return h.name }

func ofRun(err error) error {
	var refusal *ArgumentError
	if errors.As(err, &refusal) {
		refusal.uncalled = true
	}
	return err
}

func (h *handler) refuseArgument(i int, piece []byte, a *argument, err error) error {
	return &ArgumentError{Handler: h.name, Index: i, JSON: argumentExcerpt(piece), Want: a.want, Err: err}
}

// refuseList finds out what is wrong with the list as a whole: not an array, or of the wrong length.
func (h *handler) refuseList(args []byte) error {
	var types []string
	for _, a := range h.args {
		types = append(types, a.want)
	}
	want := fmt.Sprintf("a JSON array of %d", len(types))
	if h.tail != nil {
		want = fmt.Sprintf("a JSON array of %d or more", len(types))
		types = append(types, "..."+h.tail.want)
	}
	if len(types) > 0 {
		want += " (" + strings.Join(types, ", ") + ")"
	}
	var pieces []json.RawMessage
	err := json.Unmarshal(args, &pieces)
	if len(args) == 0 {
		err = nil
	}
	if err == nil {
		err = fmt.Errorf("found %d", len(pieces))
	}
	return &ArgumentError{Handler: h.name, Index: -1, JSON: argumentExcerpt(args), Want: want, Err: err}
}
