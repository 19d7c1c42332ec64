package api

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/webui/internal/visit"
)

// deed is what an action on one target has done.
type deed struct {
	Action string  `json:"action"` // the last part of the path: job-retry
	Target string  `json:"target"` // id or name
	Effect string  `json:"effect,omitempty"`
	Job    string  `json:"job,omitempty"`     // id of the one that was enqueued
	TookMS float64 `json:"took_ms,omitempty"` // until the answer of a worker
}

// did answers for an action on one target, and tells the audit.
func did(v *visit.Visit, d deed, err error) error {
	if err != nil {
		v.Audit(visit.Failed, err.Error(), d.Target)
		return err
	}
	d.Action = path.Base(v.Path)
	detail := d.Action
	if d.Job != "" {
		detail += fmt.Sprintf(": it has enqueued job %q", d.Job)
	}
	if d.Effect != "" {
		detail += ": " + d.Effect
	}
	v.Audit(visit.Done, detail, d.Target)
	return answer(v, http.StatusOK, d)
}

// on does something to what ?key= names.
func on(v *visit.Visit, key string, do func(ctx context.Context, target string) error) error {
	target, err := v.Target(key)
	if err != nil {
		return err
	}
	return did(v, deed{Target: target}, do(v.Ctx(), target))
}

func pauseQueue(v *visit.Visit) error {
	return on(v, "name", func(ctx context.Context, name string) error {
		if err := v.KnownName(name); err != nil {
			return err
		}
		return v.Inspector.PauseQueue(ctx, name)
	})
}

func resumeQueue(v *visit.Visit) error {
	return on(v, "name", func(ctx context.Context, name string) error { return v.Inspector.ResumeQueue(ctx, name) })
}

func pauseAll(v *visit.Visit) error {
	return did(v, deed{Target: "all queues"}, v.Inspector.PauseAll(v.Ctx()))
}

func resumeAll(v *visit.Visit) error {
	return did(v, deed{Target: "all queues"}, v.Inspector.ResumeAll(v.Ctx()))
}

func resetLimit(v *visit.Visit) error { return on(v, "name", v.Inspector.ResetLimit) }

// setLimit sets all of the limit: what is left out is not limited.
func setLimit(v *visit.Visit) error {
	var limit struct {
		Concurrent int      `json:"concurrent"`
		Rate       int      `json:"rate"`
		Per        duration `json:"per"`
		Burst      int      `json:"burst"`
	}
	if err := decode(v, &limit); err != nil {
		return err
	}
	return on(v, "name", func(ctx context.Context, name string) error {
		if err := v.KnownName(name); err != nil {
			return err
		}
		return v.Inspector.SetLimit(ctx, name, work.Limit{
			Concurrent: limit.Concurrent, Rate: limit.Rate, Per: time.Duration(limit.Per), Burst: limit.Burst,
		})
	})
}

func pauseWorker(v *visit.Visit) error  { return on(v, "id", v.Inspector.PauseWorker) }
func resumeWorker(v *visit.Visit) error { return on(v, "id", v.Inspector.ResumeWorker) }
func quietWorker(v *visit.Visit) error  { return on(v, "id", v.Inspector.QuietWorker) }

// stopWorker stops at once where ?now=1 says so.
func stopWorker(v *visit.Visit) error {
	if v.Query.Get("now") != "" {
		return on(v, "id", v.Inspector.StopWorkerNow)
	}
	return on(v, "id", v.Inspector.StopWorker)
}

func pingWorker(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	took, err := v.Ping(id)
	return did(v, deed{Target: id, Effect: "it answered", TookMS: float64(took.Microseconds()) / 1000}, err)
}

func clearErrors(v *visit.Visit) error {
	name := v.Query.Get("name")
	if name == "" && v.Query.Get("all") == "" {
		return visit.BadRequest("say whose errors: ?name=, or ?all=1 for those of all names")
	}
	d := deed{Target: name}
	if name == "" {
		d.Target = "all names"
	}
	return did(v, d, v.Inspector.ClearErrors(v.Ctx(), name))
}
