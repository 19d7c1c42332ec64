// Package questions is what is asked of workers and answered by them: the form in which that is stored, and what a
// worker does about it.
package questions

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/exactjson"
)

// MaxBytes is how large the JSON of a question, or of the value of an answer, may be.
const MaxBytes = 64 << 10

// MaxName is how long the name of a message may be, in bytes.
const MaxName = 255

// Question is one as it is stored.
type Question struct {
	Name    string          `json:"name"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Within  int64           `json:"within"` // ms that are left for it when it was asked
}

// Answer is one as it is stored: a value, or an error.
type Answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
}

// AnswerKept is how long an answer stays for the one who has asked.
const AnswerKept = time.Minute

// Encode encodes what is asked, or answered. The error says that it is no JSON, or too large.
func Encode(what string, value any) (json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	encoded, err := exactjson.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written as JSON: %w", what, err)
	}
	if len(encoded) > MaxBytes {
		return nil, fmt.Errorf("%s has %d bytes as JSON, more than %d: pass on where it is to be found", what,
			len(encoded), MaxBytes)
	}
	return encoded, nil
}
