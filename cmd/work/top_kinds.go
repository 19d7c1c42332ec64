package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/265d0351/work"
)

// topPausedMark stands behind the name of a queue that is paused, where it is seen on the narrowest screen.
const topPausedMark = " ‖"

// topQueueKind shows queues, what tells most first: a narrow screen leaves out what stands at the right.
func topQueueKind(asOf time.Time, numbers func(int64) string) topKind[topQueue] {
	name := func(q topQueue) string { return q.Name }
	return topKind[topQueue]{id: name, text: name, columns: []topColumn[topQueue]{
		{topTitle{column{title: "queue"}, "n", "name"}, topName,
			func(a, b topQueue) int { return strings.Compare(a.Name, b.Name) }},
		{topTitle{column{title: "waiting", right: true}, "w", ""},
			func(q topQueue) string { return topWaiting(q, numbers) },
			func(a, b topQueue) int { return b.Waiting - a.Waiting }},
		{topTitle{column{title: "oldest", right: true}, "o", ""},
			func(q topQueue) string { return topAge(q.Oldest, asOf) },
			func(a, b topQueue) int { return topOldestFirst(a.Oldest, b.Oldest) }},
		{topTitle{column{title: "running", right: true}, "r", ""},
			func(q topQueue) string { return numbers(int64(q.Running)) },
			func(a, b topQueue) int { return b.Running - a.Running }},
		{topTitle{column{title: "done/min", right: true}, "d", ""},
			func(q topQueue) string { return topPerMinute(q.LastMinute.Done) },
			func(a, b topQueue) int { return cmp.Compare(b.LastMinute.Done, a.LastMinute.Done) }},
		{topTitle{column{title: "failed/min", right: true}, "f", ""},
			func(q topQueue) string { return topPerMinute(q.LastMinute.Failed) },
			func(a, b topQueue) int { return cmp.Compare(b.LastMinute.Failed, a.LastMinute.Failed) }},
		{topTitle{column{title: "state"}, "s", ""}, topState,
			func(a, b topQueue) int { return strings.Compare(topState(b), topState(a)) }},
		{topTitle{column{title: "limit"}, "l", ""}, topLimit,
			func(a, b topQueue) int { return strings.Compare(topLimit(b), topLimit(a)) }},
		{topTitle{column{title: "workers", right: true}, "v", "workers"},
			func(q topQueue) string { return number(q.Workers) },
			func(a, b topQueue) int { return b.Workers - a.Workers }},
	}}
}

func topName(q topQueue) string {
	if q.Paused {
		return visible(q.Name) + topPausedMark
	}
	return visible(q.Name)
}

func topWaiting(q topQueue, numbers func(int64) string) string {
	if q.Problem != "" {
		return "?"
	}
	return numbers(int64(q.Waiting))
}

// topState is what keeps its jobs from running, or nothing.
func topState(q topQueue) string {
	switch {
	case q.Problem != "":
		return "broken"
	case q.Paused:
		return "paused"
	case q.Workers == 0 && q.Waiting > 0:
		return "unserved"
	}
	return ""
}

// topStateStyle shows at a glance which queues need somebody.
func topStateStyle(q topQueue) style {
	switch topState(q) {
	case "":
		return plain
	case "paused":
		return yellow
	}
	return red
}

// topLimit is "3/5 600/min": three of the five that may run at once do, and 600 may begin in a minute.
func topLimit(q topQueue) string {
	if q.Limit == nil {
		return ""
	}
	if q.Limit.Problem != nil {
		return "not known"
	}
	var parts []string
	if limit := q.Limit.Limit; limit.Concurrent > 0 {
		parts = append(parts, fmt.Sprintf("%s/%s", number(q.Limit.Running), number(limit.Concurrent)))
	}
	if limit := q.Limit.Limit; limit.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%s/%s", number(limit.Rate), topUnit(limit.Per)))
	}
	return strings.Join(parts, " ")
}

// topUnit is "s" for a second, and "90s" for what has no name of its own.
func topUnit(d time.Duration) string {
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

// topWorkerKind shows workers.
func topWorkerKind() topKind[work.WorkerInfo] {
	type info = work.WorkerInfo
	busy := func(w info) float64 { return float64(len(w.Running)) / float64(max(1, w.Concurrency)) }
	return topKind[info]{
		id:   func(w info) string { return w.ID },
		text: func(w info) string { return strings.Join(append(w.Queues, w.Host, w.Service, w.Version, w.ID), " ") },
		columns: []topColumn[info]{
			{topTitle{column{title: "worker"}, "n", "host"}, topWorkerName,
				func(a, b info) int { return cmp.Or(strings.Compare(a.Host, b.Host), a.PID-b.PID) }},
			{topTitle{column{title: "busy", right: true}, "b", ""}, workerBusy,
				func(a, b info) int { return cmp.Compare(busy(b), busy(a)) }},
			{topTitle{column{title: "oldest", right: true}, "o", "oldest job"},
				func(w info) string { return topAge(topOldest(w), w.AsOf) },
				func(a, b info) int { return topOldestFirst(topOldest(a), topOldest(b)) }},
			{topTitle{column{title: "uptime", right: true}, "u", ""},
				func(w info) string { return topAge(w.Started, w.AsOf) },
				func(a, b info) int { return topOldestFirst(a.Started, b.Started) }},
			{topTitle{column{title: "state"}, "s", ""}, workerState,
				func(a, b info) int { return strings.Compare(workerState(b), workerState(a)) }},
			{topTitle{column{title: "running"}, "r", ""}, topRuns,
				func(a, b info) int { return len(b.Running) - len(a.Running) }},
			{topTitle{column{title: "service"}, "e", ""}, func(w info) string { return visible(w.Service) },
				func(a, b info) int { return strings.Compare(a.Service, b.Service) }},
			{topTitle{column{title: "version"}, "v", ""}, func(w info) string { return visible(w.Version) },
				func(a, b info) int { return strings.Compare(a.Version, b.Version) }},
		},
	}
}

// topWorkerName is host and process, or the id where a worker does not tell.
func topWorkerName(w work.WorkerInfo) string {
	if w.Host == "" {
		return visible(w.ID)
	}
	return fmt.Sprintf("%s:%d", visible(w.Host), w.PID)
}

// topOldest is since when it holds its oldest job.
func topOldest(w work.WorkerInfo) time.Time {
	if len(w.Running) == 0 {
		return time.Time{}
	}
	return w.Running[0].Since
}

// topRuns is the name of its oldest job, and how many more there are.
func topRuns(w work.WorkerInfo) string {
	if len(w.Running) == 0 {
		return ""
	}
	text := visible(w.Running[0].Name)
	if more := len(w.Running) - 1; more > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	return text
}

// topErrorKind shows groups of errors.
func topErrorKind(asOf time.Time, numbers func(int64) string) topKind[work.ErrorGroup] {
	type group = work.ErrorGroup
	return topKind[group]{
		id:   func(g group) string { return g.Digest },
		text: func(g group) string { return g.Name + " " + g.Message },
		columns: []topColumn[group]{
			{topTitle{column{title: "job"}, "n", "name"}, func(g group) string { return visible(g.Name) },
				func(a, b group) int { return strings.Compare(a.Name, b.Name) }},
			{topTitle{column{title: "count", right: true}, "c", ""}, func(g group) string { return numbers(g.Count) },
				func(a, b group) int { return cmp.Compare(b.Count, a.Count) }},
			{topTitle{column{title: "last", right: true}, "l", ""},
				func(g group) string { return topAge(g.Last, asOf) },
				func(a, b group) int { return b.Last.Compare(a.Last) }},
			{topTitle{column{title: "error", prose: true}, "m", "message"},
				func(g group) string { return visible(g.Message) },
				func(a, b group) int { return strings.Compare(a.Message, b.Message) }},
		},
	}
}

// topOldestFirst puts what has no time last.
func topOldestFirst(a, b time.Time) int {
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

// topAge is for how long something lasts, in one glance; nothing where it is not known since when.
func topAge(since, asOf time.Time) string {
	if since.IsZero() {
		return ""
	}
	return brief(asOf.Sub(since).Truncate(time.Second))
}

// topPerMinute rounds, but not to nothing.
func topPerMinute(n float64) string {
	if n > 0 && n < 0.5 {
		return "<1"
	}
	return grouped(int64(math.Round(n)))
}

// topRough writes a number in at most five letters: "9,999", "12.3k", "1.2M".
func topRough(n int64) string {
	if n < 10_000 {
		return grouped(n)
	}
	value := float64(n)
	for _, unit := range []string{"k", "M", "G"} {
		if value /= 1000; value < 99.95 {
			return fmt.Sprintf("%.1f%s", value, unit)
		} else if value < 999.5 {
			return fmt.Sprintf("%.0f%s", value, unit)
		}
	}
	return grouped(int64(math.Round(value))) + "G"
}
