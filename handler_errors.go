package work

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/265d0351/work/internal/unquoted"
)

// SignatureError says that a function cannot be a handler or a middleware, or a value not the prototype of a pool. It
// is found once, when the pool starts; nothing was run.
type SignatureError struct {
	Role     string // "handler", "middleware" or "prototype"
	Function string // readable name, file and line of the function; for what is no function, its type
	Found    string // what is wrong with it, to be read after Function: "returns nothing"
	Wanted   string // what it should be instead
	Remedy   string // what to change
}

// Error is one sentence: what was found in which function, what was wanted, what to change.
func (e *SignatureError) Error() string { return cut(e.text()) }

func (e *SignatureError) text() string {
	return fmt.Sprintf("%s %s %s, wanted %s: %s", e.Role, e.Function, e.Found, e.Wanted, e.Remedy)
}

// ArgumentError says that a job's arguments do not fit its handler. Trying again would not help: either the enqueuer or
// the handler has to change. Its text, and that of the reason, have nothing of the arguments in them, which may be
// secret while errors go to logs, to the trail of the job and to pages: see Excerpt and Verbatim.
type ArgumentError struct {
	Handler string // readable name, file and line of the handler
	Index   int    // which argument, the first is 0 (Error counts from 1); -1 when it is about the list as a whole
	Want    string // the Go type of the parameter; for the list, how many and which
	Err     error  // why it does not fit, in words that quote nothing

	json     []byte // the beginning of the argument's, or of the list's
	verbatim error  // Err as it came

	// uncalled: this is about the job that ran, whose handler was therefore not called. A handler that enqueues can
	// itself get an ArgumentError, about that other job, and return it: then this is false, and its own job may be
	// tried again.
	uncalled bool
}

// Error names the handler, the argument, what kind of JSON it is, the type it should fit and the reason.
func (e *ArgumentError) Error() string { return cut(e.text()) }

func (e *ArgumentError) text() string {
	if e.Index < 0 {
		return fmt.Sprintf("arguments of %s are %s, wanted %s: %v", e.Handler, kindOf(e.json), e.Want, e.Err)
	}
	return fmt.Sprintf("argument %d of %s is %s, wanted %s: %v", e.Index+1, e.Handler, kindOf(e.json), e.Want, e.Err)
}

// Unwrap returns Err. errors.Is and errors.As find in it the error of encoding/json or of the type's own UnmarshalJSON.
func (e *ArgumentError) Unwrap() error { return e.Err }

// Excerpt is the beginning of the argument's JSON, or of the list's: valid UTF-8, cut to 200 bytes, empty when there
// was none. It is for those who may see args.
func (e *ArgumentError) Excerpt() string {
	return bound(string(e.json), maxArgumentExcerpt)
}

// Verbatim is the reason as encoding/json, or the type's own UnmarshalJSON, gave it: such errors quote values. It is
// for those who may see args.
func (e *ArgumentError) Verbatim() error { return e.verbatim }

// maxArgumentExcerpt bounds what an ArgumentError quotes where it is asked to.
const maxArgumentExcerpt = 200

func beginning(text []byte) []byte {
	return bytes.Clone(text[:min(len(text), maxArgumentExcerpt+utf8.UTFMax)])
}

// kindOf says what JSON is by how it begins, and nothing of what is in it.
func kindOf(text []byte) string {
	at := skipSpace(text, 0)
	if at == len(text) {
		return "missing"
	}
	switch c := text[at]; {
	case c == '{':
		return "a JSON object"
	case c == '[':
		return "a JSON array"
	case c == '"':
		return "a JSON string"
	case c == '-', c >= '0' && c <= '9':
		return "a JSON number"
	case c == 't', c == 'f':
		return "a JSON boolean"
	case c == 'n':
		return "null"
	}
	return "no JSON"
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
	return &ArgumentError{Handler: h.name, Index: i, Want: a.want, Err: withoutQuotes(tame(err)),
		json: beginning(piece), verbatim: tame(err)}
}

// withoutQuotes leaves alone what is our own.
func withoutQuotes(err error) error {
	if err == errNullArgument {
		return err
	}
	return unquoted.Error(err)
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
	reason := unquoted.Error(err)
	if err == nil {
		err = fmt.Errorf("found %d", len(pieces))
		reason = err
	}
	return &ArgumentError{Handler: h.name, Index: -1, Want: want, Err: reason, json: beginning(args), verbatim: err}
}
