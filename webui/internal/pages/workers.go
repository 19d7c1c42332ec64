package pages

import (
	"cmp"
	"strings"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/alerts"
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

// stoppedShown is how many workers that have stopped are shown: the API and the command line have the others.
const stoppedShown = 50

// workersBody are those that are registered, and those that are no more.
type workersBody struct {
	Hosts              []hostMap
	Workers            []workerRow
	inspect.Processors         // of those with a heartbeat
	Columns            sorting // of Workers
	Stopped            []inspect.StoppedWorker
	Problem            string // with which the latter cannot be read: a list that is broken hides no others
}

// workerColumns are those by which workers can be sorted; without one they come by host and process.
var workerColumns = []sortable[workerRow]{
	{"host", "host", "", false, false, func(a, b *workerRow) int { return strings.Compare(a.Host, b.Host) }},
	{"service", "service", "", false, false,
		func(a, b *workerRow) int { return strings.Compare(a.Service, b.Service) }},
	{"version", "version", "", false, false,
		func(a, b *workerRow) int { return strings.Compare(a.Version, b.Version) }},
	{"started", "start", "", false, true, func(a, b *workerRow) int { return a.Started.Compare(b.Started) }},
	{"busy", "jobs held", "", true, true,
		func(a, b *workerRow) int { return cmp.Compare(len(a.Running), len(b.Running)) }},
	{"load", "load", "", true, true, func(a, b *workerRow) int { return cmp.Compare(a.Load.One, b.Load.One) }},
	{"partition", "partition", "", true, false,
		func(a, b *workerRow) int { return cmp.Compare(a.Partition, b.Partition) }},
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
	columns := sortBy(v, rows, workerColumns)
	body := workersBody{Workers: rows, Columns: columns, Processors: inspect.TotalProcessors(workers)}
	if body.Stopped, err = v.Inspector.StoppedWorkers(v.Ctx(), stoppedShown); err != nil {
		body.Problem = err.Error()
	}
	body.Hosts = fleetMapOf(workers, body.Stopped, counts.AsOf, v.StuckAfter)
	return s.show(v, "workers", page{Title: "Workers", Nav: "/workers", Body: body, Now: counts.AsOf})
}
