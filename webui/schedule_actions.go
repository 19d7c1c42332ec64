package webui

import (
	"context"
	"fmt"
)

func (v *visit) onSchedule(done string, do func(ctx context.Context, id string) error) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	return v.finish(once{target: id, done: fmt.Sprintf("Schedule %q %s.", shorten(id, 60), done), back: "schedules"},
		do(v.ctx(), id))
}

func pauseSchedule(v *visit) error { return v.onSchedule("is paused", v.inspector.PauseSchedule) }

func resumeSchedule(v *visit) error {
	return v.onSchedule("goes on with its next run", v.inspector.ResumeSchedule)
}

func removeSchedule(v *visit) error { return v.onSchedule("was removed", v.inspector.RemoveSchedule) }

func runSchedule(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	receipt, err := v.inspector.RunScheduleNow(v.ctx(), id)
	return v.finish(once{target: id, done: fmt.Sprintf("Schedule %q has enqueued job %q.", shorten(id, 60), receipt.ID),
		back: "schedules"}, err)
}
