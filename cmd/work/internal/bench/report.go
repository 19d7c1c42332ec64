package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/dsn"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// report is what a run found out.
type report struct {
	Redis       string      `json:"redis"` // without its password; "embedded"
	Namespace   string      `json:"namespace"`
	Queues      int         `json:"queues"`
	Concurrency int         `json:"concurrency"`
	Enqueuers   int         `json:"enqueuers"`
	ArgsBytes   int         `json:"args_bytes"`
	Enqueue     phaseResult `json:"enqueue"`
	Process     phaseResult `json:"process"`
	Pickup      pickup      `json:"pickup"`
	Once        once        `json:"once"`
}

const embeddedRedis = "embedded"

func newReport(b *bench) *report {
	r := &report{
		Redis: embeddedRedis, Namespace: b.Namespace, Queues: b.Queues, Concurrency: b.Concurrency,
		Enqueuers: b.Enqueuers,
		ArgsBytes: b.ArgsBytes,
	}
	if b.Redis != "" {
		r.Redis = dsn.Redacted(b.Redis)
	}
	return r
}

// errNotOnce says that jobs were lost or doubled; how many is printed already.
var errNotOnce = errors.New("not every job ran exactly once")

// show prints the report. It is an error if not every job ran once.
func (r *report) show(c *console.Console, asJSON bool) error {
	out := bufio.NewWriter(c.Out)
	var err error
	if asJSON {
		err = json.NewEncoder(out).Encode(r)
	} else {
		for _, line := range r.lines(c) {
			fmt.Fprintln(out, line)
		}
	}
	err = errors.Join(err, out.Flush())
	if !r.Once.ok() {
		err = errors.Join(err, errNotOnce)
	}
	return err
}

// lines are the report for a person.
func (r *report) lines(c *console.Console) []string {
	if c.Quiet {
		if r.Once.ok() {
			return nil
		}
		return c.Wrap(console.Red, r.Once.String())
	}
	lines := r.table().Render(c)
	lines = append(lines, chart(c, phaseEnqueue, r.Enqueue.Pace)...)
	lines = append(lines, chart(c, phaseProcess, r.Process.Pace)...)
	lines = append(lines, "")
	lines = append(lines, c.Summary(r.facts())...)
	colour := console.Green
	if !r.Once.ok() {
		colour = console.Red
	}
	return append(lines, c.Wrap(colour, r.Once.String())...)
}

func (r *report) table() *console.Table {
	return &console.Table{
		Columns: []console.Column{{Title: "PHASE"}, {Title: "JOBS/S", Right: true},
			{Title: "REDIS µs/JOB", Right: true},
			{Title: "JOBS", Right: true}, {Title: "SECONDS", Right: true}},
		Rows: [][]string{
			r.Enqueue.row(phaseEnqueue + ", " + human.Counted(r.Enqueuers, "caller")),
			r.Process.row(phaseProcess + ", concurrency " + human.Grouped(int64(r.Concurrency))),
		},
	}
}

func (p phaseResult) row(title string) []string {
	cpu := "-"
	if p.RedisCPU != nil {
		cpu = strconv.FormatFloat(*p.RedisCPU, 'f', 2, 64)
	}
	return []string{title, human.Grouped(int64(p.Rate)), cpu, human.Grouped(int64(p.Jobs)),
		fmt.Sprintf("%.2f", float64(p.Took)/1e9)}
}

func (r *report) facts() []console.SummaryLine {
	jobs := fmt.Sprintf("no-op, in %s", human.Counted(r.Queues, "queue"))
	if r.ArgsBytes > 0 {
		jobs += fmt.Sprintf(", with arguments of %s", human.Counted(r.ArgsBytes, "byte"))
	}
	facts := []console.SummaryLine{
		{"jobs", jobs},
		{phasePickup, fmt.Sprintf("p50 %s, p99 %s from the enqueue to the handler, of %s on the idle pool",
			r.Pickup.Waited.P50, r.Pickup.Waited.P99, human.Counted(r.Pickup.Jobs, "single job"))},
	}
	if r.Redis == embeddedRedis {
		return append(facts, console.SummaryLine{"redis",
			"embedded in this process, which says nothing about a real one: name it with --redis"})
	}
	return append(facts, console.SummaryLine{"redis",
		fmt.Sprintf("%s, namespace %s, which is removed", r.Redis, r.Namespace)})
}

// String tells it in a sentence.
func (o once) String() string {
	if o.ok() {
		return fmt.Sprintf("Each of %s ran exactly once.", human.Counted(o.Jobs, "job"))
	}
	text := fmt.Sprintf("Of %s %s did not run and %s ran more than once", human.Counted(o.Jobs, "job"),
		human.Grouped(int64(o.Missing)), human.Grouped(int64(o.Doubled)))
	if o.Foreign > 0 {
		text += fmt.Sprintf("; jobs that were never stored ran %s", human.Counted(int(o.Foreign), "time"))
	}
	return text + "."
}

// chart draws how a rate went over time, nothing where there is too little room or too little to tell.
func chart(c *console.Console, title string, went pace) []string {
	rates, _ := went.rates(c.PlotWidth())
	return c.Plot(fmt.Sprintf("%s, jobs per second over %s", title, human.Seconds(went.last().at)), rates,
		c.PlotWidth())
}
