package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// Schedule is one as JSON, with its next ten ticks in place of the next one.
type Schedule struct {
	inspect.ScheduleView
	Next []time.Time `json:"next"`
}

func newSchedule(v *visit.Visit, s inspect.ScheduleInfo) Schedule {
	shown := Schedule{ScheduleView: s.View(), Next: listed(s.NextRuns(jobs.Runs))}
	shown.Args = nil
	if args := v.Redact(s.Name, s.Args); len(args) > 0 {
		shown.Args = soundJSON(args)
	}
	return shown
}

// weightOf is a weight as options have it: 0 is none given.
func weightOf(given *int) (int, error) {
	switch {
	case given == nil:
		return 0, nil
	case *given == 0:
		return 0, visit.BadRequest("weight 0 is none: use 1 to 100, or leave it out for 1")
	}
	return *given, nil
}

func readSchedules(v *visit.Visit) error {
	all, err := v.Inspector.Schedules(v.Ctx())
	if err != nil {
		return err
	}
	shown := make([]Schedule, len(all))
	for i, s := range all {
		shown[i] = newSchedule(v, s)
	}
	return answer(v, http.StatusOK, struct {
		Schedules []Schedule `json:"schedules"`
	}{shown})
}

// scheduleToAdd is one that is to be added.
type scheduleToAdd struct {
	Spec    string            `json:"spec"`
	Name    string            `json:"name"`
	Args    []json.RawMessage `json:"args"`
	ID      *string           `json:"id"`
	TZ      *string           `json:"tz"`
	Jitter  duration          `json:"jitter"`
	Missed  string            `json:"missed"`
	Overlap string            `json:"overlap"`
	Key     *string           `json:"key"`
	Weight  *int              `json:"weight"`
	Needs   []string          `json:"needs"`
}

// addSchedule refuses an id that is taken, so that a request that is sent again changes nothing.
func addSchedule(v *visit.Visit) error {
	var body scheduleToAdd
	if err := decode(v, &body); err != nil {
		return err
	}
	opts := work.PeriodicOptions{Jitter: time.Duration(body.Jitter), Needs: body.Needs}
	for _, field := range []struct {
		name  string
		given *string
		into  *string
	}{{"id", body.ID, &opts.ID}, {"tz", body.TZ, &opts.TZ}, {"key", body.Key, &opts.Key}} {
		if field.given == nil {
			continue
		}
		if *field.into = *field.given; *field.given == "" {
			return visit.BadRequest(fmt.Sprintf("%q is empty: leave it out, or give a value", field.name))
		}
	}
	var err error
	if opts.Weight, err = weightOf(body.Weight); err != nil {
		return err
	}
	if opts.Missed, err = jobs.MissedOf(body.Missed); err != nil {
		return err
	}
	if opts.Overlap, err = jobs.OverlapOf(body.Overlap); err != nil {
		return err
	}
	return did(v, deed{Target: cmp.Or(opts.ID, body.Name)},
		v.Inspector.AddSchedule(v.Ctx(), body.Spec, body.Name, opts, asArgs(body.Args)...))
}

func pauseSchedule(v *visit.Visit) error  { return on(v, "id", v.Inspector.PauseSchedule) }
func resumeSchedule(v *visit.Visit) error { return on(v, "id", v.Inspector.ResumeSchedule) }
func removeSchedule(v *visit.Visit) error { return on(v, "id", v.Inspector.RemoveSchedule) }

func runSchedule(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	receipt, err := v.Inspector.RunScheduleNow(v.Ctx(), id)
	return did(v, deed{Target: id, Job: receipt.ID}, err)
}
