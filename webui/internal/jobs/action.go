package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// Action is what can be done to jobs of some states.
type Action struct {
	Name   string // in forms
	Path   string // of the route for one job
	Label  string
	Past   string // what was done to them
	Grave  bool   // it cannot be taken back
	states []work.State

	One   func(ctx context.Context, i *inspect.Inspector, id string) error
	OnAll *inspect.Action // nil where it is not for all that match
}

var retryNow, retryFresh = inspect.ActionRetryNow(), inspect.ActionRetryNow(inspect.FreshAttempts())

// actions are all of them, in the order of their buttons.
var actions = []Action{
	{Name: "retry", Path: "job-retry", Label: "Retry now", Past: "put back into their queues",
		states: []work.State{work.StateRetrying, work.StateDead}, OnAll: &retryNow,
		One: func(ctx context.Context, i *inspect.Inspector, id string) error { return i.RetryNow(ctx, id) }},
	{Name: "fresh", Path: "job-retry?fresh=1", Label: "Retry with fresh attempts",
		Past:   "put back into their queues, with fresh attempts",
		states: []work.State{work.StateRetrying, work.StateDead},
		OnAll:  &retryFresh,
		One: func(ctx context.Context, i *inspect.Inspector, id string) error {
			return i.RetryNow(ctx, id, inspect.FreshAttempts())
		}},
	{Name: "again", Path: "job-again", Label: "Enqueue again", Past: "enqueued again",
		states: []work.State{work.StateSucceeded, work.StateCancelled, work.StateDiscarded, work.StateExpired,
			work.StateDeleted},
		One: func(ctx context.Context, i *inspect.Inspector, id string) error {
			_, err := i.EnqueueAgain(ctx, id)
			return err
		}},
	{Name: "run", Path: "job-run", Label: "Run now", Past: "put into their queues",
		states: []work.State{work.StateScheduled}, OnAll: &inspect.ActionRunNow,
		One: func(ctx context.Context, i *inspect.Inspector, id string) error { return i.RunNow(ctx, id) }},
	{Name: "front", Path: "job-front", Label: "Move to front", Past: "moved to the front",
		states: []work.State{work.StateQueued}, OnAll: &inspect.ActionMoveToFront,
		One: func(ctx context.Context, i *inspect.Inspector, id string) error { return i.MoveToFront(ctx, id) }},
	{Name: "resume", Path: "job-resume", Label: "Resume", Past: "given back to their queues",
		states: []work.State{work.StateStalled}, OnAll: &inspect.ActionResume,
		One: func(ctx context.Context, i *inspect.Inspector, id string) error { return i.Resume(ctx, id) }},
	{Name: "stall", Path: "job-stall", Label: "Put aside", Past: "put aside",
		states: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying}, OnAll: &inspect.ActionStall,
		One: func(ctx context.Context, i *inspect.Inspector, id string) error { return i.Stall(ctx, id) }},
	{Name: "cancel", Path: "job-cancel", Label: "Cancel", Past: "cancelled", Grave: true,
		states: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled,
			work.StateRunning},
		One: cancelOne},
	{Name: "delete", Path: "job-delete", Label: "Delete", Past: "deleted", Grave: true,
		states: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled,
			work.StateDead, work.StateSucceeded,
			work.StateDiscarded, work.StateExpired}, OnAll: &inspect.ActionDelete,
		One: func(ctx context.Context, i *inspect.Inspector, id string) error { return i.Delete(ctx, id) }},
}

// ActionsFor are those for jobs of a state, or for any where it is not known.
func ActionsFor(state work.State) []Action {
	var fitting []Action
	for _, a := range actions {
		if state == "" || slices.Contains(a.states, state) {
			fitting = append(fitting, a)
		}
	}
	return fitting
}

// Bulk tells whether it can be done to all that match.
func (a Action) Bulk() bool { return a.OnAll != nil }

// Button is that for one job. After it comes the job's own page.
func (a Action) Button(id string) Button {
	path, query, _ := strings.Cut(a.Path, "?")
	b := Button{Label: a.Label, URL: format.Link(path, "id", id)}
	if query != "" {
		b.URL += "&" + query
	}
	if a.Grave {
		b.Sure = "This cannot be taken back."
	}
	return b
}

// ActionNamed finds an action by the name that forms and the API use.
func ActionNamed(name string) (Action, error) {
	for _, a := range actions {
		if a.Name == name {
			return a, nil
		}
	}
	return Action{}, visit.BadRequest(fmt.Sprintf("there is no action %q for jobs", format.Shorten(name, 60)))
}

func cancelOne(ctx context.Context, i *inspect.Inspector, id string) error {
	results, err := i.Cancel(ctx, id)
	if err != nil {
		return err
	}
	return results[0].Err()
}

// MaxTicked is how many jobs one request may name.
const MaxTicked = 500

// Button is a form with nothing but a button.
type Button struct {
	Label, URL string
	Sure       string // what is asked first; "" asks nothing
}
