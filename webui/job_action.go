package webui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work"
)

// jobAction is what can be done to jobs of some states.
type jobAction struct {
	Name   string // in forms
	Path   string // of the route for one job
	Label  string
	Past   string // what was done to them
	Grave  bool   // it cannot be taken back
	states []work.State

	one  func(ctx context.Context, i *work.Inspector, id string) error
	bulk *work.Action // nil where it is not for all that match
}

// jobActions are all of them, in the order of their buttons.
var jobActions = []jobAction{
	{Name: "retry", Path: "job-retry", Label: "Retry now", Past: "put back into their queues",
		states: []work.State{work.StateRetrying, work.StateDead}, bulk: new(work.ActionRetryNow()),
		one: func(ctx context.Context, i *work.Inspector, id string) error { return i.RetryNow(ctx, id) }},
	{Name: "fresh", Path: "job-retry?fresh=1", Label: "Retry with fresh attempts",
		Past:   "put back into their queues, with fresh attempts",
		states: []work.State{work.StateRetrying, work.StateDead}, bulk: new(work.ActionRetryNow(work.FreshAttempts())),
		one: func(ctx context.Context, i *work.Inspector, id string) error {
			return i.RetryNow(ctx, id, work.FreshAttempts())
		}},
	{Name: "run", Path: "job-run", Label: "Run now", Past: "put into their queues",
		states: []work.State{work.StateScheduled}, bulk: &work.ActionRunNow,
		one: func(ctx context.Context, i *work.Inspector, id string) error { return i.RunNow(ctx, id) }},
	{Name: "front", Path: "job-front", Label: "Move to front", Past: "moved to the front",
		states: []work.State{work.StateQueued}, bulk: &work.ActionMoveToFront,
		one: func(ctx context.Context, i *work.Inspector, id string) error { return i.MoveToFront(ctx, id) }},
	{Name: "resume", Path: "job-resume", Label: "Resume", Past: "given back to their queues",
		states: []work.State{work.StateStalled}, bulk: &work.ActionResume,
		one: func(ctx context.Context, i *work.Inspector, id string) error { return i.Resume(ctx, id) }},
	{Name: "stall", Path: "job-stall", Label: "Put aside", Past: "put aside",
		states: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying}, bulk: &work.ActionStall,
		one: func(ctx context.Context, i *work.Inspector, id string) error { return i.Stall(ctx, id) }},
	{Name: "cancel", Path: "job-cancel", Label: "Cancel", Past: "cancelled", Grave: true,
		states: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled,
			work.StateRunning},
		one: cancelOne},
	{Name: "delete", Path: "job-delete", Label: "Delete", Past: "deleted", Grave: true,
		states: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled,
			work.StateDead, work.StateSucceeded,
			work.StateDiscarded, work.StateExpired}, bulk: &work.ActionDelete,
		one: func(ctx context.Context, i *work.Inspector, id string) error { return i.Delete(ctx, id) }},
}

// actionsFor are those for jobs of a state, or for any where it is not known.
func actionsFor(state work.State) []jobAction {
	var fitting []jobAction
	for _, a := range jobActions {
		if state == "" || slices.Contains(a.states, state) {
			fitting = append(fitting, a)
		}
	}
	return fitting
}

// Bulk tells whether it can be done to all that match.
func (a jobAction) Bulk() bool { return a.bulk != nil }

// Button is that for one job. After it comes the job's own page.
func (a jobAction) Button(id string) button {
	path, query, _ := strings.Cut(a.Path, "?")
	b := button{Label: a.Label, URL: link(path, "id", id)}
	if query != "" {
		b.URL += "&" + query
	}
	if a.Grave {
		b.Sure = "This cannot be taken back."
	}
	return b
}

func actionNamed(name string) (jobAction, error) {
	for _, a := range jobActions {
		if a.Name == name {
			return a, nil
		}
	}
	return jobAction{}, badRequest(fmt.Sprintf("there is no action %q for jobs", shorten(name, 60)))
}

func cancelOne(ctx context.Context, i *work.Inspector, id string) error {
	results, err := i.Cancel(ctx, id)
	if err != nil {
		return err
	}
	return results[0].Err()
}

// maxTicked is how many jobs a page may have.
const maxTicked = 500

// actOnTicked does one thing to the jobs that are ticked on a page, one after the other. It tells how many it was done
// to and why not to the first of the others.
func actOnTicked(v *visit) error {
	if err := v.r.ParseForm(); err != nil {
		return err
	}
	ids := v.r.PostForm["id"]
	action, err := actionNamed(v.r.PostFormValue("action"))
	switch {
	case err != nil:
		return err
	case len(ids) == 0:
		return badRequest("no job is ticked: tick those that are meant")
	case len(ids) > maxTicked:
		return badRequest(fmt.Sprintf("%d jobs are too many at once: tick at most %d", len(ids), maxTicked))
	}
	var refused []error
	for n, id := range ids {
		if err := action.one(v.ctx(), v.inspector, id); err != nil {
			if !isRefusal(err) {
				err = fmt.Errorf("%d of %d jobs were %s, then: %w", n-len(refused), len(ids), action.Past, err)
				v.audit(OutcomeFailed, err.Error(), ids...)
				return err
			}
			refused = append(refused, err)
		}
	}
	outcome, text := OutcomeDone, fmt.Sprintf("%s of %s jobs were %s.", count(len(ids)-len(refused)), count(len(ids)),
		action.Past)
	if len(refused) > 0 {
		outcome, text = OutcomePartly, text+" "+refused[0].Error()
	}
	v.audit(outcome, text, ids...)
	v.redirect(v.back("jobs"), notice{Text: text, Wrong: len(refused) > 0})
	return nil
}

// isRefusal tells that nothing was done because of where the job stands, from that nothing more can be done.
func isRefusal(err error) bool {
	var state *work.StateError
	var far *work.FarError
	var late *work.CancelError
	var invalid *work.InvalidError
	var twin *work.DuplicateError
	return errors.As(err, &state) || errors.As(err, &far) || errors.As(err, &late) || errors.As(err, &invalid) ||
		errors.As(err, &twin) ||
		errors.Is(err, work.ErrNotFound)
}
