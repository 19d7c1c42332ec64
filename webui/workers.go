package webui

import "github.com/265d0351/work"

// workerRow is a worker, and which of its jobs seem stuck.
type workerRow struct {
	work.WorkerInfo
	Jobs  []heldJob
	More  int // jobs that are left out
	Busy  int // percent of its processors
	Fetch bool
}

type heldJob struct {
	work.RunningJob
	Stuck bool
}

const heldShown = 20

func showWorkers(v *visit) error {
	workers, err := v.inspector.Workers(v.ctx())
	if err != nil {
		return err
	}
	counts, err := v.inspector.Counts(v.ctx())
	if err != nil {
		return err
	}
	rows := make([]workerRow, len(workers))
	for i, w := range workers {
		rows[i] = workerRow{WorkerInfo: w, Busy: percent(len(w.Running), w.Concurrency),
			More: max(0, len(w.Running)-heldShown), Fetch: w.Wanted == ""}
		for _, job := range w.Running[:min(len(w.Running), heldShown)] {
			rows[i].Jobs = append(rows[i].Jobs, heldJob{job, isStuck(job, counts.AsOf, v.options.StuckAfter)})
		}
	}
	return v.show("workers", page{Title: "Workers", Nav: "/workers", Body: rows, Now: counts.AsOf})
}
