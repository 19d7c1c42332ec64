package webui

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
)

// jobPage is one job. Without a job there is only its id: it has ended, and nothing of it is kept.
type jobPage struct {
	ID       string
	Job      *work.JobInfo
	Args     json.RawMessage // as they may be seen
	Redacted bool
	Timeline []event
	Errors   []work.JobError // newest first
	Log      []work.LogLine  // newest first
	Meta     []pair
	Actions  []jobAction
}

// event is something that happened to a job, or will.
type event struct {
	At     time.Time
	What   string
	Detail string
	Class  string // its look: "", "good", "warn", "bad", "next"
}

type pair struct{ Key, Value string }

// Editable tells whether its args can be changed: no worker may hold it.
func (p *jobPage) Editable() bool {
	switch p.Job.State {
	case work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled, work.StateDead:
		return true
	}
	return false
}

// Shown tells whether all of the args stand on the page, so that one can change a part of them.
func (p *jobPage) Shown() bool {
	return !p.Redacted && len(p.Args) <= shownBytes && p.Job.Options.Objects == 0
}

const logLines = 200

func showJob(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	title := "Job " + shorten(id, 60)
	job, err := v.inspector.Job(v.ctx(), id)
	if errors.Is(err, work.ErrNotFound) {
		v.render(404, "job", page{Title: title, Nav: "/jobs", Body: &jobPage{ID: id}})
		return nil
	}
	if err != nil {
		return err
	}
	p := &jobPage{ID: id, Job: job, Args: v.options.redact(job.Name, job.Args), Redacted: v.options.Redact != nil,
		Timeline: timeline(job)}
	if job.HasLog {
		if p.Log, err = v.inspector.Log(v.ctx(), id, logLines); err != nil && !errors.Is(err, work.ErrNotFound) {
			return err
		}
		slices.Reverse(p.Log)
	}
	p.Errors = slices.Clone(job.Errors)
	slices.Reverse(p.Errors)
	for key, value := range job.Meta {
		p.Meta = append(p.Meta, pair{key, value})
	}
	slices.SortFunc(p.Meta, func(a, b pair) int { return strings.Compare(a.Key, b.Key) })
	if v.canAct() {
		p.Actions = actionsFor(job.State)
	}
	return v.show("job", page{Title: title, Nav: "/jobs", Body: p, Now: job.AsOf})
}

// timeline is what is known to have happened to a job, and what will, oldest first.
func timeline(job *work.JobInfo) []event {
	var events []event
	add := func(at time.Time, what, detail, class string) {
		if !at.IsZero() {
			events = append(events, event{at, what, detail, class})
		}
	}
	add(job.EnqueuedAt, "enqueued", "", "")
	for _, failure := range job.Errors {
		add(failure.At, fmt.Sprintf("attempt %d failed", failure.Attempt), shorten(failure.Error, 200), "warn")
	}
	for _, worker := range job.Crashes {
		events = append(events, event{What: "a worker died with it", Detail: worker, Class: "bad"})
	}
	switch job.State {
	case work.StateRunning:
		add(job.BegunAt, "taken by a worker", job.Worker, "")
		if job.Checkin != nil {
			add(job.Checkin.At, "last check-in", shorten(job.Checkin.Message, 200), "")
		}
	case work.StateScheduled:
		add(job.RunAt, "runs", "when it is due", "next")
	case work.StateRetrying:
		add(job.RunAt, fmt.Sprintf("attempt %d", job.Fails+1), "when it is due", "next")
	case work.StateQueued:
		if !job.RunAt.Equal(job.EnqueuedAt) {
			add(job.RunAt, "due", "", "")
		}
	case work.StateStalled:
		add(job.Since, "put aside", "", "warn")
	case work.StateDead:
		add(job.Since, "died", shorten(job.Reason, 200), "bad")
	}
	class := ""
	if job.State == work.StateSucceeded {
		class = "good"
	}
	add(job.EndedAt, string(job.State), "", class)
	slices.SortStableFunc(events, func(a, b event) int {
		if a.At.IsZero() || b.At.IsZero() { // when a worker died is not known: it stays after the failures
			return 0
		}
		return a.At.Compare(b.At)
	})
	return events
}

// wholeArgs are the args of a job as the asker may see them, with those in place that are kept as objects.
func (v *visit) wholeArgs(id string) (json.RawMessage, error) {
	job, err := v.inspector.Job(v.ctx(), id)
	if err != nil {
		return nil, err
	}
	args := job.Args
	if job.Options.Objects > 0 {
		if args, err = v.inspector.WholeArgs(v.ctx(), id); err != nil {
			return nil, err
		}
	}
	return v.options.redact(job.Name, args), nil
}

// showArgs sends the args as text, however long they are.
func showArgs(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	args, err := v.wholeArgs(id)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.Write(args) //lint:ignore errcheck who asked has gone
	return nil
}
