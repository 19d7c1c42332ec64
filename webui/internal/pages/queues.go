package pages

import (
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// queueRow is a queue with what is reckoned from it.
type queueRow struct {
	inspect.QueueInfo
	GoneIn time.Duration // see goneIn
	Share  int           // of the fullest, in percent
}

func queueRows(queues []inspect.QueueInfo) []queueRow {
	fullest := 0
	for _, q := range queues {
		fullest = max(fullest, q.Waiting)
	}
	rows := make([]queueRow, len(queues))
	for i, q := range queues {
		rows[i] = queueRow{q, goneIn(q.Waiting, q.Done+q.Dead), format.Percent(q.Waiting, fullest)}
	}
	return rows
}

// queueTable is queues as of a time.
type queueTable struct {
	Rows []queueRow
	Now  time.Time
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
	return s.show(v, "queues", page{Title: "Queues", Nav: "/queues", Now: counts.AsOf, Body: struct {
		Table queueTable
		All   bool
	}{queueTable{queueRows(queues), counts.AsOf}, all}})
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
	history, err := v.Inspector.History(v.Ctx(), inspect.HistoryOptions{Names: []string{name}, By: time.Minute})
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
	table := func(state work.State, of []*inspect.JobInfo) jobTable {
		return jobTable{Rows: jobRows(v, of), Now: counts.AsOf, State: state}
	}
	return s.show(v, "queue", page{Title: "Queue " + format.Shorten(name, 60), Nav: "/queues", Now: counts.AsOf,
		Body: struct {
			Queue            queueRow
			Waiting, Running jobTable
			Charts           []chart
			Ended            []stateTab
		}{queueRows([]inspect.QueueInfo{q})[0], table(work.StateQueued, waiting.Jobs),
			table(work.StateRunning, running.Jobs),
			[]chart{
				outcomeChart(history[name], time.Minute),
				durationChart("Waiting time of jobs that began", history[name], time.Minute, waited),
			}, ended}})
}
