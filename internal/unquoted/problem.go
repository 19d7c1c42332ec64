// Package unquoted takes out of errors of encoding/json, and of the methods that it calls, what they quote of the JSON.
// The args of a job may hold what logs, trails and pages must not show, and an error gets into all of these.
package unquoted

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/errchain"
)

// Problem is an error without what it quotes. errors.Is and errors.As see the error that it was made of, and its text
// stays out of reach of what prints a whole chain.
type Problem struct {
	text     string
	verbatim error
}

// Error makes a Problem of what came of decoding or encoding JSON; nil of nil.
func Error(err error) error {
	if _, already := err.(*Problem); already || err == nil {
		return err
	}
	return &Problem{text: textOf(err), verbatim: err}
}

func (p *Problem) Error() string { return p.text }

// Is tells whether it was made of that error.
func (p *Problem) Is(target error) bool { return errors.Is(p.verbatim, target) }

// As finds the error that it was made of.
func (p *Problem) As(target any) bool { return errors.As(p.verbatim, target) }

// Verbatim is the error that it was made of, quotes and all.
func (p *Problem) Verbatim() error { return p.verbatim }

// textOf says what is wrong by what nobody can write into JSON: types, positions, and words of encoding/json's own.
func textOf(err error) string {
	text := ""
	errchain.Walk(err, func(err error) bool {
		switch err := err.(type) {
		case *json.UnmarshalTypeError:
			text = textOfMismatch(err)
		case *json.MarshalerError:
			text = fmt.Sprintf("the encoding of its %v failed: %s", err.Type, textOf(err.Err))
		case *json.SyntaxError:
			text = fmt.Sprintf("it is not JSON from byte %d on", err.Offset)
		case *json.UnsupportedTypeError:
			text = fmt.Sprintf("JSON has no such type as %v", err.Type)
		case *json.UnsupportedValueError:
			text = "JSON has no such value" + nameOfValue(err)
		case base64.CorruptInputError:
			text = fmt.Sprintf("it is not base64 from byte %d on", int64(err))
		case *Problem:
			text = err.text
		}
		return text != ""
	})
	return cmp.Or(text, fmt.Sprintf("it was refused with a %T, whose text may quote it", err))
}

// kinds are the words that encoding/json has for what it found.
var kinds = []string{"object", "array", "string", "number", "bool", "null"}

// textOfMismatch leaves out the number, or the key of a map, that follows the word. Fields are those of the program's
// structs.
func textOfMismatch(e *json.UnmarshalTypeError) string {
	found, _, _ := strings.Cut(e.Value, " ")
	if !slices.Contains(kinds, found) {
		found = "value"
	}
	text := fmt.Sprintf("a JSON %s does not fit the type %v", found, e.Type)
	if e.Field != "" {
		text += " of its field " + e.Field
	}
	return text
}

func nameOfValue(e *json.UnsupportedValueError) string {
	if strings.HasPrefix(e.Str, "encountered a cycle") {
		return " as one that contains itself"
	}
	if !e.Value.IsValid() || !e.Value.CanFloat() {
		return ""
	}
	switch f := e.Value.Float(); {
	case math.IsNaN(f):
		return " as NaN"
	case math.IsInf(f, 0):
		return " as infinity"
	}
	return ""
}
