package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
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
		at, err := timeOf(v, "at")
		if err != nil {
			return err
		}
		return v.Inspector.Reschedule(v.Ctx(), id, at)
	})
}

// timeOf reads a time that was typed, in UTC, as a browser's field for date and time writes it.
func timeOf(v *visit.Visit, field string) (time.Time, error) {
	text := strings.TrimSpace(v.R.PostFormValue(field))
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
		time.RFC3339Nano} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, visit.BadRequest(fmt.Sprintf("%q is not a time: write it in UTC as 2006-01-02T15:04",
		format.Shorten(text, 60)))
}

func (s *Site) changeArgs(v *visit.Visit) error {
	return s.onJob(v, "given other args", func(id string) error {
		text := v.R.PostFormValue("args")
		var args []json.RawMessage
		if err := json.Unmarshal([]byte(text), &args); err != nil || args == nil {
			return visit.BadRequest("args are a JSON array with one value for each parameter, such as [12, \"ann\"]")
		}
		values := make([]any, len(args))
		for i, arg := range args {
			values[i] = arg
		}
		return v.Inspector.ChangeArgs(v.Ctx(), id, values...)
	})
}
