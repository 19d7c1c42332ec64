// Command faulttable writes the figures that the fault suite measured as a table, between the markers of a page:
//
//	WORK_FAULT_LONG=1 WORK_FAULT_FIGURES=figures.jsonl go test ./integration -run Fault
//	go run ./tools/faulttable figures.jsonl docs/reliability.md
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

const (
	begin = "<!-- faults:begin -->\n"
	end   = "<!-- faults:end -->\n"
)

// figure is one line of the file that the tests write.
type figure struct{ Test, Fault, Result string }

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: faulttable FIGURES.jsonl PAGE.md")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "faulttable:", err)
		os.Exit(1)
	}
}

func run(from, into string) error {
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
	changed, err := replace(page, table(figures, info.ModTime()))
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
func table(figures []figure, measured time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s by `make fault-long` on %d cores, %s/%s.\n\n", measured.UTC().
		Format("2006-01-02 15:04 UTC"),
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	b.WriteString("| fault | what came of it | test |\n|---|---|---|\n")
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", f.Fault, f.Result, f.Test)
	}
	return b.String()
}

// replace puts the text between the markers of the page.
func replace(page []byte, text string) ([]byte, error) {
	before, rest, found := bytes.Cut(page, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		return nil, fmt.Errorf("it lacks the line %q or, behind it, %q", strings.TrimSpace(begin),
			strings.TrimSpace(end))
	}
	return slices.Concat(before, []byte(begin), []byte(text), []byte(end), after), nil
}
