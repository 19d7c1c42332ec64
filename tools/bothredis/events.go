package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is one line of go test -json; "go doc test2json" describes it.
type event struct {
	Action     string
	Package    string
	ImportPath string // instead of Package where a build failed
	Test       string
	Output     string
}

func readEvents(input io.Reader) ([]event, error) {
	var events []event
	decoder := json.NewDecoder(input)
	for {
		var e event
		err := decoder.Decode(&e)
		switch {
		case errors.Is(err, io.EOF):
			return events, nil
		case err != nil:
			return nil, fmt.Errorf("event %d is not what go test -json writes: %w", len(events)+1, err)
		}
		events = append(events, e)
	}
}

// printFailures prints the output of each test and package that failed, once it is known to have failed, and returns
// how many did.
func printFailures(out io.Writer, events []event) int {
	type unit struct{ path, test string }
	output := map[unit]*strings.Builder{}
	failed := 0
	for _, e := range events {
		at := unit{e.Package, e.Test}
		switch e.Action {
		case "output":
			if output[at] == nil {
				output[at] = &strings.Builder{}
			}
			output[at].WriteString(e.Output)
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "build-fail":
			failed++
		case "pass", "skip":
			delete(output, at)
		case "fail":
			failed++
			if text := output[at]; text != nil {
				fmt.Fprint(out, text.String())
				delete(output, at)
			}
		}
	}
	return failed
}
