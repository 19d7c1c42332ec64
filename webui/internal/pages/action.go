package pages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// once is an action on one target: what is said of it when it was done.
type once struct {
	target string
	done   string
	back   string // the page after it, unless the form names another
}

// finish answers for an action on one target. What was refused because things have moved on is no failure of the page:
// the page that it came from says so, as things are now.
func (s *Site) finish(v *visit.Visit, o once, err error) error {
	if err == nil {
		v.Audit(visit.Done, o.done, o.target)
		s.redirect(v, s.back(v, o.back), notice{Text: o.done})
		return nil
	}
	v.Audit(visit.Failed, err.Error(), o.target)
	if visit.IsRefusal(err) && visit.StatusOf(err) == http.StatusConflict {
		s.redirect(v, s.back(v, o.back), notice{Text: err.Error(), Wrong: true})
		return nil
	}
	return err
}

// onJob does something to the job that the form is about.
func (s *Site) onJob(v *visit.Visit, past string, do func(id string) error) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	return s.finish(v, once{target: id, done: fmt.Sprintf("Job %q was %s.", format.Shorten(id, 60), past),
		back: format.Link("job", "id", id)}, do(id))
}

func (s *Site) retryJob(v *visit.Visit) error {
	return s.onJob(v, "put back into its queue", func(id string) error {
		if v.Query.Get("fresh") != "" {
			return v.Inspector.RetryNow(v.Ctx(), id, inspect.FreshAttempts())
		}
		return v.Inspector.RetryNow(v.Ctx(), id)
	})
}

func (s *Site) runJob(v *visit.Visit) error {
	return s.onJob(v, "put into its queue", func(id string) error { return v.Inspector.RunNow(v.Ctx(), id) })
}

// againJob leads to the new job.
func (s *Site) againJob(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	receipt, err := v.Inspector.EnqueueAgain(v.Ctx(), id)
	o := once{target: id, back: format.Link("job", "id", id)}
	if err == nil {
		o.back = format.Link("job", "id", receipt.ID)
		o.done = fmt.Sprintf("Job %q was enqueued again as %q.", format.Shorten(id, 60), receipt.ID)
		if receipt.Duplicate {
			o.done = fmt.Sprintf("Job %q had been enqueued again before, as %q.", format.Shorten(id, 60), receipt.ID)
		}
	}
	return s.finish(v, o, err)
}

func (s *Site) frontJob(v *visit.Visit) error {
	return s.onJob(v, "moved to the front of its queue",
		func(id string) error { return v.Inspector.MoveToFront(v.Ctx(), id) })
}

func (s *Site) stallJob(v *visit.Visit) error {
	return s.onJob(v, "put aside", func(id string) error { return v.Inspector.Stall(v.Ctx(), id) })
}

func (s *Site) resumeJob(v *visit.Visit) error {
	return s.onJob(v, "given back to its queue", func(id string) error { return v.Inspector.Resume(v.Ctx(), id) })
}

// deleteJob leads to the list: the job has no page any more.
func (s *Site) deleteJob(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	o := once{target: id, done: fmt.Sprintf("Job %q was deleted.", format.Shorten(id, 60)), back: "jobs"}
	if err = v.Inspector.Delete(v.Ctx(), id); err != nil {
		o.back = format.Link("job", "id", id)
	}
	return s.finish(v, o, err)
}

func (s *Site) cancelJob(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	said, err := cancel(v, id)
	return s.finish(v, once{target: id, done: said, back: format.Link("job", "id", id)}, err)
}

// cancel cancels a job and says what came of it.
func cancel(v *visit.Visit, id string) (string, error) {
	results, err := v.Inspector.Cancel(v.Ctx(), id)
	if err != nil {
		return "", err
	}
	if err := results[0].Err(); err != nil {
		return "", err
	}
	if results[0].Effect == work.CancelFlagged {
		return fmt.Sprintf("Job %q runs: its worker is told to cancel it.", format.Shorten(id, 60)), nil
	}
	return fmt.Sprintf("Job %q was cancelled.", format.Shorten(id, 60)), nil
}

func (s *Site) rescheduleJob(v *visit.Visit) error {
	return s.onJob(v, "put to another time", func(id string) error {
		at, err := visit.TimeIn(v.R.PostFormValue("at"))
		if err != nil {
			return err
		}
		return v.Inspector.Reschedule(v.Ctx(), id, at)
	})
}

func (s *Site) changeArgs(v *visit.Visit) error {
	return s.onJob(v, "given other args", func(id string) error {
		values, err := jobs.ArgsIn(cmp.Or(strings.TrimSpace(v.R.PostFormValue("args")), "none"))
		if err != nil {
			return err
		}
		return v.Inspector.ChangeArgs(v.Ctx(), id, values...)
	})
}

func (s *Site) sendMessage(v *visit.Visit) error {
	name, value := v.R.PostFormValue("name"), strings.TrimSpace(v.R.PostFormValue("value"))
	return s.onJob(v, fmt.Sprintf("sent message %q", format.Shorten(name, 60)), func(id string) error {
		switch {
		case name == "":
			return visit.BadRequest("the message has no name: give it the one for which the job asks")
		case !json.Valid([]byte(value)):
			return visit.BadRequest(`a message is JSON, such as {"by": "ann"}, "yes" with its quotes, 12 or null`)
		}
		return v.Inspector.Send(v.Ctx(), id, name, json.RawMessage(value))
	})
}
