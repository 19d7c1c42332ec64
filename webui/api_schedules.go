package webui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/265d0351/work"
)

// schedule is one as JSON.
type schedule struct {
	ID      string          `json:"id"`
	Spec    string          `json:"spec"`
	TZ      string          `json:"tz,omitempty"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`
	Jitter  string          `json:"jitter,omitempty"`
	Missed  string          `json:"missed"`
	Overlap string          `json:"overlap"`
	Service string          `json:"service,omitempty"`
	Paused  bool            `json:"paused"`
	Last    time.Time       `json:"last,omitzero"`
	LastJob string          `json:"last_job,omitempty"`
	Next    []time.Time     `json:"next"` // the next ten ticks
	Problem string          `json:"problem,omitempty"`
}

func (v *visit) newSchedule(s work.ScheduleInfo) schedule {
	shown := schedule{
		ID: s.ID, Spec: s.Spec, TZ: s.Options.TZ, Name: s.Name, Missed: s.Options.Missed.String(),
		Overlap: s.Options.Overlap.String(),
		Service: s.Service, Paused: s.Paused, Last: s.Last, LastJob: s.LastJob, Next: listed(s.NextRuns(runsShown)),
	}
	if args := v.options.redact(s.Name, s.Args); len(args) > 0 {
		shown.Args = soundJSON(args)
	}
	if s.Options.Jitter != 0 {
		shown.Jitter = s.Options.Jitter.String()
	}
	if s.Problem != nil {
		shown.Problem = s.Problem.Error()
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
		return 0, badRequest(fmt.Sprintf(`missed %q is none of "once", "skip" and "1" to "100"`, shorten(text, 60)))
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
	return 0, badRequest(fmt.Sprintf(`overlap %q is none of "allow" and "skip"`, shorten(text, 60)))
}

func apiSchedules(v *visit) error {
	all, err := v.inspector.Schedules(v.ctx())
	if err != nil {
		return err
	}
	shown := make([]schedule, len(all))
	for i, s := range all {
		shown[i] = v.newSchedule(s)
	}
	return v.answer(http.StatusOK, struct {
		Schedules []schedule `json:"schedules"`
	}{shown})
}

// newSchedule is a schedule that is to be added.
type newSchedule struct {
	Spec    string            `json:"spec"`
	Name    string            `json:"name"`
	Args    []json.RawMessage `json:"args"`
	ID      string            `json:"id"`
	TZ      string            `json:"tz"`
	Jitter  duration          `json:"jitter"`
	Missed  string            `json:"missed"`
	Overlap string            `json:"overlap"`
}

// apiAddSchedule refuses an id that is taken, so that a request that is sent again changes nothing.
func apiAddSchedule(v *visit) error {
	var body newSchedule
	if err := v.decode(&body); err != nil {
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
	return v.did(deed{Target: id}, v.inspector.AddSchedule(v.ctx(), body.Spec, body.Name, opts, asArgs(body.Args)...))
}

func apiPauseSchedule(v *visit) error  { return v.on("id", v.inspector.PauseSchedule) }
func apiResumeSchedule(v *visit) error { return v.on("id", v.inspector.ResumeSchedule) }
func apiRemoveSchedule(v *visit) error { return v.on("id", v.inspector.RemoveSchedule) }

func apiRunSchedule(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	receipt, err := v.inspector.RunScheduleNow(v.ctx(), id)
	return v.did(deed{Target: id, Job: receipt.ID}, err)
}
