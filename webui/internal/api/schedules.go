package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
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

func missedOf(text string) (work.Missed, error) {
	switch text {
	case "", "once":
		return work.MissedOnce, nil
	case "skip":
		return work.MissedSkip, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, visit.BadRequest(fmt.Sprintf(`missed %q is none of "once", "skip" and "1" to "100"`,
			format.Shorten(text, 60)))
	}
	return work.MissedAll(n), nil
}

func overlapOf(text string) (work.Overlap, error) {
	switch text {
	case "", "allow":
		return work.OverlapAllow, nil
	case "skip":
		return work.OverlapSkip, nil
	}
	return 0, visit.BadRequest(fmt.Sprintf(`overlap %q is none of "allow" and "skip"`, format.Shorten(text, 60)))
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
	ID      string            `json:"id"`
	TZ      string            `json:"tz"`
	Jitter  duration          `json:"jitter"`
	Missed  string            `json:"missed"`
	Overlap string            `json:"overlap"`
}

// addSchedule refuses an id that is taken, so that a request that is sent again changes nothing.
func addSchedule(v *visit.Visit) error {
	var body scheduleToAdd
	if err := decode(v, &body); err != nil {
		return err
	}
	opts := work.PeriodicOptions{ID: body.ID, TZ: body.TZ, Jitter: time.Duration(body.Jitter)}
	var err error
	if opts.Missed, err = missedOf(body.Missed); err != nil {
		return err
	}
	if opts.Overlap, err = overlapOf(body.Overlap); err != nil {
		return err
	}
	id := body.ID
	if id == "" {
		id = body.Name
	}
	return did(v, deed{Target: id}, v.Inspector.AddSchedule(v.Ctx(), body.Spec, body.Name, opts, asArgs(body.Args)...))
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
