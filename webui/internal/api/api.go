// Package api is the JSON API of the dashboard, as openapi.json describes it: reads and controls for programs. It
// serves who was let in already.
package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rawjson"
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

// asJSON writes a line. Browsers do not show it as a page, so that HTML in it needs no escapes. What an older program
// has stored may have bytes that are not UTF-8, which are replaced, so that the rest can be read.
func asJSON(body any) ([]byte, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(body)
	return rawjson.UTF8([]byte(b.String())), err
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
