package webui

import (
	"time"

	"github.com/265d0351/work"
)

// scheduleRow is a schedule and when it runs next.
type scheduleRow struct {
	work.ScheduleInfo
	Shown string // its args, as they may be seen
	Runs  []time.Time
}

const runsShown = 10

func showSchedules(v *visit) error {
	schedules, err := v.inspector.Schedules(v.ctx())
	if err != nil {
		return err
	}
	rows := make([]scheduleRow, len(schedules))
	for i, s := range schedules {
		rows[i] = scheduleRow{s, shorten(string(v.options.redact(s.Name, s.Args)), rowArgs), s.NextRuns(runsShown)}
	}
	counts, err := v.inspector.Counts(v.ctx())
	if err != nil {
		return err
	}
	return v.show("schedules", page{Title: "Schedules", Nav: "/schedules", Body: rows, Now: counts.AsOf})
}
