package pages

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

func (s *Site) onSchedule(v *visit.Visit, done string, do func(ctx context.Context, id string) error) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	return s.finish(v, once{target: id, done: fmt.Sprintf("Schedule %q %s.", format.Shorten(id, 60), done),
		back: "schedules"}, do(v.Ctx(), id))
}

func (s *Site) pauseSchedule(v *visit.Visit) error {
	return s.onSchedule(v, "is paused", v.Inspector.PauseSchedule)
}

func (s *Site) resumeSchedule(v *visit.Visit) error {
	return s.onSchedule(v, "goes on with its next run", v.Inspector.ResumeSchedule)
}

func (s *Site) removeSchedule(v *visit.Visit) error {
	return s.onSchedule(v, "was removed", v.Inspector.RemoveSchedule)
}

// addSchedule refuses an id that is taken, so that a form that is sent again changes nothing.
func (s *Site) addSchedule(v *visit.Visit) error {
	get := func(field string) string { return strings.TrimSpace(v.R.PostFormValue(field)) }
	name := v.R.PostFormValue("name")
	opts := work.PeriodicOptions{ID: cmp.Or(get("id"), name), TZ: get("tz"), Key: get("key")}
	args, err := jobs.ArgsIn(get("args"))
	if err == nil {
		opts.Missed, err = jobs.MissedOf(get("missed"))
	}
	if err == nil {
		opts.Overlap, err = jobs.OverlapOf(get("overlap"))
	}
	if err == nil {
		opts.Jitter, err = spanIn(get("jitter"))
	}
	if err == nil {
		err = v.KnownName(name)
	}
	if err == nil {
		err = v.Inspector.AddSchedule(v.Ctx(), get("spec"), name, opts, args...)
	}
	done := fmt.Sprintf("Schedule %q was added.", format.Shorten(opts.ID, 60))
	return s.finish(v, once{target: opts.ID, done: done, back: "schedules"}, err)
}

// spanIn is a duration that was typed; nothing is 0.
func spanIn(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	span, err := time.ParseDuration(text)
	if err != nil || span < 0 {
		return 0, visit.BadRequest(fmt.Sprintf("%q is no duration: write 30s, 15m or 24h", format.Shorten(text, 60)))
	}
	return span, nil
}

func (s *Site) runSchedule(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	receipt, err := v.Inspector.RunScheduleNow(v.Ctx(), id)
	done := fmt.Sprintf("Schedule %q has enqueued job %q.", format.Shorten(id, 60), receipt.ID)
	return s.finish(v, once{target: id, done: done, back: "schedules"}, err)
}
