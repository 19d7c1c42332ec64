package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// benchReport is what a run found out.
type benchReport struct {
	Redis       string     `json:"redis"` // without its password; "embedded"
	Namespace   string     `json:"namespace"`
	Queues      int        `json:"queues"`
	Concurrency int        `json:"concurrency"`
	Enqueuers   int        `json:"enqueuers"`
	ArgsBytes   int        `json:"args_bytes"`
	Enqueue     benchPhase `json:"enqueue"`
	Process     benchPhase `json:"process"`
	Pickup      pickup     `json:"pickup"`
	Once        once       `json:"once"`
}

const embeddedRedis = "embedded"

func newBenchReport(b *bench) *benchReport {
	r := &benchReport{
		Redis: embeddedRedis, Namespace: b.namespace, Queues: b.queues, Concurrency: b.concurrency,
		Enqueuers: b.enqueuers,
		ArgsBytes: b.argsBytes,
	}
	if b.redis != "" {
		r.Redis = redacted(b.redis)
	}
	return r
}

// errNotOnce says that jobs were lost or doubled; how many is printed already.
var errNotOnce = errors.New("not every job ran exactly once")

// show prints the report. It is an error if not every job ran once.
func (r *benchReport) show(c *console, asJSON bool) error {
	out := bufio.NewWriter(c.out)
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
func (r *benchReport) lines(c *console) []string {
	if c.quiet {
		if r.Once.ok() {
			return nil
		}
		return c.wrap(red, r.Once.String())
	}
	lines := r.table().render(c)
	lines = append(lines, chart(c, phaseEnqueue, r.Enqueue.Pace)...)
	lines = append(lines, chart(c, phaseProcess, r.Process.Pace)...)
	lines = append(lines, "")
	for _, f := range r.facts() {
		lines = append(lines, f.render(c)...)
	}
	colour := green
	if !r.Once.ok() {
		colour = red
	}
	return append(lines, c.wrap(colour, r.Once.String())...)
}

func (r *benchReport) table() *table {
	return &table{
		columns: []column{{title: "PHASE"}, {title: "JOBS/S", right: true}, {title: "REDIS µs/JOB", right: true},
			{title: "JOBS", right: true}, {title: "SECONDS", right: true}},
		rows: [][]string{
			r.Enqueue.row(phaseEnqueue + ", " + counted(r.Enqueuers, "caller")),
			r.Process.row(phaseProcess + ", concurrency " + grouped(int64(r.Concurrency))),
		},
	}
}

func (p benchPhase) row(title string) []string {
	cpu := "-"
	if p.RedisCPU != nil {
		cpu = strconv.FormatFloat(*p.RedisCPU, 'f', 2, 64)
	}
	return []string{title, grouped(int64(p.Rate)), cpu, grouped(int64(p.Jobs)),
		fmt.Sprintf("%.2f", float64(p.Took)/1e9)}
}

func (r *benchReport) facts() []fact {
	jobs := fmt.Sprintf("no-op, in %s", counted(r.Queues, "queue"))
	if r.ArgsBytes > 0 {
		jobs += fmt.Sprintf(", with arguments of %s", counted(r.ArgsBytes, "byte"))
	}
	facts := []fact{
		{"jobs", jobs},
		{phasePickup, fmt.Sprintf("p50 %s, p99 %s from the enqueue to the handler, of %s on the idle pool",
			r.Pickup.Waited.P50, r.Pickup.Waited.P99, counted(r.Pickup.Jobs, "single job"))},
	}
	if r.Redis == embeddedRedis {
		return append(facts, fact{"redis",
			"embedded in this process, which says nothing about a real one: name it with --redis"})
	}
	return append(facts, fact{"redis", fmt.Sprintf("%s, namespace %s, which is removed", r.Redis, r.Namespace)})
}

// String tells it in a sentence.
func (o once) String() string {
	if o.ok() {
		return fmt.Sprintf("Each of %s ran exactly once.", counted(o.Jobs, "job"))
	}
	text := fmt.Sprintf("Of %s %s did not run and %s ran more than once", counted(o.Jobs, "job"),
		grouped(int64(o.Missing)), grouped(int64(o.Doubled)))
	if o.Foreign > 0 {
		text += fmt.Sprintf("; jobs that were never stored ran %s", counted(int(o.Foreign), "time"))
	}
	return text + "."
}
