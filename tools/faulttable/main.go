// Command faulttable writes the figures that the fault suite measured as a table, between the markers of a page:
//
//	WORK_FAULT_LONG=1 WORK_FAULT_FIGURES=figures.jsonl go test ./integration -run Fault
//	go run ./tools/faulttable figures.jsonl docs/reliability.md
//
// The markers are <!-- faults:begin --> and <!-- faults:end -->, and the table says that make fault-long made it. A
// third and a fourth argument are other names for both.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// place is where a table stands, and what makes it.
type place struct{ marker, target string }

func (p place) begin() string { return "<!-- " + p.marker + ":begin -->\n" }
func (p place) end() string   { return "<!-- " + p.marker + ":end -->\n" }

// figure is one line of the file that the tests write.
type figure struct{ Test, Fault, Result string }

func main() {
	at := place{"faults", "fault-long"}
	switch len(os.Args) {
	case 3:
	case 5:
		at = place{os.Args[3], os.Args[4]}
	default:
		fmt.Fprintln(os.Stderr, "usage: faulttable FIGURES.jsonl PAGE.md [MARKER TARGET]")
		os.Exit(2)
	}
	if err := at.run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "faulttable:", err)
		os.Exit(1)
	}
}

func (p place) run(from, into string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close() //lint:ignore errcheck it was read
	figures, err := read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	page, err := os.ReadFile(into)
	if err != nil {
		return err
	}
	changed, err := p.replace(page, p.table(figures, info.ModTime()))
	if err != nil {
		return fmt.Errorf("%s: %w", into, err)
	}
	return os.WriteFile(into, changed, 0o644)
}

func read(from io.Reader) ([]figure, error) {
	var figures []figure
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var f figure
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return nil, fmt.Errorf("line %d is no figure: %w", len(figures)+1, err)
		}
		figures = append(figures, f)
	}
	if len(figures) == 0 {
		return nil, errors.New("it has no figures: was the suite run with WORK_FAULT_FIGURES?")
	}
	slices.SortStableFunc(figures, func(a, b figure) int { return strings.Compare(a.Test, b.Test) })
	return figures, nil
}

// table is what stands between the markers.
func (p place) table(figures []figure, measured time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s by `make %s` on %d cores, %s/%s.\n\n",
		measured.UTC().Format("2006-01-02 15:04 UTC"), p.target, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	b.WriteString("| fault | what came of it | test |\n|---|---|---|\n")
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", f.Fault, f.Result, f.Test)
	}
	return b.String()
}

// replace puts the text between the markers of the page.
func (p place) replace(page []byte, text string) ([]byte, error) {
	before, rest, found := bytes.Cut(page, []byte(p.begin()))
	_, after, closed := bytes.Cut(rest, []byte(p.end()))
	if !found || !closed {
		return nil, fmt.Errorf("it lacks the line %q or, behind it, %q", strings.TrimSpace(p.begin()),
			strings.TrimSpace(p.end()))
	}
	return slices.Concat(before, []byte(p.begin()), []byte(text), []byte(p.end()), after), nil
}
