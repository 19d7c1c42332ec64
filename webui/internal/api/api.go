// Package api is the JSON API of the dashboard, as openapi.json describes it: reads and controls for programs. It
// serves who was let in already.
package api

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// openapi describes the API in OpenAPI 3.1. A test in a module of its own compares the two.
//
//go:embed openapi.json
var openapi []byte

func readDescription(v *visit.Visit) error {
	v.W.Header().Set("Content-Type", "application/json")
	v.W.Write(openapi) //lint:ignore errcheck who asked has gone
	return nil
}

func wantJSON(v *visit.Visit) error {
	kind, _, err := mime.ParseMediaType(v.R.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return &visit.StatusError{Status: http.StatusUnsupportedMediaType,
			Text: "send the header Content-Type: application/json, also without a body"}
	}
	return nil
}

// decode reads the body. A field that is not known is refused: one that is misspelt must not be dropped without a word.
func decode(v *visit.Visit, into any) error {
	decoder := json.NewDecoder(v.R.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		_, err = decoder.Token()
		if err == nil {
			return visit.BadRequest("something follows the JSON of the body: send one object")
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
	if errors.Is(err, io.EOF) {
		return visit.BadRequest("the body is empty: send a JSON object")
	}
	return badBody(err)
}

// badBody quotes nothing that may be of the args, since what is refused is logged. Other errors are about other fields:
// args are taken as they are.
func badBody(err error) error {
	var mismatch *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	why := ""
	switch {
	case errors.As(err, &mismatch):
		found, _, _ := strings.Cut(mismatch.Value, " ") // a number itself may follow
		why = fmt.Sprintf("a JSON %s does not fit %s, which takes a %s", found, cmp.Or(mismatch.Field, "it"),
			mismatch.Type)
	case errors.As(err, &syntax):
		why = fmt.Sprintf("it is no JSON, as byte %d shows", syntax.Offset)
	default:
		why = err.Error()
	}
	return visit.BadRequest("the body is not as it should be: " + why)
}

// answer sends JSON. It is made before the first byte of it is sent, so that what cannot be written is an error.
func answer(v *visit.Visit, status int, body any) error {
	text, err := asJSON(body)
	if err != nil {
		return fmt.Errorf("what is in Redis cannot be written as JSON: %w", err)
	}
	if missing := v.MissingText(); missing != "" {
		v.W.Header().Set("Work-Missing-Partitions", fmt.Sprint(v.Missing.Partitions()))
	}
	v.W.Header().Set("Content-Type", "application/json")
	v.W.WriteHeader(status)
	v.W.Write(text) //lint:ignore errcheck who asked has gone
	return nil
}

// asJSON writes a line. Browsers do not show it as a page, so that HTML in it needs no escapes.
func asJSON(body any) ([]byte, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(body)
	return []byte(b.String()), err
}

// listed is the same, and an empty list instead of none: programs loop over it.
func listed[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// duration is one as Go writes it: "30s", "1h30m".
type duration time.Duration

// UnmarshalJSON takes a string only: a number would have no unit.
func (d *duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("%s is no duration: write \"30s\", \"15m\" or \"24h\"", format.Shorten(string(raw), 60))
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no duration: write \"30s\", \"15m\" or \"24h\"", format.Shorten(text, 60))
	}
	*d = duration(parsed)
	return nil
}
