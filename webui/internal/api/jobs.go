package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
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
var filterKeys = []string{"state", "name", "id", "tag", "key", "error", "args", "group", "failure", "source", "older",
	"meta", "newest", "text", "since", "until"}

// onlyKeys refuses keys that would be dropped without a word: what is left of the query selects more than was meant.
func onlyKeys(v *visit.Visit, more ...string) error {
	for key, values := range v.Query {
		switch {
		case !slices.Contains(filterKeys, key) && !slices.Contains(more, key):
			return visit.BadRequest(fmt.Sprintf("?%s= is not known here", format.Shorten(key, 60)))
		case len(values) > 1:
			return visit.BadRequest(fmt.Sprintf("?%s= is there %d times: give it once", key, len(values)))
		}
	}
	return nil
}

// readJobs takes the query that the page of jobs takes, and limit.
func readJobs(v *visit.Visit) error {
	if err := onlyKeys(v, "cursor", "limit", "ended"); err != nil {
		return err
	}
	f, err := jobs.FilterOf(v)
	if err != nil {
		return err
	}
	limit, err := v.Number("limit", jobs.PageSize, maxPage)
	if err != nil {
		return err
	}
	if !f.Pages() {
		return answerSearch(v, f, limit)
	}
	read, err := v.Inspector.Page(v.Ctx(), inspect.PageOptions{
		State: f.State, Name: f.Name, Newest: f.Newest, Cursor: v.Query.Get("cursor"), Limit: limit,
	})
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, jobList{Jobs: shownJobs(v, read.Jobs), Next: read.Next, Total: read.Total})
}

func answerSearch(v *visit.Visit, f jobs.Filter, limit int) error {
	found, err := v.Inspector.Search(v.Ctx(), f.Selection,
		inspect.SearchOptions{Cursor: v.Query.Get("cursor"), Limit: limit, Newest: f.Newest,
			Ended: f.Ended})
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, jobList{
		Jobs: shownJobs(v, found.Jobs), Next: found.Next, Total: found.Total, Looked: &found.Looked,
		Through: &found.Through,
	})
}

func shownJobs(v *visit.Visit, jobs []*inspect.JobInfo) []json.RawMessage {
	shown := make([]json.RawMessage, 0, len(jobs))
	for _, job := range jobs {
		if job != nil {
			shown = append(shown, shownJob(v, job))
		}
	}
	return shown
}

// shownJob is a job with its args as they may be seen. What other programs wrote into Redis and is no JSON must not
// hide the rest of a page: of such a job there is little more than its id.
func shownJob(v *visit.Visit, job *inspect.JobInfo) json.RawMessage {
	shown := *v.Open(job)
	shown.Args = v.Redact(job.Name, job.Args)
	text, err := asJSON(shown)
	if err == nil {
		return text
	}
	text, err = asJSON(inspect.JobInfo{ID: job.ID, Name: job.Name, State: job.State, AsOf: job.AsOf,
		Problem: err.Error()})
	if err != nil { // these can be written
		return nil
	}
	return text
}

func readJob(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	job, err := v.Inspector.Job(v.Ctx(), id)
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, shownJob(v, job))
}

// readArgs sends the args of a job with those that are kept as objects, however long they are.
func readArgs(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	args, err := v.FullArgs(id)
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, struct {
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

// readLog sends the newest lines of the log of a job, oldest first.
func readLog(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	most, err := v.Number("lines", jobs.LogLines, maxLines)
	if err != nil {
		return err
	}
	lines, err := v.Inspector.Log(v.Ctx(), id, most)
	if err != nil {
		return err
	}
	shown := make([]LogLine, len(lines))
	for i, l := range lines {
		shown[i] = newLogLine(l)
	}
	return answer(v, http.StatusOK, struct {
		Lines []LogLine `json:"lines"`
	}{shown})
}
