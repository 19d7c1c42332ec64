package pages

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/265d0351/work/webui/internal/chart"
	"github.com/265d0351/work/webui/internal/format"
)

// flame is where the time of jobs went: all of it above, by names below that, and what each name did with its own
// below these, as wide as their parts of the whole.
type flame struct {
	Summary string // for those who do not see it
	Legend  []chart.Series
	Cells   []flameCell
	Height  int
}

// flameCell is a part of it. X and W are in percent of the width.
type flameCell struct {
	X, W  float64
	Y     int
	Class string
	Label string // "" where it has no room
	Text  string
	Link  string
}

// Its measures.
const (
	flameLevel = 27  // from one level to the next
	flameNames = 12  // by themselves; others are one cell
	flameLeast = 0.4 // percent, below which a part is not drawn
	flameRoom  = 5.0 // percent, from which on it has a label
)

// flameKinds are what a job's time goes into.
var flameKinds = []chart.Series{{Name: "waiting", Class: "queue"}, {Name: "running", Class: "run"},
	{Name: "between attempts", Class: "gap"}}

// spent is how long jobs of a name, or several, waited, ran and were put off.
type spent [3]time.Duration

func spentOf(r historyRow) spent { return spent{r.Waited.Sum, r.Run.Sum, r.Gap} }

// sum is in seconds: durations of many jobs may be more than a Duration holds.
func (s spent) sum() (all float64) {
	for _, d := range s {
		all += d.Seconds()
	}
	return all
}

// flameOf makes it of what names did in a span of the history.
func flameOf(rows []historyRow, span string) flame {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b historyRow) int {
		return int(math.Copysign(1, spentOf(b).sum()-spentOf(a).sum()))
	})
	var whole float64
	for _, r := range rows {
		whole += spentOf(r).sum()
	}
	if whole <= 0 {
		return flame{}
	}
	f := flame{Legend: flameKinds, Height: 3 * flameLevel}
	of := func(seconds float64) string { return format.Span(secondsOf(seconds)) }
	f.add(flameCell{W: 100, Class: "all", Text: "all of it: " + of(whole)}, "all, "+of(whole))
	x, rest := 0.0, spent{}
	for n, r := range rows {
		s := spentOf(r)
		if n >= flameNames && len(rows) > flameNames+1 {
			for k := range rest {
				rest[k] += s[k]
			}
			continue
		}
		cell := flameCell{X: x, W: s.sum() / whole * 100, Link: format.Link("history", "name", r.Name, "span", span)}
		f.name(cell, s, r.Name)
		x += cell.W
	}
	if rest.sum() > 0 {
		f.name(flameCell{X: x, W: rest.sum() / whole * 100}, rest, fmt.Sprintf("%d more", len(rows)-flameNames))
	}
	f.Summary = fmt.Sprintf("Where %s of %d names went, the most first: %s", of(whole), len(rows), rows[0].Name)
	return f
}

// name draws a name, whose place and link are given, and its parts below it.
func (f *flame) name(cell flameCell, s spent, name string) {
	if cell.W < flameLeast {
		return // nor can its parts be seen
	}
	cell.Y, cell.Class = flameLevel, "name"
	cell.Text = fmt.Sprintf("%s: %s, of which waiting %s, running %s, between attempts %s", name,
		format.Span(secondsOf(s.sum())), format.Span(s[0]), format.Span(s[1]), format.Span(s[2]))
	f.add(cell, name)
	at := cell.X
	for k, kind := range flameKinds {
		part := s[k].Seconds() / s.sum() * cell.W
		f.add(flameCell{X: at, W: part, Y: 2 * flameLevel, Class: kind.Class,
			Text: name + ", " + kind.Name + ": " + format.Span(s[k])}, kind.Name+" "+format.Span(s[k]))
		at += part
	}
}

// add draws a cell that can be seen, with a label where there is room for one.
func (f *flame) add(cell flameCell, label string) {
	if cell.W < flameLeast {
		return
	}
	if cell.W >= flameRoom {
		cell.Label = format.Middle(label, 60)
	}
	cell.X, cell.W = chart.Round(cell.X), chart.Round(cell.W)
	f.Cells = append(f.Cells, cell)
}

// secondsOf is the duration, or the longest that there is.
func secondsOf(seconds float64) time.Duration {
	if seconds >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(seconds * float64(time.Second))
}
