package pages

import (
	"cmp"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/chart"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// queueRow is a queue with what is reckoned from it.
type queueRow struct {
	inspect.QueueInfo
	GoneIn time.Duration // see goneIn; 0 where some of it does not go on
	Share  int           // of the fullest, in percent
}

// Held tells whether jobs wait for what does not come by itself: nobody serves them, or they are paused.
func (r queueRow) Held() bool { return held(&r.QueueInfo) > 0 }

// held is how many jobs of a queue wait for what does not come by itself.
func held(q *inspect.QueueInfo) (n int) {
	if q.Paused || q.Workers == q.Hung {
		return q.Waiting
	}
	for _, need := range q.Needs {
		if need.Workers == need.Hung {
			n += need.Waiting
		}
	}
	return n
}

func queueRows(queues []inspect.QueueInfo) []queueRow {
	fullest := 0
	for _, q := range queues {
		fullest = max(fullest, q.Waiting)
	}
	rows := make([]queueRow, len(queues))
	for i, q := range queues {
		rows[i] = queueRow{QueueInfo: q, Share: format.Percent(q.Waiting, fullest)}
		if !rows[i].Held() {
			rows[i].GoneIn = goneIn(q.Waiting, q.Done+q.Dead)
		}
	}
	return rows
}

// queueTable is queues as of a time.
type queueTable struct {
	Rows    []queueRow
	Now     time.Time
	Columns columns.Heads
}

// queueColumns are those by which queues can be sorted.
var queueColumns = []columns.Column[queueRow]{
	columns.Text("name", "Queue", func(r *queueRow) string { return r.Name }),
	columns.Number("waiting", "Waiting", func(r *queueRow) int { return r.Waiting }),
	columns.By("oldest", "Oldest waits", func(a, b *queueRow) int {
		return cmp.Or(columns.FalseFirst(!a.Oldest.IsZero(), !b.Oldest.IsZero()), b.Oldest.Compare(a.Oldest))
	}).Down(),
	columns.By("eta", "ETA", func(a, b *queueRow) int {
		return cmp.Or(columns.FalseFirst(a.Held(), b.Held()), cmp.Compare(a.GoneIn, b.GoneIn))
	}).Right().Down().Says("until it is empty, at the rate of the last five full minutes, if nothing more comes"),
	columns.Number("running", "Running", func(r *queueRow) int { return r.Running }),
	columns.Number("workers", "Workers", func(r *queueRow) int { return r.Workers }),
	columns.Number("done", "Done, 5 min", func(r *queueRow) int64 { return r.Done }).
		Says("in the last five full minutes"),
	columns.Number("failed", "Failed", func(r *queueRow) int64 { return r.Failed }).
		Says("attempts in the last five full minutes"),
	columns.Number("dead", "Dead", func(r *queueRow) int64 { return r.Dead }).Says("in the last five full minutes"),
}

func (s *Site) showQueues(v *visit.Visit) error {
	queues, err := v.Inspector.Queues(v.Ctx())
	if err != nil {
		return err
	}
	_, all, err := v.Inspector.Paused(v.Ctx())
	if err != nil {
		return err
	}
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	rows := queueRows(queues)
	heads := columns.Sort(v, rows, queueColumns)
	return s.show(v, "queues", page{Title: "Queues", Nav: "/queues", Now: counts.AsOf, Body: struct {
		Table queueTable
		All   bool
	}{queueTable{rows, counts.AsOf, heads}, all}})
}

// showQueue shows what waits first, and what runs.
func (s *Site) showQueue(v *visit.Visit) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	q, err := v.Inspector.Queue(v.Ctx(), name)
	if err != nil {
		return err
	}
	spans, span, err := spansFor(v)
	if err != nil {
		return err
	}
	history, err := v.Inspector.History(v.Ctx(), inspect.HistoryOptions{Names: []string{name}, By: span.By,
		Since: time.Now().Add(-span.Back)})
	if err != nil {
		return err
	}
	waiting, err := v.Inspector.Page(v.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: name, Limit: 10})
	if err != nil {
		return err
	}
	running, err := v.Inspector.Page(v.Ctx(), inspect.PageOptions{State: work.StateRunning, Name: name, Limit: 10})
	if err != nil {
		return err
	}
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	ended, err := endedTabs(v, jobs.Filter{Selection: inspect.Selection{Name: name}})
	if err != nil {
		return err
	}
	keys, err := v.Inspector.Keys(v.Ctx(), inspect.KeysOptions{Name: name, Limit: noisyKeys})
	if err != nil {
		return err
	}
	table := func(state work.State, of []*inspect.JobInfo) jobTable {
		return jobTable{Rows: jobRows(v, of), Now: counts.AsOf, State: state}
	}
	return s.show(v, "queue", page{Title: "Queue " + format.Shorten(name, 60), Nav: "/queues", Now: counts.AsOf,
		Body: struct {
			Queue            queueRow
			Waiting, Running jobTable
			Spans            []historySpan
			Charts           []chart.Chart
			Flame            flame
			Ended            []stateTab
			Keys             keyTable
			MoreKeys         bool
		}{queueRows([]inspect.QueueInfo{q})[0], table(work.StateQueued, waiting.Jobs),
			table(work.StateRunning, running.Jobs),
			spans, span.charts(history[name]), flameOf(historyRows(history), span.Key), ended,
			newKeyTable(name, keys.Keys), keys.Next != ""}})
}
