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

// ForAll tells whether it can be done to all jobs that fit the filter.
func (a Action) ForAll(f *Filter) bool { return a.OnAll != nil && len(a.statesOf(f)) > 0 }

// large are the states of which all jobs that match can be acted on.
var large = []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled, work.StateDead}

// statesOf are those of which it acts on jobs: that of the filter, or all that it is for.
func (a Action) statesOf(f *Filter) []work.State {
	return slices.DeleteFunc(slices.Clone(large), func(state work.State) bool {
		return f.State != "" && f.State != state || !slices.Contains(a.states, state)
	})
}

// Check refuses what cannot be before an answer begins, by a dry run over one job.
func (a Action) Check(ctx context.Context, i *inspect.Inspector, f *Filter) error {
	switch {
	case a.OnAll == nil:
		return visit.BadRequest(fmt.Sprintf("%q is not for all jobs that match: tick those that are meant, or name "+
			"them to jobs-act",
			a.Label))
	case f.State == "" && f.Large():
		return visit.BadRequest("choose a state, or say what to look for: this would be about all jobs there are")
	}
	of := f.Selection
	if f.State == "" && len(a.statesOf(f)) > 0 {
		of.State = a.statesOf(f)[0]
	}
	_, err := i.Bulk(ctx, of, *a.OnAll, inspect.BulkOptions{DryRun: true, Limit: 1})
	return err
}

// Do does it to all jobs that fit the filter, of one state after the other where that has none. The report is about all
// of them.
func (a Action) Do(ctx context.Context, i *inspect.Inspector, f *Filter, opts inspect.BulkOptions) (
	sum inspect.BulkReport, err error) {
	for _, state := range a.statesOf(f) {
		of, one := f.Selection, opts
		of.State = state
		if opts.Limit > 0 {
			if one.Limit = opts.Limit - sum.Matched; one.Limit <= 0 {
				break
			}
		}
		if opts.Progress != nil {
			one.Progress = func(done, total int) { opts.Progress(sum.Looked+done, sum.Total+total) }
		}
		report, failed := i.Bulk(ctx, of, *a.OnAll, one)
		add(&sum, &report)
		if failed != nil {
			return sum, failed
		}
	}
	sum.Complete = true
	return sum, nil
}

func add(sum, one *inspect.BulkReport) {
	sum.Total, sum.Looked, sum.Matched = sum.Total+one.Total, sum.Looked+one.Looked, sum.Matched+one.Matched
	sum.Done, sum.Changed, sum.Far = sum.Done+one.Done, sum.Changed+one.Changed, sum.Far+one.Far
	sum.Refused = append(sum.Refused, one.Refused[:min(len(one.Refused), maxRefused-len(sum.Refused))]...)
}

// maxRefused is how many jobs a report names to which something was not done.
const maxRefused = 100

// Button is that for one job. After it comes the job's own page.
func (a Action) Button(id string) Button {
	path, query, _ := strings.Cut(a.Path, "?")
	b := Button{Label: a.Label, URL: format.Link(path, "id", id)}
	if query != "" {
		b.URL += "&" + query
	}
	if a.Grave {
		b.Sure, b.Grave = "This cannot be taken back.", true
	}
	return b
}

// ButtonForAll is that for all jobs that fit the filter: it counts them first. Sure is there where it is grave.
func (a Action) ButtonForAll(f *Filter) Button {
	b := Button{Label: a.Label, URL: f.BulkLink(a.Name)}
	if a.Grave {
		b.Sure, b.Grave = "This cannot be taken back.", true
	}
	return b
}

// Did says what was done to so many of so many jobs.
func (a Action) Did(done, of int) string {
	past := a.Past
	if of == 1 {
		past = strings.Replace(past, "their queues", "its queue", 1)
	}
	return fmt.Sprintf("%s of %s %s %s", format.Count(done), format.Counted(of, "job", "jobs"),
		format.Word(done, "was", "were"), past)
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
	Grave      bool   // what it does cannot be taken back
}
