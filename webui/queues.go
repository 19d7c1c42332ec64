package webui

import (
	"time"

	"github.com/265d0351/work"
)

// queueRow is a queue with what is reckoned from it.
type queueRow struct {
	work.QueueInfo
	GoneIn time.Duration // see goneIn
	Share  int           // of the fullest, in percent
}

func queueRows(queues []work.QueueInfo) []queueRow {
	fullest := 0
	for _, q := range queues {
		fullest = max(fullest, q.Waiting)
	}
	rows := make([]queueRow, len(queues))
	for i, q := range queues {
		rows[i] = queueRow{q, goneIn(q.Waiting, q.Done+q.Dead), percent(q.Waiting, fullest)}
	}
	return rows
}

// queueTable is queues as of a time.
type queueTable struct {
	Rows []queueRow
	Now  time.Time
}

func showQueues(v *visit) error {
	queues, err := v.inspector.Queues(v.ctx())
	if err != nil {
		return err
	}
	_, all, err := v.inspector.Paused(v.ctx())
	if err != nil {
		return err
	}
	counts, err := v.inspector.Counts(v.ctx())
	if err != nil {
		return err
	}
	return v.show("queues", page{Title: "Queues", Nav: "/queues", Now: counts.AsOf, Body: struct {
		Table queueTable
		All   bool
	}{queueTable{queueRows(queues), counts.AsOf}, all}})
}

// showQueue shows what waits first, and what runs.
func showQueue(v *visit) error {
	name, err := v.target("name")
	if err != nil {
		return err
	}
	q, err := v.inspector.Queue(v.ctx(), name)
	if err != nil {
		return err
	}
	history, err := v.inspector.History(v.ctx(), work.HistoryOptions{Names: []string{name}, By: time.Minute})
	if err != nil {
		return err
	}
	waiting, err := v.inspector.Page(v.ctx(), work.PageOptions{State: work.StateQueued, Name: name, Limit: 10})
	if err != nil {
		return err
	}
	running, err := v.inspector.Page(v.ctx(), work.PageOptions{State: work.StateRunning, Name: name, Limit: 10})
	if err != nil {
		return err
	}
	counts, err := v.inspector.Counts(v.ctx())
	if err != nil {
		return err
	}
	table := func(state work.State, jobs []*work.JobInfo) jobTable {
		return jobTable{Rows: v.jobRows(jobs), Now: counts.AsOf, State: state}
	}
	return v.show("queue", page{Title: "Queue " + shorten(name, 60), Nav: "/queues", Now: counts.AsOf, Body: struct {
		Queue            queueRow
		Waiting, Running jobTable
		Charts           []chart
	}{queueRows([]work.QueueInfo{q})[0], table(work.StateQueued, waiting.Jobs), table(work.StateRunning, running.Jobs),
		[]chart{
			outcomeChart(history[name], time.Minute),
			durationChart("Waiting time of jobs that began", history[name], time.Minute, waited),
		}}})
}
