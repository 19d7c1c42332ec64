package pages

import (
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// scheduleRow is a schedule and when it runs next.
type scheduleRow struct {
	inspect.ScheduleInfo
	Shown string // its args, as they may be seen
	Runs  []time.Time
}

// scheduleColumns are those by which schedules can be sorted.
var scheduleColumns = []columns.Column[scheduleRow]{
	columns.Text("id", "Schedule", func(r *scheduleRow) string { return r.ID }),
	columns.Text("spec", "When", func(r *scheduleRow) string { return r.Spec }),
	columns.Text("name", "Job", func(r *scheduleRow) string { return r.Name }),
	columns.Time("next", "Next", func(r *scheduleRow) time.Time { return r.Next }),
	columns.Time("last", "Last tick", func(r *scheduleRow) time.Time { return r.Last }).Down(),
}

func (s *Site) showSchedules(v *visit.Visit) error {
	schedules, err := v.Inspector.Schedules(v.Ctx())
	if err != nil {
		return err
	}
	rows := make([]scheduleRow, len(schedules))
	for i, s := range schedules {
		rows[i] = scheduleRow{s, format.Shorten(string(v.Redact(s.Name, s.Args)), rowArgs), s.NextRuns(jobs.Runs)}
	}
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	heads := columns.Sort(v, rows, scheduleColumns)
	return s.show(v, "schedules", page{Title: "Schedules", Nav: "/schedules", Now: counts.AsOf, Body: struct {
		Rows    []scheduleRow
		Columns columns.Heads
	}{rows, heads}})
}
