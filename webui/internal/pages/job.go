package pages

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// jobPage is one job. Without a job there is only its id: it has ended, and nothing of it is kept.
type jobPage struct {
	ID       string
	Job      *inspect.JobInfo
	Args     json.RawMessage // as they may be seen
	Redacted bool
	Timeline []event
	Errors   []inspect.JobError // newest first
	Log      []inspect.LogLine  // newest first
	Meta     []pair
	Actions  []jobs.Action
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

func (s *Site) showJob(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	title := "Job " + format.Shorten(id, 60)
	job, err := v.Inspector.Job(v.Ctx(), id)
	if errors.Is(err, work.ErrNotFound) {
		s.render(v, 404, "job", page{Title: title, Nav: "/jobs", Body: &jobPage{ID: id}})
		return nil
	}
	if err != nil {
		return err
	}
	p := &jobPage{ID: id, Job: job, Args: v.Redact(job.Name, job.Args), Redacted: v.Redacts(),
		Timeline: timeline(job)}
	if job.HasLog {
		if p.Log, err = v.Inspector.Log(v.Ctx(), id, jobs.LogLines); err != nil && !errors.Is(err, work.ErrNotFound) {
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
	if v.MayAct {
		p.Actions = jobs.ActionsFor(job.State)
	}
	return s.show(v, "job", page{Title: title, Nav: "/jobs", Body: p, Now: job.AsOf})
}

// timeline is what is known to have happened to a job, and what will, oldest first.
func timeline(job *inspect.JobInfo) []event {
	var events []event
	add := func(at time.Time, what, detail, class string) {
		if !at.IsZero() {
			events = append(events, event{at, what, detail, class})
		}
	}
	add(job.EnqueuedAt, "enqueued", "", "")
	for _, failure := range job.Errors {
		add(failure.At, fmt.Sprintf("attempt %d failed", failure.Attempt), format.Shorten(failure.Error, 200), "warn")
	}
	for _, worker := range job.Crashes {
		events = append(events, event{What: "a worker died with it", Detail: worker, Class: "bad"})
	}
	switch job.State {
	case work.StateRunning:
		add(job.BegunAt, "taken by a worker", job.Worker, "")
		if job.Checkin != nil {
			add(job.Checkin.At, "last check-in", format.Shorten(job.Checkin.Message, 200), "")
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
		add(job.Since, "died", format.Shorten(job.Reason, 200), "bad")
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

// showArgs sends the args as text, however long they are.
func (s *Site) showArgs(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	args, err := v.FullArgs(id)
	if err != nil {
		return err
	}
	v.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.W.Write(args) //lint:ignore errcheck who asked has gone
	return nil
}
