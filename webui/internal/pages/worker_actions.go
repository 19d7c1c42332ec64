package pages

import (
	"context"
	"fmt"

	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

func (s *Site) onWorker(v *visit.Visit, done string, do func(ctx context.Context, id string) error) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	return s.finish(v, once{target: id, done: fmt.Sprintf("Worker %s %s.", format.Shorten(id, 60), done),
		back: "workers"}, do(v.Ctx(), id))
}

func (s *Site) pauseWorker(v *visit.Visit) error {
	return s.onWorker(v, "fetches no more until it is resumed", v.Inspector.PauseWorker)
}

func (s *Site) resumeWorker(v *visit.Visit) error {
	return s.onWorker(v, "fetches again", v.Inspector.ResumeWorker)
}

func (s *Site) quietWorker(v *visit.Visit) error {
	return s.onWorker(v, "fetches no more for the rest of its life", v.Inspector.QuietWorker)
}

func (s *Site) stopWorker(v *visit.Visit) error {
	if v.Query.Get("now") != "" {
		return s.onWorker(v, "was told to stop at once", v.Inspector.StopWorkerNow)
	}
	return s.onWorker(v, "was told to stop", v.Inspector.StopWorker)
}

func (s *Site) pingWorker(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	took, err := v.Ping(id)
	done := fmt.Sprintf("Worker %s answered within %s.", format.Shorten(id, 60), format.Span(took))
	return s.finish(v, once{target: id, done: done, back: "workers"}, err)
}
