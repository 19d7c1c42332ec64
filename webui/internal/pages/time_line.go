package pages

import (
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/chart"
	"github.com/265d0351/work/webui/internal/format"
)

// timeLine is what a job did from its enqueue to its end, or to now: spans that follow each other, in which it waited
// or an attempt ran, and the same attempts as rows of a table.
type timeLine struct {
	Spans     []lifeSpan
	Attempts  []attemptRow
	Legend    []chart.Series
	Summary   string // for those who do not see it
	Begin     string // what happened at From, and at To
	End       string
	From, To  time.Time
	Now       time.Time
	Stretched bool // spans are wider than they were long
	LeftOut   int  // attempts that are not known
}

// lifeSpan is a part of the picture. X and W are percent of its width, Y and H pixels.
type lifeSpan struct {
	Kind  string // "wait" or "run"
	Class string // its look
	Text  string // what happened, and exactly when
	X, W  float64
	Y, H  int
	Mark  *spanMark

	from, to time.Time
	name     string // in the legend
	sign     string
}

// spanMark is the sign above an attempt, for those who do not tell colours apart. X is its middle.
type spanMark struct {
	X    float64
	Text string
}

// attemptRow is an attempt in the table.
type attemptRow struct {
	inspect.Attempt
	outcomeLook
	Waited, Ran string
	Long        bool // its error is more than fits into a cell
	Open        bool // and it is shown at once
}

// outcomeLook is how an outcome of an attempt looks.
type outcomeLook struct{ Class, Sign string }

// outcomeLooks are by what attempts say of themselves.
var outcomeLooks = map[string]outcomeLook{
	inspect.AttemptRunning: {"now", "▸"}, "succeeded": {"good", "✓"}, "failed": {"warn", "✕"},
	"timeout": {"warn", "◷"},
	"crashed": {"bad", "!"}, "discarded": {"bad", "✕"}, "snoozed": {"calm", "z"}, "released": {"calm", "↩"},
	"cancelled": {"calm", "–"},
}

func timeLineOf(job *inspect.JobInfo) timeLine {
	line := timeLine{Now: job.AsOf, LeftOut: job.AttemptsLeftOut}
	for n, a := range job.Attempts {
		row := attemptRow{Attempt: a, outcomeLook: outcomeLooks[a.Outcome], Waited: spanBetween(a.Due, a.Begun),
			Ran: spanBetween(a.Begun, a.Ended)}
		if a.Outcome == inspect.AttemptRunning {
			row.Ran = spanBetween(a.Begun, job.AsOf) + " so far"
		}
		row.Long = len(a.Error) > 140 || a.Stack != ""
		row.Open = row.Long && n == len(job.Attempts)-1
		line.Attempts = append(line.Attempts, row)
	}
	life := lifeOf(job)
	if len(life.spans) == 0 {
		return line
	}
	line.From, line.To, line.Begin, line.End = life.spans[0].from, life.at, life.begin, endOfLife(job)
	line.Spans, line.Stretched = laidOut(life.spans)
	line.Legend, line.Summary = legendOf(line.Spans), line.summary(job)
	return line
}

// endOfLife is what happens where the line ends.
func endOfLife(job *inspect.JobInfo) string {
	switch job.State {
	case work.StateScheduled, work.StateRetrying:
		if job.RunAt.After(job.AsOf) {
			return "due"
		}
	case work.StateDead:
		return "died"
	}
	if job.State.Ended() {
		return string(job.State)
	}
	return string(job.State) + ","
}

// summary is the line in a sentence.
func (l *timeLine) summary(job *inspect.JobInfo) string {
	waited, ran := time.Duration(0), time.Duration(0)
	for _, s := range l.Spans {
		if s.Kind == "run" {
			ran += s.to.Sub(s.from)
		} else if s.Class != "ahead" {
			waited += s.to.Sub(s.from)
		}
	}
	outcomes := make([]string, len(l.Attempts))
	for n, a := range l.Attempts {
		outcomes[n] = a.Outcome
	}
	text := fmt.Sprintf("%s: waited %s and ran %s", job.State, format.Span(waited), format.Span(ran))
	if len(outcomes) > 0 {
		text += ", attempts " + strings.Join(outcomes, ", ")
	}
	return text
}

// legendOf names each look once.
func legendOf(spans []lifeSpan) []chart.Series {
	var legend []chart.Series
	seen := map[string]bool{}
	for _, s := range spans {
		if !seen[s.name] {
			seen[s.name] = true
			legend = append(legend, chart.Series{Name: strings.TrimSpace(s.sign + " " + s.name), Class: s.Class})
		}
	}
	return legend
}

// The least width of a span in percent, so that each can be seen and pointed at on a phone, and how much of the line
// all of them may take for that.
const (
	leastRun  = 1.6
	leastWait = 1.0
	mostLeast = 75.0
	leastGap  = 5.0 // between two signs
)

// laidOut places spans one behind the other: each has its least width, and by its length a share of what is left.
func laidOut(spans []lifeSpan) (_ []lifeSpan, stretched bool) {
	total, least := time.Duration(0), 0.0
	for n := range spans {
		total += spans[n].to.Sub(spans[n].from)
		least += leastOf(&spans[n])
	}
	scale := min(1, mostLeast/least)
	share := 100 - least*scale
	if total == 0 {
		scale, share = 100/least, 0
	}
	x, marked := 0.0, -leastGap
	for n := range spans {
		s := &spans[n]
		part := 0.0
		if total > 0 {
			part = float64(s.to.Sub(s.from)) / float64(total)
		}
		s.W = leastOf(s)*scale + part*share
		stretched = stretched || s.W > 2*part*100
		middle := x + s.W/2
		if s.Class == outcomeLooks[inspect.AttemptRunning].Class {
			middle = x + s.W // it goes on
		}
		if s.sign != "" && middle-marked >= leastGap {
			s.Mark, marked = &spanMark{chart.Round(min(98.5, max(1.5, middle))), s.sign}, middle
		}
		s.X, s.W, x = chart.Round(x), chart.Round(s.W), x+s.W
		s.Y, s.H = 33, 6
		if s.Kind == "run" {
			s.Y, s.H = 20, 32
		}
	}
	return spans, stretched
}

func leastOf(s *lifeSpan) float64 {
	if s.Kind == "run" {
		return leastRun
	}
	return leastWait
}

// spanBetween is a span of time in words, "" where one of its ends is not known.
func spanBetween(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	if d := to.Sub(from); d >= time.Millisecond {
		return format.Span(d)
	}
	return "under 1 ms" // what Redis' clock tells
}
