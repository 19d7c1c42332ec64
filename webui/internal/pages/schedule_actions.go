package pages

import (
	"context"
	"fmt"

	"github.com/265d0351/work/webui/internal/format"
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

func (s *Site) runSchedule(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	receipt, err := v.Inspector.RunScheduleNow(v.Ctx(), id)
	done := fmt.Sprintf("Schedule %q has enqueued job %q.", format.Shorten(id, 60), receipt.ID)
	return s.finish(v, once{target: id, done: done, back: "schedules"}, err)
}
