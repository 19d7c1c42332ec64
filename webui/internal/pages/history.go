package pages

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/chart"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/visit"
)

// historyRow is what one name did in the whole time.
type historyRow struct {
	Name               string
	Done, Failed, Dead int64
	Run, Waited        inspect.Histogram
	Gap                time.Duration // until next attempts, in all
}

// historyPage is one name, or all of them.
type historyPage struct {
	Name   string
	Spans  []historySpan
	Span   historySpan
	Charts []chart.Chart
	Flame  flame
	Rows   []historyRow
	// of Rows
	Columns columns.Heads
	Many    bool // so many names that only their sum is shown
}

// Keys are those of the columns, in the order in which they stand.
func (*historyPage) Keys() (keys []string) {
	for _, c := range historyColumns {
		keys = append(keys, c.Key)
	}
	return keys
}

// historySpan is a time that can be looked at.
type historySpan struct {
	Key, Label string
	Back, By   time.Duration
	Here       bool
}

var historySpans = []historySpan{
	{Key: "hour", Label: "last hour", Back: time.Hour, By: time.Minute},
	{Key: "day", Label: "last 24 hours", Back: 24 * time.Hour, By: time.Minute},
	{Key: "quarter", Label: "last 90 days", Back: 90 * 24 * time.Hour, By: 24 * time.Hour},
}

// historyColumns are those by which names can be sorted.
var historyColumns = []columns.Column[historyRow]{
	columns.Text("name", "Name", func(r *historyRow) string { return r.Name }),
	columns.Number("done", "Done", func(r *historyRow) int64 { return r.Done }),
	columns.Number("failed", "Failed", func(r *historyRow) int64 { return r.Failed }),
	columns.Number("dead", "Dead", func(r *historyRow) int64 { return r.Dead }),
	columns.Number("mean", "Run, mean", func(r *historyRow) time.Duration { return r.Run.Mean() }),
	byQuantile("run50", "Run, p50", 0.5, ran), byQuantile("run95", "Run, p95", 0.95, ran),
	byQuantile("run99", "Run, p99", 0.99, ran),
	byQuantile("waited50", "Waited, p50", 0.5, waited), byQuantile("waited95", "Waited, p95", 0.95, waited),
	byQuantile("waited99", "Waited, p99", 0.99, waited),
}

// byQuantile sorts by one of what was counted; names of which nothing was come as if it were 0.
func byQuantile(key, title string, q float64,
	of func(*inspect.HistoryPoint) inspect.Histogram) columns.Column[historyRow] {
	at := func(r *historyRow) time.Duration {
		h := of(&inspect.HistoryPoint{Run: r.Run, Waited: r.Waited})
		return h.Quantile(q)
	}
	return columns.Number(key, title, at)
}

func (s *Site) showHistory(v *visit.Visit) error {
	p := &historyPage{Name: v.Query.Get("name")}
	var err error
	if p.Spans, p.Span, err = spansFor(v); err != nil {
		return err
	}
	opts := inspect.HistoryOptions{By: p.Span.By, Since: time.Now().Add(-p.Span.Back)}
	if p.Name != "" {
		opts.Names = []string{p.Name}
	}
	by, err := v.Inspector.History(v.Ctx(), opts)
	var invalid *work.InvalidError
	if errors.As(err, &invalid) && p.Name == "" {
		p.Many, opts.Together = true, true
		by, err = v.Inspector.History(v.Ctx(), opts)
	}
	if err != nil {
		return err
	}
	p.Charts = p.Span.charts(together(by))
	rows := historyRows(by)
	if p.Flame = flameOf(rows, p.Span.Key); !p.Many {
		p.Rows, p.Columns = rows, columns.Sort(v, rows, historyColumns)
	}
	return s.show(v, "history", page{Title: "History", Nav: "/history", Body: p})
}

// spansFor are the times to choose from, and the one that is asked for.
func spansFor(v *visit.Visit) (all []historySpan, one historySpan, err error) {
	key := cmp.Or(v.Query.Get("span"), "hour")
	all = slices.Clone(historySpans)
	for i := range all {
		if all[i].Key == key {
			all[i].Here = true
			return all, all[i], nil
		}
	}
	return nil, one, visit.BadRequest("the span is none of hour, day and quarter")
}

// charts are what became of jobs, and how long they ran and waited.
func (h historySpan) charts(points []inspect.HistoryPoint) []chart.Chart {
	step := h.By
	if h.Key == "day" { // a bar for each minute would be thinner than a line
		points, step = coarser(points, 15*time.Minute), 15*time.Minute
	}
	return []chart.Chart{
		chart.Outcomes(points, step),
		chart.Durations("Run time", points, step, ran),
		chart.Durations("Waiting time", points, step, waited),
	}
}

// coarser adds up neighbours.
func coarser(points []inspect.HistoryPoint, step time.Duration) []inspect.HistoryPoint {
	by := map[string][]inspect.HistoryPoint{"": slices.Clone(points)}
	for i := range by[""] {
		by[""][i].At = by[""][i].At.Truncate(step)
	}
	return together(by)
}

func historyRows(by map[string][]inspect.HistoryPoint) []historyRow {
	rows := make([]historyRow, 0, len(by))
	for name, points := range by {
		row := historyRow{Name: name}
		for _, p := range points {
			row.Done, row.Failed, row.Dead = row.Done+p.Done, row.Failed+p.Failed, row.Dead+p.Dead
			row.Run.Merge(p.Run)
			row.Waited.Merge(p.Waited)
			row.Gap += p.Gap
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b historyRow) int {
		return cmp.Or(cmp.Compare(b.Done+b.Failed, a.Done+a.Failed), cmp.Compare(a.Name, b.Name))
	})
	return rows
}
