package webui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/265d0351/work"
)

func apiRetryJob(v *visit) error {
	return v.on("id", func(ctx context.Context, id string) error {
		if v.query.Get("fresh") != "" {
			return v.inspector.RetryNow(ctx, id, work.FreshAttempts())
		}
		return v.inspector.RetryNow(ctx, id)
	})
}

func apiRunJob(v *visit) error    { return v.on("id", v.inspector.RunNow) }
func apiFrontJob(v *visit) error  { return v.on("id", v.inspector.MoveToFront) }
func apiStallJob(v *visit) error  { return v.on("id", v.inspector.Stall) }
func apiResumeJob(v *visit) error { return v.on("id", v.inspector.Resume) }
func apiDeleteJob(v *visit) error { return v.on("id", v.inspector.Delete) }

// apiCancelJob says by its effect whether the job has ended, or its worker was told.
func apiCancelJob(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	d := deed{Target: id}
	results, err := v.inspector.Cancel(v.ctx(), id)
	if err == nil {
		d.Effect, err = string(results[0].Effect), results[0].Err()
	}
	return v.did(d, err)
}

func apiRescheduleJob(v *visit) error {
	var body struct {
		At time.Time `json:"at"`
	}
	if err := v.decode(&body); err != nil {
		return err
	}
	if body.At.IsZero() {
		return badRequest(`the body lacks "at", a time such as 2006-01-02T15:04:05Z`)
	}
	return v.on("id", func(ctx context.Context, id string) error { return v.inspector.Reschedule(ctx, id, body.At) })
}

func apiChangeArgs(v *visit) error {
	var body struct {
		Args []json.RawMessage `json:"args"`
	}
	if err := v.decode(&body); err != nil {
		return err
	}
	if body.Args == nil {
		return badRequest(`the body lacks "args", an array with one value for each parameter`)
	}
	return v.on("id", func(ctx context.Context, id string) error {
		return v.inspector.ChangeArgs(ctx, id, asArgs(body.Args)...)
	})
}

// asArgs are values as an enqueue takes them, which it stores as they are.
func asArgs(values []json.RawMessage) []any {
	args := make([]any, len(values))
	for i, value := range values {
		args[i] = value
	}
	return args
}

// refusal is a job to which nothing was done, and why.
type refusal struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// manyDone is what was done to jobs that were named by their ids.
type manyDone struct {
	Action  string    `json:"action"`
	Done    int       `json:"done"`
	Refused []refusal `json:"refused"`
}

// apiActOnJobs does one thing to some jobs, one after the other. What is refused to one does not keep it from the next.
func apiActOnJobs(v *visit) error {
	var body struct {
		Action string   `json:"action"`
		IDs    []string `json:"ids"`
	}
	if err := v.decode(&body); err != nil {
		return err
	}
	action, err := actionNamed(body.Action)
	switch {
	case err != nil:
		return err
	case len(body.IDs) == 0:
		return badRequest(`the body lacks "ids", those of the jobs that are meant`)
	case len(body.IDs) > maxTicked:
		return badRequest(fmt.Sprintf("%d jobs are too many at once: name at most %d", len(body.IDs), maxTicked))
	}
	done := manyDone{Action: action.Name, Refused: []refusal{}}
	for _, id := range body.IDs {
		err := action.one(v.ctx(), v.inspector, id)
		switch {
		case err == nil:
			done.Done++
		case isRefusal(err):
			done.Refused = append(done.Refused, refusal{id, err.Error()})
		default:
			v.audit(OutcomeFailed, err.Error(), body.IDs...)
			return &unfinished{err, done}
		}
	}
	outcome := OutcomeDone
	if len(done.Refused) > 0 {
		outcome = OutcomePartly
	}
	v.audit(outcome, fmt.Sprintf("%d of %d jobs were %s", done.Done, len(body.IDs), action.Past), body.IDs...)
	return v.answer(http.StatusOK, done)
}
