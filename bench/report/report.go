// Package report turns the figures of a contest into tables: for the eye, for a page of the docs, and as JSON.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/265d0351/work/bench/contest"
)

// Report is what one command measured, and on what.
type Report struct {
	Of        string            `json:"of"` // Bench or Drivers
	Date      time.Time         `json:"date"`
	Command   string            `json:"command"`
	Note      string            `json:"note,omitempty"`
	Machine   Machine           `json:"machine"`
	Servers   []string          `json:"servers"`
	Libraries []Library         `json:"libraries"` // the first one is compared with each of the others
	Rounds    int               `json:"rounds"`
	Rows      []contest.Row     `json:"rows"`
	Failures  []contest.Failure `json:"failures,omitempty"`
	LeftOut   []string          `json:"left_out,omitempty"`
}

// What a report is of, which names its place on a page. Budgets and growth are of the first.
const (
	Bench   = "bench"
	Drivers = "drivers"
)

// Machine is where it ran.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	OS    string `json:"os"`
	Go    string `json:"go"`
}

// Library is one that took part.
type Library struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Config  []string `json:"config"`
}

// JSON writes everything, with every sample.
func (r *Report) JSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "\t")
	return out.Encode(r)
}

// Markdown writes what ran on what, the table, the budgets, and how figures grow.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s by `%s`, medians of %d rounds (fewer where one takes long), on %d cores of %s, %s, "+
		"%s; %s.\n\n",
		r.Date.UTC().Format("2006-01-02 15:04 UTC"), r.Command, r.Rounds, r.Machine.Cores, r.Machine.CPU, r.Machine.OS,
		r.Machine.Go, strings.Join(r.Servers, ", "))
	if r.Note != "" {
		b.WriteString(r.Note + "\n\n")
	}
	b.WriteString(r.table().String())
	for _, more := range r.more() {
		if len(more.rows) > 1 {
			b.WriteString("\n" + more.String())
		}
	}
	for _, why := range r.LeftOut {
		fmt.Fprintf(&b, "\n%s.\n", why)
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "\nFAILED: %s, %s: %s\n", f.Scenario, f.Library, f.Error)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// more are the tables below the first.
func (r *Report) more() []*table {
	if r.Of == Drivers {
		return nil
	}
	return []*table{r.budgets(), r.growth()}
}

// table has a row per figure and a column per library, then how many times better the first library is than each of the
// others: above 1 it is better, whether more or less is better of the figure.
func (r *Report) table() *table {
	head := []string{"scenario", "figure", "unit"}
	for _, lib := range r.Libraries {
		head = append(head, strings.TrimSpace(lib.Name+" "+lib.Version))
	}
	for _, lib := range r.others() {
		head = append(head, "x "+lib.Name)
	}
	t := &table{left: 3, rows: [][]string{head}}
	last := ""
	for _, row := range r.Rows {
		cells := []string{row.Scenario, row.Metric, row.Unit}
		if row.Scenario == last {
			cells[0] = ""
		}
		last = row.Scenario
		for _, lib := range r.Libraries {
			cells = append(cells, median(row, lib.Name))
		}
		for _, lib := range r.others() {
			cells = append(cells, r.ratio(row, lib.Name))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

func (r *Report) others() []Library { return r.Libraries[min(1, len(r.Libraries)):] }

func (r *Report) ratio(row contest.Row, other string) string {
	ours, ok := row.Median(r.Libraries[0].Name)
	theirs, both := row.Median(other)
	if !ok || !both {
		return ""
	}
	if row.Lower {
		ours, theirs = theirs, ours
	}
	if theirs <= 0 || ours < 0 {
		return ""
	}
	return number(ours / theirs)
}

func median(row contest.Row, library string) string {
	value, ok := row.Median(library)
	if !ok {
		return "-"
	}
	return number(value)
}

// number writes three digits that count, and thousands apart.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	if digits > 0 {
		text := strconv.FormatFloat(v, 'f', min(digits, 3), 64)
		return strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	text := strconv.FormatFloat(v, 'f', 0, 64)
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// table is a Markdown table that can be read as it stands.
type table struct {
	left int // so many columns are text, the others figures
	rows [][]string
}

func (t *table) String() string {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, row := range t.rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < t.left {
				b.WriteString("| " + cell + pad + " ")
			} else {
				b.WriteString("| " + pad + cell + " ")
			}
		}
		b.WriteString("|\n")
		if n == 0 {
			t.rule(&b, widths)
		}
	}
	return b.String()
}

func (t *table) rule(b *strings.Builder, widths []int) {
	for i, width := range widths {
		if i < t.left {
			b.WriteString("|" + strings.Repeat("-", width+2))
		} else {
			b.WriteString("|" + strings.Repeat("-", width+1) + ":")
		}
	}
	b.WriteString("|\n")
}
