// Package describe says in a few words what commands show of workers and limits.
package describe

import (
	"cmp"
	"fmt"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

// ShortWorker is the beginning of an id, which is long and random. All commands take it for the whole.
func ShortWorker(id string) string { return id[:min(len(id), 12)] }

// WorkerBusy is "3/20": three of the twenty jobs that may run at the same time do.
func WorkerBusy(w inspect.WorkerInfo) string {
	return fmt.Sprintf("%d/%d", len(w.Running), w.Concurrency)
}

// Load is "0.52 0.30 0.11": busy processors on average over 1, 5 and 15 minutes.
func Load(l inspect.Load) string { return fmt.Sprintf("%.2f %.2f %.2f", l.One, l.Five, l.Fifteen) }

// WorkerState is what a worker does, or was told to do.
func WorkerState(w inspect.WorkerInfo) string {
	wanted := map[string]string{"pause": "paused", "quiet": "quiet", "stop": "stopping"}
	switch {
	case !w.Alive:
		return "no heartbeat"
	case w.Hangs():
		return "hung"
	case w.Wanted == "":
		return "at work"
	}
	return cmp.Or(wanted[w.Wanted], human.Visible(w.Wanted))
}

// Limit is a limit in words, empty for none.
func Limit(l work.Limit) string {
	text := ""
	if l.Concurrent > 0 {
		text = fmt.Sprintf("%s at a time", human.Number(l.Concurrent))
	}
	if l.Rate > 0 {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s per %s", human.Number(l.Rate), human.Duration(l.Per))
	}
	if l.Burst > 0 {
		text += fmt.Sprintf(" in bursts of %s", human.Number(l.Burst))
	}
	return text
}
