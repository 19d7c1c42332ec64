package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

func retryJob(v *visit.Visit) error {
	return on(v, "id", func(ctx context.Context, id string) error {
		if v.Query.Get("fresh") != "" {
			return v.Inspector.RetryNow(ctx, id, inspect.FreshAttempts())
		}
		return v.Inspector.RetryNow(ctx, id)
	})
}

func runJob(v *visit.Visit) error    { return on(v, "id", v.Inspector.RunNow) }
func frontJob(v *visit.Visit) error  { return on(v, "id", v.Inspector.MoveToFront) }
func stallJob(v *visit.Visit) error  { return on(v, "id", v.Inspector.Stall) }
func resumeJob(v *visit.Visit) error { return on(v, "id", v.Inspector.Resume) }
func deleteJob(v *visit.Visit) error { return on(v, "id", v.Inspector.Delete) }

// againJob names the job that was enqueued, by this request or by one before.
func againJob(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	receipt, err := v.Inspector.EnqueueAgain(v.Ctx(), id)
	d := deed{Target: id, Job: receipt.ID}
	if receipt.Duplicate {
		d.Effect = "enqueued before"
	}
	return did(v, d, err)
}

// cancelJob says by its effect whether the job has ended, or its worker was told.
func cancelJob(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	d := deed{Target: id}
	results, err := v.Inspector.Cancel(v.Ctx(), id)
	if err == nil {
		d.Effect, err = string(results[0].Effect), results[0].Err()
	}
	return did(v, d, err)
}

func rescheduleJob(v *visit.Visit) error {
	var body struct {
		At time.Time `json:"at"`
	}
	if err := decode(v, &body); err != nil {
		return err
	}
	if body.At.IsZero() {
		return visit.BadRequest(`the body lacks "at", a time such as 2006-01-02T15:04:05Z`)
	}
	return on(v, "id", func(ctx context.Context, id string) error { return v.Inspector.Reschedule(ctx, id, body.At) })
}

func changeArgs(v *visit.Visit) error {
	var body struct {
		Args []json.RawMessage `json:"args"`
	}
	if err := decode(v, &body); err != nil {
		return err
	}
	if body.Args == nil {
		return visit.BadRequest(`the body lacks "args", an array with one value for each parameter`)
	}
	return on(v, "id", func(ctx context.Context, id string) error {
		return v.Inspector.ChangeArgs(ctx, id, asArgs(body.Args)...)
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

// actOnJobs does one thing to some jobs, one after the other. What is refused to one does not keep it from the next.
func actOnJobs(v *visit.Visit) error {
	var body struct {
		Action string   `json:"action"`
		IDs    []string `json:"ids"`
	}
	if err := decode(v, &body); err != nil {
		return err
	}
	action, err := jobs.ActionNamed(body.Action)
	switch {
	case err != nil:
		return err
	case len(body.IDs) == 0:
		return visit.BadRequest(`the body lacks "ids", those of the jobs that are meant`)
	case len(body.IDs) > jobs.MaxTicked:
		return visit.BadRequest(fmt.Sprintf("%d jobs are too many at once: name at most %d", len(body.IDs),
			jobs.MaxTicked))
	}
	done := manyDone{Action: action.Name, Refused: []refusal{}}
	for _, id := range body.IDs {
		err := action.One(v.Ctx(), v.Inspector, id)
		switch {
		case err == nil:
			done.Done++
		case visit.IsRefusal(err):
			done.Refused = append(done.Refused, refusal{id, err.Error()})
		default:
			v.Audit(visit.Failed, err.Error(), body.IDs...)
			return &unfinished{err, done}
		}
	}
	outcome := visit.Done
	if len(done.Refused) > 0 {
		outcome = visit.Partly
	}
	v.Audit(outcome, action.Did(done.Done, len(body.IDs)), body.IDs...)
	return answer(v, http.StatusOK, done)
}
