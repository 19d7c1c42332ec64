package pages

import (
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
	return s.show(v, "schedules", page{Title: "Schedules", Nav: "/schedules", Body: rows, Now: counts.AsOf})
}
