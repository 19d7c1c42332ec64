package webui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/265d0351/work"
)

// maxPage is how many jobs one answer may have.
const maxPage = 500

// jobList is a page of jobs. Of a search, Looked and Through say how far it got.
type jobList struct {
	Jobs    []json.RawMessage `json:"jobs"`
	Next    string            `json:"next,omitempty"` // ?cursor= of the next page; left out at the end
	Total   int               `json:"total"`          // jobs of that state; of a search, records to look at
	Looked  *int              `json:"looked,omitempty"`
	Through *int              `json:"through,omitempty"`
}

// filterKeys are those of the query of a filter.
var filterKeys = []string{"state", "name", "id", "tag", "error", "args", "group", "source", "older", "meta", "newest"}

// onlyKeys refuses a query in which something would be dropped without a word: what is left of it selects more than was
// meant.
func (v *visit) onlyKeys(more ...string) error {
	if _, err := url.ParseQuery(v.r.URL.RawQuery); err != nil {
		return badRequest("the query cannot be read: " + err.Error())
	}
	for key, values := range v.query {
		switch {
		case !slices.Contains(filterKeys, key) && !slices.Contains(more, key):
			return badRequest(fmt.Sprintf("?%s= is not known here", shorten(key, 60)))
		case len(values) > 1:
			return badRequest(fmt.Sprintf("?%s= is there %d times: give it once", key, len(values)))
		case values[0] == "":
			return badRequest(fmt.Sprintf("?%s= is empty: leave it out, or say what", key))
		}
	}
	return nil
}

// apiJobs takes the query that the page of jobs takes, and limit.
func apiJobs(v *visit) error {
	if err := v.onlyKeys("cursor", "limit"); err != nil {
		return err
	}
	f, err := v.filter()
	if err != nil {
		return err
	}
	limit, err := v.number("limit", pageSize, maxPage)
	if err != nil {
		return err
	}
	if !f.pages() {
		return v.answerSearch(f, limit)
	}
	read, err := v.inspector.Page(v.ctx(), work.PageOptions{
		State: f.State, Name: f.Name, Newest: f.Newest, Cursor: v.query.Get("cursor"), Limit: limit,
	})
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, jobList{Jobs: v.shownJobs(read.Jobs), Next: read.Next, Total: read.Total})
}

func (v *visit) answerSearch(f filter, limit int) error {
	found, err := v.inspector.Search(v.ctx(), f.Selection,
		work.SearchOptions{Cursor: v.query.Get("cursor"), Limit: limit, Newest: f.Newest})
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, jobList{
		Jobs: v.shownJobs(found.Jobs), Next: found.Next, Total: found.Total, Looked: &found.Looked,
		Through: &found.Through,
	})
}

func (v *visit) shownJobs(jobs []*work.JobInfo) []json.RawMessage {
	shown := make([]json.RawMessage, 0, len(jobs))
	for _, job := range jobs {
		if job != nil {
			shown = append(shown, v.shownJob(job))
		}
	}
	return shown
}

// shownJob is a job with its args as they may be seen. What other programs wrote into Redis and is no JSON must not
// hide the rest of a page: of such a job there is little more than its id.
func (v *visit) shownJob(job *work.JobInfo) json.RawMessage {
	shown := *job
	shown.Args = v.options.redact(job.Name, job.Args)
	text, err := asJSON(shown)
	if err == nil {
		return text
	}
	text, err = asJSON(work.JobInfo{ID: job.ID, Name: job.Name, State: job.State, AsOf: job.AsOf, Problem: err.Error()})
	if err != nil { // these can be written
		return nil
	}
	return text
}

func apiJob(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	job, err := v.inspector.Job(v.ctx(), id)
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, v.shownJob(job))
}

// apiArgs sends the args of a job with those that are kept as objects, however long they are.
func apiArgs(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	args, err := v.wholeArgs(id)
	if err != nil {
		return err
	}
	return v.answer(http.StatusOK, struct {
		Args json.RawMessage `json:"args"`
	}{soundJSON(args)})
}

// soundJSON is raw, or a string of it where it is no JSON; null where there is nothing.
func soundJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	if json.Valid(raw) {
		return raw
	}
	text, err := json.Marshal(string(raw))
	if err != nil { // a string can be written
		return json.RawMessage("null")
	}
	return text
}

// maxLines is how many lines a log holds.
const maxLines = 1000

// apiLog sends the newest lines of the log of a job, oldest first.
func apiLog(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	most, err := v.number("lines", logLines, maxLines)
	if err != nil {
		return err
	}
	lines, err := v.inspector.Log(v.ctx(), id, most)
	if err != nil {
		return err
	}
	shown := make([]logLine, len(lines))
	for i, l := range lines {
		shown[i] = newLogLine(l)
	}
	return v.answer(http.StatusOK, struct {
		Lines []logLine `json:"lines"`
	}{shown})
}
