package pages

import (
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/alerts"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// workerRow is a worker, and which of its jobs seem stuck.
type workerRow struct {
	inspect.WorkerInfo
	Jobs  []heldJob
	More  int // jobs that are left out
	Busy  int // percent of its processors
	Fetch bool
}

type heldJob struct {
	inspect.RunningJob
	Stuck bool
}

const heldShown = 20

// workersBody are those that are registered, and those that are no more.
type workersBody struct {
	Hosts              []hostMap
	Workers            []workerRow
	inspect.Processors               // of those with a heartbeat
	Columns            columns.Heads // of Workers
	Stopped            stoppedTable
	Problem            string // with which the latter cannot be read: a list that is broken hides no others
}

// workerColumns are those by which workers can be sorted; without one they come by host and process.
var workerColumns = []columns.Column[workerRow]{
	columns.Text("host", "host", func(r *workerRow) string { return r.Host }),
	columns.Text("service", "service", func(r *workerRow) string { return r.Service }),
	columns.Text("version", "version", func(r *workerRow) string { return r.Version }),
	columns.Time("started", "start", func(r *workerRow) time.Time { return r.Started }).Down(),
	columns.Number("busy", "jobs held", func(r *workerRow) int { return len(r.Running) }),
	columns.Number("load", "load", func(r *workerRow) float64 { return r.Load.One }),
	columns.Number("partition", "partition", func(r *workerRow) int { return r.Partition }).Up(),
}

func (s *Site) showWorkers(v *visit.Visit) error {
	workers, err := v.Inspector.Workers(v.Ctx())
	if err != nil {
		return err
	}
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	rows := make([]workerRow, len(workers))
	for i, w := range workers {
		rows[i] = workerRow{WorkerInfo: w, Busy: format.Percent(len(w.Running), w.Concurrency),
			More: max(0, len(w.Running)-heldShown), Fetch: w.Wanted == ""}
		for _, job := range w.Running[:min(len(w.Running), heldShown)] {
			rows[i].Jobs = append(rows[i].Jobs, heldJob{job, alerts.Stuck(job, counts.AsOf, v.StuckAfter)})
		}
	}
	heads := columns.Sort(v, rows, workerColumns)
	body := workersBody{Workers: rows, Columns: heads, Processors: inspect.TotalProcessors(workers)}
	if body.Stopped, err = stoppedOf(v); err != nil {
		body.Problem = err.Error()
	}
	body.Hosts = fleetMapOf(workers, body.Stopped.Rows, counts.AsOf, v.StuckAfter)
	return s.show(v, "workers", page{Title: "Workers", Nav: "/workers", Body: body, Now: counts.AsOf})
}

// stoppedShown is how many workers that have stopped are shown: the API and the command line have the others.
const stoppedShown = 50

// stoppedTable is the workers that have stopped last.
type stoppedTable struct {
	Rows    []inspect.StoppedWorker
	Columns columns.Heads
	More    bool // there may be others
}

func stoppedOf(v *visit.Visit) (stoppedTable, error) {
	rows, err := v.Inspector.StoppedWorkers(v.Ctx(), stoppedShown)
	return stoppedTable{Rows: rows, Columns: columns.SortPart(v, "stopped", rows, columns.Stopped),
		More: len(rows) == stoppedShown}, err
}
