package pages

import (
	"strings"
	"time"

	"github.com/265d0351/work/inspect"
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
var scheduleColumns = []sortable[scheduleRow]{
	{"id", "Schedule", "", false, false, func(a, b *scheduleRow) int { return strings.Compare(a.ID, b.ID) }},
	{"spec", "When", "", false, false, func(a, b *scheduleRow) int { return strings.Compare(a.Spec, b.Spec) }},
	{"name", "Job", "", false, false, func(a, b *scheduleRow) int { return strings.Compare(a.Name, b.Name) }},
	{"next", "Next", "", false, false, func(a, b *scheduleRow) int { return a.Next.Compare(b.Next) }},
	{"last", "Last tick", "", false, true, func(a, b *scheduleRow) int { return a.Last.Compare(b.Last) }},
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
	columns := sortBy(v, rows, scheduleColumns)
	return s.show(v, "schedules", page{Title: "Schedules", Nav: "/schedules", Now: counts.AsOf, Body: struct {
		Rows    []scheduleRow
		Columns sorting
	}{rows, columns}})
}
