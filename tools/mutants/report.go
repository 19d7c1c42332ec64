package main

import (
	"fmt"
	"os"
	"strings"
)

// The markers between which the table stands.
const (
	beginMarker = "<!-- mutants:begin -->"
	endMarker   = "<!-- mutants:end -->"
)

// columns are the head of the table.
const columns = "| change | in | what is no longer true | seen by | s |\n|---|---|---|---|--:|\n"

// writeTable puts the results into the table between the markers of a page. Rows of other mutants stay; those of
// mutants that the list has no more go.
func writeTable(path string, results []result) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, old, after, err := parts(string(page))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	rows := rowsOf(old)
	for _, r := range results {
		rows[r.Name] = row(r)
	}
	return os.WriteFile(path, []byte(before+beginMarker+"\n\n"+table(rows)+"\n"+endMarker+after), 0o644)
}

// parts cuts a page at its markers.
func parts(page string) (before, between, after string, err error) {
	before, rest, begins := strings.Cut(page, beginMarker)
	between, after, ends := strings.Cut(rest, endMarker)
	if !begins || !ends {
		return "", "", "", fmt.Errorf("it needs a line %s and below it a line %s", beginMarker, endMarker)
	}
	return before, between, after, nil
}

// rowsOf returns the rows of a table by the name of their mutant.
func rowsOf(text string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(text) {
		if name, _, is := strings.Cut(strings.TrimPrefix(line, "| `"), "` | `"); is {
			rows[name] = line
		}
	}
	return rows
}

func row(r result) string {
	seers := unseen
	if len(r.caught) > 0 {
		seers = "`" + strings.Join(r.caught, "`, `") + "`"
	}
	return fmt.Sprintf("| `%s` | `%s` | %s | %s | %.0f |\n", r.Name, r.File, r.Breaks, seers, r.took.Seconds())
}

// unseen stands in the rows of those that survived.
const unseen = "**nothing**"

// unrun stands in the rows of those that are new, until the command has run them.
const unrun = "not run by this command yet"

// table has the rows of the mutants in the order of the list.
func table(rows map[string]string) string {
	var text strings.Builder
	count, caught, waiting := 0, 0, ""
	for _, m := range all() {
		line, ran := rows[m.Name]
		if !ran {
			continue
		}
		count++
		if !strings.Contains(line, unseen) && !strings.Contains(line, unrun) {
			caught++
		}
		text.WriteString(line)
	}
	if n := strings.Count(text.String(), unrun); n > 0 {
		waiting = fmt.Sprintf(" %d are new and not run by the command yet.", n)
	}
	return fmt.Sprintf("%d changes, of which %d were seen.%s The last column is how many seconds it took to build and "+
		"run the tests.\n\n",
		count, caught, waiting) + columns + text.String()
}
