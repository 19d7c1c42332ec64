package top

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/describe"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// pausedMark stands behind the name of a queue that is paused, where it is seen on the narrowest screen.
const pausedMark = " ‖"

// queueKind shows queues, what tells most first: a narrow screen leaves out what stands at the right.
func queueKind(asOf time.Time, numbers func(int64) string) tableKind[queueFigures] {
	name := func(q queueFigures) string { return q.Name }
	return tableKind[queueFigures]{id: name, text: name, columns: []viewColumn[queueFigures]{
		{columnTitle{console.Column{Title: "queue"}, "n", "name"}, queueName,
			func(a, b queueFigures) int { return strings.Compare(a.Name, b.Name) }},
		{columnTitle{console.Column{Title: "waiting", Right: true}, "w", ""},
			func(q queueFigures) string { return queueWaiting(q, numbers) },
			func(a, b queueFigures) int { return b.Waiting - a.Waiting }},
		{columnTitle{console.Column{Title: "oldest", Right: true}, "o", ""},
			func(q queueFigures) string { return age(q.Oldest, asOf) },
			func(a, b queueFigures) int { return oldestFirst(a.Oldest, b.Oldest) }},
		{columnTitle{console.Column{Title: "running", Right: true}, "r", ""},
			func(q queueFigures) string { return numbers(int64(q.Running)) },
			func(a, b queueFigures) int { return b.Running - a.Running }},
		{columnTitle{console.Column{Title: "done/min", Right: true}, "d", ""},
			func(q queueFigures) string { return perMinute(q.LastMinute.Done) },
			func(a, b queueFigures) int { return cmp.Compare(b.LastMinute.Done, a.LastMinute.Done) }},
		{columnTitle{console.Column{Title: "failed/min", Right: true}, "f", ""},
			func(q queueFigures) string { return perMinute(q.LastMinute.Failed) },
			func(a, b queueFigures) int { return cmp.Compare(b.LastMinute.Failed, a.LastMinute.Failed) }},
		{columnTitle{console.Column{Title: "state"}, "s", ""}, queueState,
			func(a, b queueFigures) int { return strings.Compare(queueState(b), queueState(a)) }},
		{columnTitle{console.Column{Title: "limit"}, "l", ""}, queueLimit,
			func(a, b queueFigures) int { return strings.Compare(queueLimit(b), queueLimit(a)) }},
		{columnTitle{console.Column{Title: "workers", Right: true}, "v", "workers"},
			func(q queueFigures) string { return human.Number(q.Workers) },
			func(a, b queueFigures) int { return b.Workers - a.Workers }},
	}}
}

func queueName(q queueFigures) string {
	if q.Paused {
		return human.Visible(q.Name) + pausedMark
	}
	return human.Visible(q.Name)
}

func queueWaiting(q queueFigures, numbers func(int64) string) string {
	if q.Problem != "" {
		return "?"
	}
	return numbers(int64(q.Waiting))
}

// queueState is what keeps its jobs from running, or nothing.
func queueState(q queueFigures) string {
	switch {
	case q.Problem != "":
		return "broken"
	case q.Paused:
		return "paused"
	case q.Workers == 0 && q.Waiting > 0:
		return "unserved"
	case q.Hung > 0 && q.Hung == q.Workers:
		return "hung"
	}
	return ""
}

// queueStyle shows at a glance which queues need somebody.
func queueStyle(q queueFigures) console.Style {
	switch queueState(q) {
	case "":
		return console.Plain
	case "paused":
		return console.Yellow
	}
	return console.Red
}

// queueLimit is "3/5 600/min": three of the five that may run at once do, and 600 may begin in a minute.
func queueLimit(q queueFigures) string {
	if q.Limit == nil {
		return ""
	}
	if q.Limit.Problem != nil {
		return "not known"
	}
	var parts []string
	if limit := q.Limit.Limit; limit.Concurrent > 0 {
		parts = append(parts, fmt.Sprintf("%s/%s", human.Number(q.Limit.Running), human.Number(limit.Concurrent)))
	}
	if limit := q.Limit.Limit; limit.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%s/%s", human.Number(limit.Rate), perUnit(limit.Per)))
	}
	return strings.Join(parts, " ")
}

// perUnit is "s" for a second, and "90s" for what has no name of its own.
func perUnit(d time.Duration) string {
	switch d {
	case time.Second:
		return "s"
	case time.Minute:
		return "min"
	case time.Hour:
		return "h"
	}
	return d.String()
}

// workerKind shows workers.
func workerKind() tableKind[inspect.WorkerInfo] {
	type info = inspect.WorkerInfo
	busy := func(w info) float64 { return float64(len(w.Running)) / float64(max(1, w.Concurrency)) }
	return tableKind[info]{
		id:   func(w info) string { return w.ID },
		text: func(w info) string { return strings.Join(append(w.Queues, w.Host, w.Service, w.Version, w.ID), " ") },
		columns: []viewColumn[info]{
			{columnTitle{console.Column{Title: "worker"}, "n", "host"}, workerName,
				func(a, b info) int { return cmp.Or(strings.Compare(a.Host, b.Host), a.PID-b.PID) }},
			{columnTitle{console.Column{Title: "busy", Right: true}, "b", ""}, describe.WorkerBusy,
				func(a, b info) int { return cmp.Compare(busy(b), busy(a)) }},
			{columnTitle{console.Column{Title: "oldest", Right: true}, "o", "oldest job"},
				func(w info) string { return age(oldestJob(w), w.AsOf) },
				func(a, b info) int { return oldestFirst(oldestJob(a), oldestJob(b)) }},
			{columnTitle{console.Column{Title: "uptime", Right: true}, "u", ""},
				func(w info) string { return age(w.Started, w.AsOf) },
				func(a, b info) int { return oldestFirst(a.Started, b.Started) }},
			{columnTitle{console.Column{Title: "state"}, "s", ""}, describe.WorkerState,
				func(a, b info) int { return strings.Compare(describe.WorkerState(b), describe.WorkerState(a)) }},
			{columnTitle{console.Column{Title: "running"}, "r", ""}, runningJobs,
				func(a, b info) int { return len(b.Running) - len(a.Running) }},
			{columnTitle{console.Column{Title: "service"}, "e", ""},
				func(w info) string { return human.Visible(w.Service) },
				func(a, b info) int { return strings.Compare(a.Service, b.Service) }},
			{columnTitle{console.Column{Title: "version"}, "v", ""},
				func(w info) string { return human.Visible(w.Version) },
				func(a, b info) int { return strings.Compare(a.Version, b.Version) }},
		},
	}
}

// workerName is host and process, or the id where a worker does not tell.
func workerName(w inspect.WorkerInfo) string {
	if w.Host == "" {
		return human.Visible(w.ID)
	}
	return fmt.Sprintf("%s:%d", human.Visible(w.Host), w.PID)
}

// oldestJob is since when it holds its oldest job.
func oldestJob(w inspect.WorkerInfo) time.Time {
	if len(w.Running) == 0 {
		return time.Time{}
	}
	return w.Running[0].Since
}

// runningJobs is the name of its oldest job, and how many more there are.
func runningJobs(w inspect.WorkerInfo) string {
	if len(w.Running) == 0 {
		return ""
	}
	text := human.Visible(w.Running[0].Name)
	if more := len(w.Running) - 1; more > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	return text
}

// errorKind shows groups of errors.
func errorKind(asOf time.Time, numbers func(int64) string) tableKind[inspect.ErrorGroup] {
	type group = inspect.ErrorGroup
	return tableKind[group]{
		id:   func(g group) string { return g.Digest },
		text: func(g group) string { return g.Name + " " + g.Message },
		columns: []viewColumn[group]{
			{columnTitle{console.Column{Title: "job"}, "n", "name"},
				func(g group) string { return human.Visible(g.Name) },
				func(a, b group) int { return strings.Compare(a.Name, b.Name) }},
			{columnTitle{console.Column{Title: "count", Right: true}, "c", ""},
				func(g group) string { return numbers(g.Count) },
				func(a, b group) int { return cmp.Compare(b.Count, a.Count) }},
			{columnTitle{console.Column{Title: "last", Right: true}, "l", ""},
				func(g group) string { return age(g.Last, asOf) },
				func(a, b group) int { return b.Last.Compare(a.Last) }},
			{columnTitle{console.Column{Title: "error", Prose: true}, "m", "message"},
				func(g group) string { return human.Visible(g.Message) },
				func(a, b group) int { return strings.Compare(a.Message, b.Message) }},
		},
	}
}

// oldestFirst puts what has no time last.
func oldestFirst(a, b time.Time) int {
	switch {
	case a.IsZero() || b.IsZero():
		return cmp.Compare(unknownLast(a), unknownLast(b))
	}
	return a.Compare(b)
}

func unknownLast(t time.Time) int {
	if t.IsZero() {
		return 1
	}
	return 0
}

// age is for how long something lasts, in one glance; nothing where it is not known since when.
func age(since, asOf time.Time) string {
	if since.IsZero() {
		return ""
	}
	return human.Duration(asOf.Sub(since).Truncate(time.Second))
}

// perMinute rounds, but not to nothing.
func perMinute(n float64) string {
	if n > 0 && n < 0.5 {
		return "<1"
	}
	return human.Grouped(int64(math.Round(n)))
}

// rough writes a number in at most five letters: "9,999", "12.3k", "1.2M".
func rough(n int64) string {
	if n < 10_000 {
		return human.Grouped(n)
	}
	value := float64(n)
	for _, unit := range []string{"k", "M", "G"} {
		if value /= 1000; value < 99.95 {
			return fmt.Sprintf("%.1f%s", value, unit)
		} else if value < 999.5 {
			return fmt.Sprintf("%.0f%s", value, unit)
		}
	}
	return human.Grouped(int64(math.Round(value))) + "G"
}
