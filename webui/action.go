package webui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/265d0351/work"
)

// once is an action on one target: what is said of it when it was done.
type once struct {
	target string
	done   string
	back   string // the page after it, unless the form names another
}

// finish answers for an action on one target. What was refused because things have moved on is no failure of the page:
// the page that it came from says so, as things are now.
func (v *visit) finish(o once, err error) error {
	if err == nil {
		v.audit(OutcomeDone, o.done, o.target)
		v.redirect(v.back(o.back), notice{Text: o.done})
		return nil
	}
	v.audit(OutcomeFailed, err.Error(), o.target)
	if isRefusal(err) && statusOf(err) == http.StatusConflict {
		v.redirect(v.back(o.back), notice{Text: err.Error(), Wrong: true})
		return nil
	}
	return err
}

// target is what the form is about. Ids and names travel in the URL of the form, where each byte of them survives.
func (v *visit) target(key string) (string, error) {
	value := v.query.Get(key)
	if value == "" {
		return "", badRequest(fmt.Sprintf("the address of this page lacks ?%s=, which says what it is about", key))
	}
	return value, nil
}

// onJob does something to the job that the form is about.
func (v *visit) onJob(past string, do func(id string) error) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	return v.finish(once{target: id, done: fmt.Sprintf("Job %q was %s.", shorten(id, 60), past),
		back: link("job", "id", id)}, do(id))
}

func retryJob(v *visit) error {
	return v.onJob("put back into its queue", func(id string) error {
		if v.query.Get("fresh") != "" {
			return v.inspector.RetryNow(v.ctx(), id, work.FreshAttempts())
		}
		return v.inspector.RetryNow(v.ctx(), id)
	})
}

func runJob(v *visit) error {
	return v.onJob("put into its queue", func(id string) error { return v.inspector.RunNow(v.ctx(), id) })
}

func frontJob(v *visit) error {
	return v.onJob("moved to the front of its queue",
		func(id string) error { return v.inspector.MoveToFront(v.ctx(), id) })
}

func stallJob(v *visit) error {
	return v.onJob("put aside", func(id string) error { return v.inspector.Stall(v.ctx(), id) })
}

func resumeJob(v *visit) error {
	return v.onJob("given back to its queue", func(id string) error { return v.inspector.Resume(v.ctx(), id) })
}

// deleteJob leads to the list: the job has no page any more.
func deleteJob(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	o := once{target: id, done: fmt.Sprintf("Job %q was deleted.", shorten(id, 60)), back: "jobs"}
	if err = v.inspector.Delete(v.ctx(), id); err != nil {
		o.back = link("job", "id", id)
	}
	return v.finish(o, err)
}

func cancelJob(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	said, err := v.cancel(id)
	return v.finish(once{target: id, done: said, back: link("job", "id", id)}, err)
}

// cancel cancels a job and says what came of it.
func (v *visit) cancel(id string) (string, error) {
	results, err := v.inspector.Cancel(v.ctx(), id)
	if err != nil {
		return "", err
	}
	if err := results[0].Err(); err != nil {
		return "", err
	}
	if results[0].Effect == work.CancelFlagged {
		return fmt.Sprintf("Job %q runs: its worker is told to cancel it.", shorten(id, 60)), nil
	}
	return fmt.Sprintf("Job %q was cancelled.", shorten(id, 60)), nil
}

func rescheduleJob(v *visit) error {
	return v.onJob("put to another time", func(id string) error {
		at, err := v.time("at")
		if err != nil {
			return err
		}
		return v.inspector.Reschedule(v.ctx(), id, at)
	})
}

// time reads a time that was typed, in UTC, as a browser's field for date and time writes it.
func (v *visit) time(field string) (time.Time, error) {
	text := strings.TrimSpace(v.r.PostFormValue(field))
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
		time.RFC3339Nano} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, badRequest(fmt.Sprintf("%q is not a time: write it in UTC as 2006-01-02T15:04",
		shorten(text, 60)))
}

func changeArgs(v *visit) error {
	return v.onJob("given other args", func(id string) error {
		text := v.r.PostFormValue("args")
		var args []json.RawMessage
		if err := json.Unmarshal([]byte(text), &args); err != nil || args == nil {
			return badRequest("args are a JSON array with one value for each parameter, such as [12, \"ann\"]")
		}
		values := make([]any, len(args))
		for i, arg := range args {
			values[i] = arg
		}
		return v.inspector.ChangeArgs(v.ctx(), id, values...)
	})
}
