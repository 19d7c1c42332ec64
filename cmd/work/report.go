package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// row is one file in the table.
type row struct {
	Path  string `json:"path"`                  // as the file system has it, where that is UTF-8; else with escapes
	Bytes []byte `json:"path_base64,omitempty"` // the very bytes, where they are not UTF-8
	measurement
}

// rowsOf are the files in the order of their paths, as the jobs found them.
func rowsOf(c *comparison) []row {
	rows := make([]row, 0, len(c.list.files))
	for _, o := range c.orders {
		if o.name != jobMeasure {
			continue
		}
		path := c.list.files[o.file].path
		r := row{Path: path, measurement: c.got.measured[o.id]}
		if !utf8.ValidString(path) {
			r.Path, r.Bytes = printable(path), []byte(path)
		}
		rows = append(rows, r)
	}
	return rows
}

// show prints the outcome. It is an error if there are differences.
func (o *outcome) show(d *demo, asJSON, all bool) (err error) {
	if asJSON {
		err = o.printJSON(d)
	} else {
		err = o.print(d, all)
	}
	if wrong := len(o.differences); wrong > 0 {
		err = errors.Join(err, fmt.Errorf("the demo failed: %s", counted(wrong, "difference")))
	}
	return err
}

// printJSON writes everything as one object.
func (o *outcome) printJSON(d *demo) error {
	return json.NewEncoder(d.console.out).Encode(struct {
		Dir         string       `json:"dir"`
		Namespace   string       `json:"namespace"`
		OK          bool         `json:"ok"`
		Files       []row        `json:"files"`
		Differences []difference `json:"differences"`
		Summary     summary      `json:"summary"`
	}{strings.ToValidUTF8(d.dir, "\uFFFD"), d.namespace, len(o.differences) == 0, o.rows,
		append([]difference{}, o.differences...), o.summary})
}

// print writes the table, the summary and the verdict.
func (o *outcome) print(d *demo, all bool) error {
	c := d.console
	out := bufio.NewWriter(c.out)
	say := func(lines ...string) {
		for _, line := range lines {
			fmt.Fprintln(out, line)
		}
	}
	if !c.quiet {
		say(o.table(all).render(c)...)
		say("")
		say(o.facts(c, d)...)
	}
	say(o.verdict(c, all)...)
	return out.Flush()
}

// tableRows is how many files are shown unless all are wanted.
const tableRows = 20

// table shows all files by path, or the largest ones and those that could not be read.
func (o *outcome) table(all bool) *table {
	t := &table{columns: []column{{title: "FILE"}, {title: "BYTES", right: true}, {title: "LINES", right: true},
		{title: "WORDS", right: true}, {title: "SHA-256"}}}
	rows := o.rows
	if !all && len(rows) > tableRows {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b row) int {
			return cmp.Or(strings.Compare(b.Problem, a.Problem), cmp.Compare(b.Size, a.Size))
		})
		rows = rows[:tableRows]
		t.columns[0].title = fmt.Sprintf("THE %d LARGEST FILES", tableRows)
	}
	for _, r := range rows {
		path := r.Path
		if r.Bytes == nil {
			path = printable(path)
		}
		if r.Problem != "" {
			t.rows = append(t.rows, []string{path, "-", "-", "-", r.Problem})
			continue
		}
		t.rows = append(t.rows, []string{path, grouped(r.Size), grouped(r.Lines), grouped(r.Words), prefix(r.SHA256)})
	}
	total := counted(len(o.rows), "file")
	if more := len(o.rows) - len(rows); more > 0 {
		total += fmt.Sprintf(", %s not shown", grouped(int64(more)))
	}
	t.footer = []string{total, grouped(o.summary.Bytes), grouped(o.summary.Lines), grouped(o.summary.Words), ""}
	return t
}

// facts is the summary in sentences.
func (o *outcome) facts(c *console, d *demo) []string {
	s := o.summary
	facts := []fact{
		{"jobs", fmt.Sprintf("%s: %s, %s flaky, %s scheduled", grouped(int64(s.Jobs)), counted(s.Files, "file"),
			grouped(int64(s.Flaky)), grouped(int64(s.Scheduled)))},
		{"runs", fmt.Sprintf("%s, of which %s failed and were retried", grouped(int64(s.Runs)),
			grouped(int64(s.Retries)))},
		{"time", fmt.Sprintf("%.2f s, %s jobs per second", time.Duration(s.Took).Seconds(),
			grouped(int64(s.JobsPerSecond)))},
	}
	if s.Files > 0 {
		facts = append(facts, fact{"waited", fmt.Sprintf("p50 %s, p99 %s from the enqueue of a file's job to its start",
			s.Waited.P50, s.Waited.P99)})
	}
	if s.Scheduled > 0 {
		facts = append(facts, fact{"late", fmt.Sprintf("p50 %s, p99 %s from when a scheduled job was due to its start",
			s.Late.P50, s.Late.P99)})
	}
	if left := o.leftOut(); left != "" {
		facts = append(facts, fact{"left out", left})
	}
	for _, dir := range o.list.closed {
		facts = append(facts, fact{"closed", printable(dir.path) + ": " + dir.why})
	}
	if s.Kill != nil {
		facts = append(facts, fact{"killed", s.Kill.String()})
	}
	facts = append(facts, d.where()...)
	var lines []string
	for _, f := range facts {
		lines = append(lines, f.render(c)...)
	}
	return lines
}

// leftOut says what has no job.
func (o *outcome) leftOut() string {
	var parts []string
	for _, kind := range []struct {
		count int
		what  string
	}{
		{o.summary.Links, "symbolic link"}, {o.summary.Others, "pipe, socket or device file"},
		{o.summary.OwnOutput, "file that this program writes to"}, {o.summary.Closed, "unreadable directory"},
	} {
		if kind.count > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", kind.what, grouped(int64(kind.count))))
		}
	}
	return strings.Join(parts, ", ")
}

// verdict says whether all is well, and what is not.
func (o *outcome) verdict(c *console, all bool) []string {
	if len(o.differences) == 0 {
		if c.quiet {
			return nil
		}
		return c.wrap(green, "Every result agrees with a plain walk of the directory.")
	}
	const most = 50
	lines := c.wrap(red, fmt.Sprintf("Not as it should be: %s.", counted(len(o.differences), "thing")))
	for i, wrong := range o.differences {
		if i == most && !all {
			return append(lines, fmt.Sprintf("  and %s more (--all shows them)",
				grouped(int64(len(o.differences)-most))))
		}
		lines = append(lines, "  "+wrong.String())
	}
	return lines
}
