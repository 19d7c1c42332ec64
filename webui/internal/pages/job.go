package pages

import (
	"encoding/json"
	"errors"
	"net/http"
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
	Member   *memberFact // without a job: it belongs to a flow, which knows it
	Job      *inspect.JobInfo
	Args     json.RawMessage // as they may be seen
	Redacted bool
	Line     timeLine
	Progress *progressBar
	Log      jobLog
	Children children
	Near     *memberFact    // nil where it is no member of a flow
	Steps    *inspect.Steps // nil where it has none
	Meta     []pair
	Actions  []jobs.Action
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

// Awaits are the names of the messages for which it waits.
func (p *jobPage) Awaits() (names []string) {
	if p.Steps != nil {
		for _, wait := range p.Steps.Waits {
			if wait.Message {
				names = append(names, wait.Name)
			}
		}
	}
	return names
}

// Asleep tells whether nothing but a message, or somebody by hand, has it go on: then it is due in a hundred years.
func (p *jobPage) Asleep() bool {
	return p.Steps != nil && len(p.Steps.Waits) > 0 && p.Job.RunAt.Sub(p.Job.AsOf) > asleep
}

// asleep is from when on a time to be due is none: waits for messages without an end have one like that.
const asleep = 50 * 365 * 24 * time.Hour

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
		member, err := memberOf(v, id)
		if err != nil {
			return err
		}
		status := http.StatusNotFound
		if member != nil {
			status = http.StatusOK
		}
		s.render(v, status, "job", page{Title: title, Nav: "/jobs", Body: &jobPage{ID: id, Member: member}})
		return nil
	}
	if err != nil {
		return err
	}
	_, encoded := inspect.Encoded(job.Args)
	job = v.Open(job)
	p := &jobPage{ID: id, Job: job, Args: v.Redact(job.Name, job.Args), Redacted: v.Redacts() || encoded,
		Line: timeLineOf(job)}
	if job.Checkin != nil {
		p.Progress = progressOf(job.Checkin.Progress)
	}
	var log []inspect.LogLine
	if job.HasLog {
		if log, err = v.Inspector.Log(v.Ctx(), id, jobs.LogLines); err != nil && !errors.Is(err, work.ErrNotFound) {
			return err
		}
	}
	p.Log = newJobLog(v, job, log)
	if p.Children, err = childrenOf(v, job); err != nil {
		return err
	}
	if p.Near, err = neighbours(v, job); err != nil {
		return err
	}
	if job.HasState && !job.State.Ended() {
		steps, err := v.Inspector.Steps(v.Ctx(), id)
		if err != nil && !errors.Is(err, work.ErrNotFound) {
			return err
		}
		if len(steps.Done)+len(steps.Waits)+len(steps.Mailbox) > 0 {
			p.Steps = &steps
		}
	}
	for key, value := range job.Meta {
		p.Meta = append(p.Meta, pair{key, value})
	}
	slices.SortFunc(p.Meta, func(a, b pair) int { return strings.Compare(a.Key, b.Key) })
	if v.MayAct {
		p.Actions = jobs.ActionsFor(job.State)
	}
	return s.show(v, "job", page{Title: title, Nav: "/jobs", Body: p, Now: job.AsOf})
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
