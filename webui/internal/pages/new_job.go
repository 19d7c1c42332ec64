package pages

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// showNewJob is the form for a new job. What is sent from it is stored once, however often that is.
func (s *Site) showNewJob(v *visit.Visit) error {
	return s.show(v, "new_job", page{Title: "New job", Nav: "/jobs", Body: struct {
		Can  bool
		Name string
		Once string
	}{v.Enqueuer != nil, v.Query.Get("name"), rand.Text()}})
}

// enqueueJob leads to the page of the job.
func (s *Site) enqueueJob(v *visit.Visit) error {
	if v.Enqueuer == nil {
		return &visit.StatusError{Status: http.StatusNotImplemented,
			Text: "this program takes no jobs: its webui.Options have no Enqueuer"}
	}
	entry, err := entryIn(v)
	if err == nil {
		err = v.KnownName(entry.Name)
	}
	var receipts []work.Receipt
	if err == nil {
		receipts, err = v.Enqueuer.EnqueueMany(v.Ctx(), []work.Entry{entry})
	}
	o := once{target: entry.Name, back: "new-job"}
	if err == nil {
		id := receipts[0].ID
		o = once{target: id, back: format.Link("job", "id", id), done: fmt.Sprintf("Job %q was enqueued.", id)}
		if receipts[0].Duplicate {
			o.done = fmt.Sprintf("Job %q had been enqueued before.", id)
		}
	}
	return s.finish(v, o, err)
}

// onceFor is how long a form that is sent again stores nothing.
const onceFor = time.Hour

// entryIn reads the form.
func entryIn(v *visit.Visit) (entry work.Entry, err error) {
	get := func(field string) string { return strings.TrimSpace(v.R.PostFormValue(field)) }
	entry.Name = v.R.PostFormValue("name")
	if entry.Args, err = jobs.ArgsIn(get("args")); err != nil {
		return entry, err
	}
	if entry.In, err = spanIn(get("in")); err != nil {
		return entry, err
	}
	if at := get("at"); at != "" {
		if entry.At, err = visit.TimeIn(at); err != nil {
			return entry, err
		}
	}
	add := func(field string, option func(text string) (work.EnqueueOption, error)) {
		if text := get(field); text != "" && err == nil {
			var one work.EnqueueOption
			one, err = option(text)
			entry.Options = append(entry.Options, one)
		}
	}
	add("once", func(text string) (work.EnqueueOption, error) { return work.Once(text, onceFor), nil })
	add("id", func(text string) (work.EnqueueOption, error) { return work.ID(text), nil })
	add("key", func(text string) (work.EnqueueOption, error) { return work.Key(text), nil })
	add("tags", func(text string) (work.EnqueueOption, error) { return work.Tags(tagsIn(text)...), nil })
	add("retention", func(text string) (work.EnqueueOption, error) {
		span, err := spanIn(text)
		return work.Retention(span), err
	})
	add("retries", func(text string) (work.EnqueueOption, error) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, visit.BadRequest(fmt.Sprintf("%q is no number of retries", format.Shorten(text, 60)))
		}
		return work.Retries(n), nil
	})
	return entry, err
}

// tagsIn are tags with commas between them.
func tagsIn(text string) (tags []string) {
	for tag := range strings.SplitSeq(text, ",") {
		tags = append(tags, strings.TrimSpace(tag))
	}
	return slices.DeleteFunc(tags, func(tag string) bool { return tag == "" })
}
