package webui

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/265d0351/work"
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
func (v *visit) did(d deed, err error) error {
	if err != nil {
		v.audit(OutcomeFailed, err.Error(), d.Target)
		return err
	}
	d.Action = path.Base(v.path)
	detail := d.Action
	if d.Job != "" {
		detail += fmt.Sprintf(": it has enqueued job %q", d.Job)
	}
	if d.Effect != "" {
		detail += ": " + d.Effect
	}
	v.audit(OutcomeDone, detail, d.Target)
	return v.answer(http.StatusOK, d)
}

// on does something to what ?key= names.
func (v *visit) on(key string, do func(ctx context.Context, target string) error) error {
	target, err := v.target(key)
	if err != nil {
		return err
	}
	return v.did(deed{Target: target}, do(v.ctx(), target))
}

func apiPauseQueue(v *visit) error {
	return v.on("name", func(ctx context.Context, name string) error { return v.inspector.PauseQueue(ctx, name) })
}

func apiResumeQueue(v *visit) error {
	return v.on("name", func(ctx context.Context, name string) error { return v.inspector.ResumeQueue(ctx, name) })
}

func apiPauseAll(v *visit) error {
	return v.did(deed{Target: "all queues"}, v.inspector.PauseAll(v.ctx()))
}

func apiResumeAll(v *visit) error {
	return v.did(deed{Target: "all queues"}, v.inspector.ResumeAll(v.ctx()))
}

func apiResetLimit(v *visit) error { return v.on("name", v.inspector.ResetLimit) }

// apiSetLimit sets all of the limit: what is left out is not limited.
func apiSetLimit(v *visit) error {
	var limit struct {
		Concurrent int      `json:"concurrent"`
		Rate       int      `json:"rate"`
		Per        duration `json:"per"`
		Burst      int      `json:"burst"`
	}
	if err := v.decode(&limit); err != nil {
		return err
	}
	return v.on("name", func(ctx context.Context, name string) error {
		return v.inspector.SetLimit(ctx, name, work.Limit{
			Concurrent: limit.Concurrent, Rate: limit.Rate, Per: time.Duration(limit.Per), Burst: limit.Burst,
		})
	})
}

func apiPauseWorker(v *visit) error  { return v.on("id", v.inspector.PauseWorker) }
func apiResumeWorker(v *visit) error { return v.on("id", v.inspector.ResumeWorker) }
func apiQuietWorker(v *visit) error  { return v.on("id", v.inspector.QuietWorker) }
func apiStopWorker(v *visit) error   { return v.on("id", v.inspector.StopWorker) }

func apiPingWorker(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(v.ctx(), pingPatience)
	defer cancel()
	took, err := v.inspector.Ping(ctx, id)
	return v.did(deed{Target: id, Effect: "it answered", TookMS: float64(took.Microseconds()) / 1000}, err)
}

func apiClearErrors(v *visit) error {
	name := v.query.Get("name")
	if name == "" && v.query.Get("all") == "" {
		return badRequest("say whose errors: ?name=, or ?all=1 for those of all names")
	}
	d := deed{Target: name}
	if name == "" {
		d.Target = "all names"
	}
	return v.did(d, v.inspector.ClearErrors(v.ctx(), name))
}
