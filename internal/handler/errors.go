package handler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/unquoted"
)

// MaxExcerpt bounds what is shown of the JSON of an argument where somebody asks for it.
const MaxExcerpt = 200

// Refusal says that a function cannot be a handler or a middleware, or a value not the prototype of a pool. Its fields
// and its text are those of work.SignatureError.
type Refusal struct {
	Role     string // "handler", "middleware" or "prototype"
	Function string // readable name, file and line of the function; for what is no function, its type
	Found    string // what is wrong with it, to be read after Function: "returns nothing"
	Wanted   string // what it should be instead
	Remedy   string // what to change
}

// Error is one sentence: what was found in which function, what was wanted, what to change.
func (e *Refusal) Error() string {
	return excerpt.Cut(fmt.Sprintf("%s %s %s, wanted %s: %s", e.Role, e.Function, e.Found, e.Wanted, e.Remedy))
}

// ArgumentError says that arguments do not fit a handler, which was not called. work.ArgumentError is made of it.
type ArgumentError struct {
	Handler  string // readable name, file and line of the handler
	Index    int    // which argument, the first is 0 (Error counts from 1); -1 when it is about the list as a whole
	Want     string // the Go type of the parameter; for the list, how many and which
	Err      error  // why it does not fit, in words that quote nothing
	JSON     []byte // the beginning of the argument's, or of the list's
	Verbatim error  // Err as it came
}

// Error names the handler, the argument, what kind of JSON it is, the type it should fit and the reason.
func (e *ArgumentError) Error() string {
	what := "arguments"
	are := "are"
	if e.Index >= 0 {
		what, are = fmt.Sprintf("argument %d", e.Index+1), "is"
	}
	return excerpt.Cut(fmt.Sprintf("%s of %s %s %s, wanted %s: %v", what, e.Handler, are, rawjson.Kind(e.JSON), e.Want,
		e.Err))
}

// Unwrap returns Err.
func (e *ArgumentError) Unwrap() error { return e.Err }

// refuseArgument is the error of one argument.
func (h *Handler) refuseArgument(i int, piece []byte, a *argument, err error) error {
	return &ArgumentError{Handler: h.name, Index: i, Want: a.want, Err: withoutQuotes(errchain.Tame(err)),
		JSON: beginning(piece), Verbatim: errchain.Tame(err)}
}

// refuseList finds out what is wrong with the list as a whole: not an array, or of the wrong length.
func (h *Handler) refuseList(args []byte) error {
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
	return &ArgumentError{Handler: h.name, Index: -1, Want: want, Err: reason, JSON: beginning(args), Verbatim: err}
}

// withoutQuotes leaves alone what is our own.
func withoutQuotes(err error) error {
	var unknown *unknownFieldError
	if err == errNullArgument || errors.As(err, &unknown) {
		return err
	}
	return unquoted.Error(err)
}

// beginning is enough of a text for an excerpt of it.
func beginning(text []byte) []byte {
	return bytes.Clone(text[:min(len(text), MaxExcerpt+utf8.UTFMax)])
}
