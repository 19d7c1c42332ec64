package demo

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

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/dsn"
	"github.com/265d0351/work/cmd/work/internal/filetree"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// row is one file in the table.
type row struct {
	Path  string `json:"path"`                  // as the file system has it, where that is UTF-8; else with escapes
	Bytes []byte `json:"path_base64,omitempty"` // the very bytes, where they are not UTF-8
	filetree.Measurement
}

// rowsOf are the files in the order of their paths, as the jobs found them.
func rowsOf(c *comparison) []row {
	rows := make([]row, 0, len(c.list.Files))
	for _, o := range c.orders {
		if o.name != jobMeasure {
			continue
		}
		path := c.list.Files[o.file].Path
		r := row{Path: path, Measurement: c.got.measured[o.id]}
		if !utf8.ValidString(path) {
			r.Path, r.Bytes = human.Printable(path), []byte(path)
		}
		rows = append(rows, r)
	}
	return rows
}

// show prints the outcome. It is an error if there are differences.
func (o *outcome) show(d *demo) (err error) {
	if d.JSON {
		err = o.printJSON(d)
	} else {
		err = o.print(d)
	}
	if wrong := len(o.differences); wrong > 0 {
		err = errors.Join(err, fmt.Errorf("the demo failed: %s", human.Counted(wrong, "difference")))
	}
	return err
}

// printJSON writes everything as one object.
func (o *outcome) printJSON(d *demo) error {
	return json.NewEncoder(d.Console.Out).Encode(struct {
		Dir         string       `json:"dir"`
		Namespace   string       `json:"namespace"`
		OK          bool         `json:"ok"`
		Files       []row        `json:"files"`
		Differences []difference `json:"differences"`
		Summary     summary      `json:"summary"`
	}{strings.ToValidUTF8(d.Dir, "\uFFFD"), d.Namespace, len(o.differences) == 0, o.rows,
		append([]difference{}, o.differences...), o.summary})
}

// print writes the table, the summary and the conclusion.
func (o *outcome) print(d *demo) error {
	c := d.Console
	out := bufio.NewWriter(c.Out)
	say := func(lines ...string) {
		for _, line := range lines {
			fmt.Fprintln(out, line)
		}
	}
	if !c.Quiet {
		say(o.table(d.All).Render(c)...)
		say("")
		say(o.facts(c, d)...)
	}
	say(o.conclusion(c, d.All)...)
	return out.Flush()
}

// tableRows is how many files are shown unless all are wanted.
const tableRows = 20

// table shows all files by path, or the largest ones and those that could not be read.
func (o *outcome) table(all bool) *console.Table {
	t := console.NewTable(console.Left("FILE"), console.Right("BYTES"), console.Right("LINES"), console.Right("WORDS"),
		console.Left("SHA-256"))
	rows := o.rows
	if !all && len(rows) > tableRows {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b row) int {
			return cmp.Or(strings.Compare(b.Problem, a.Problem), cmp.Compare(b.Size, a.Size))
		})
		rows = rows[:tableRows]
		t.Columns[0].Title = fmt.Sprintf("THE %d LARGEST FILES", tableRows)
	}
	for _, r := range rows {
		path := r.Path
		if r.Bytes == nil {
			path = human.Printable(path)
		}
		if r.Problem != "" {
			t.Add(path, "-", "-", "-", r.Problem)
			continue
		}
		t.Add(path, human.Grouped(r.Size), human.Grouped(r.Lines), human.Grouped(r.Words), prefix(r.SHA256))
	}
	total := human.Counted(len(o.rows), "file")
	if more := len(o.rows) - len(rows); more > 0 {
		total += fmt.Sprintf(", %s not shown", human.Grouped(int64(more)))
	}
	t.Footer = []string{total, human.Grouped(o.summary.Bytes), human.Grouped(o.summary.Lines),
		human.Grouped(o.summary.Words), ""}
	return t
}

// facts is the summary in sentences.
func (o *outcome) facts(c *console.Console, d *demo) []string {
	s := o.summary
	facts := []console.SummaryLine{
		{"jobs", fmt.Sprintf("%s: %s, %s flaky, %s scheduled", human.Grouped(int64(s.Jobs)),
			human.Counted(s.Files, "file"),
			human.Grouped(int64(s.Flaky)), human.Grouped(int64(s.Scheduled)))},
		{"runs", fmt.Sprintf("%s, of which %s failed and were retried", human.Grouped(int64(s.Runs)),
			human.Grouped(int64(s.Retries)))},
		{"time", fmt.Sprintf("%.2f s, %s jobs per second", time.Duration(s.Took).Seconds(),
			human.Grouped(int64(s.JobsPerSecond)))},
	}
	if s.Files > 0 {
		facts = append(facts, console.SummaryLine{"waited",
			fmt.Sprintf("p50 %s, p99 %s from the enqueue of a file's job to its start",
				s.Waited.P50, s.Waited.P99)})
	}
	if s.Scheduled > 0 {
		facts = append(facts, console.SummaryLine{"late",
			fmt.Sprintf("p50 %s, p99 %s from when a scheduled job was due to its start",
				s.Late.P50, s.Late.P99)})
	}
	if left := o.leftOut(); left != "" {
		facts = append(facts, console.SummaryLine{"left out", left})
	}
	for _, dir := range o.list.Closed {
		facts = append(facts, console.SummaryLine{"closed", human.Printable(dir.Path) + ": " + dir.Why})
	}
	if s.Kill != nil {
		facts = append(facts, console.SummaryLine{"killed", s.Kill.String()})
	}
	facts = append(facts, d.where()...)
	return c.Summary(facts)
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
			parts = append(parts, fmt.Sprintf("%s: %s", kind.what, human.Grouped(int64(kind.count))))
		}
	}
	return strings.Join(parts, ", ")
}

// conclusion says whether all is well, and what is not.
func (o *outcome) conclusion(c *console.Console, all bool) []string {
	if len(o.differences) == 0 {
		if c.Quiet {
			return nil
		}
		return c.Wrap(console.Green, "Every result agrees with a plain walk of the directory.")
	}
	const most = 50
	lines := c.Wrap(console.Red, fmt.Sprintf("Not as it should be: %s.", human.Counted(len(o.differences), "thing")))
	for i, wrong := range o.differences {
		if i == most && !all {
			return append(lines, fmt.Sprintf("  and %s more (--all shows them)",
				human.Grouped(int64(len(o.differences)-most))))
		}
		lines = append(lines, "  "+wrong.String())
	}
	return lines
}

// where says which Redis was used, and what is left there: no worker is, that would remove the results when their
// retention is over.
func (d *demo) where() []console.SummaryLine {
	if d.Redis == "" {
		return []console.SummaryLine{{"redis", "embedded in this process, gone with it"}}
	}
	return []console.SummaryLine{
		{"redis", fmt.Sprintf("%s, where the results of this run are left in namespace %s", dsn.Redacted(d.Redis),
			d.Namespace)},
		{"remove", fmt.Sprintf("redis-cli -u DSN --scan --pattern '{%s}:*' | xargs redis-cli -u DSN unlink",
			d.Namespace)},
	}
}
