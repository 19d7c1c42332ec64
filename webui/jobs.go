package webui

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work"
)

// jobRow is a job in a list.
type jobRow struct {
	*work.JobInfo
	Shown string // its args, as they may be seen
	When  string // what At is: "due", "since", ...
	At    time.Time
	Last  string // its last error, or why it died
}

// jobTable is jobs as of a time, of one state if it says which.
type jobTable struct {
	Rows  []jobRow
	Now   time.Time
	State work.State
	Tick  bool // they can be ticked
}

// When is what the times of the rows are.
func (t jobTable) When() string {
	if len(t.Rows) == 0 || t.State == "" {
		return "When"
	}
	word := t.Rows[0].When
	return strings.ToUpper(word[:1]) + word[1:]
}

const rowArgs = 120 // bytes of args in a row

func (v *visit) jobRows(jobs []*work.JobInfo) []jobRow {
	rows := make([]jobRow, 0, len(jobs))
	for _, job := range jobs {
		if job == nil {
			continue
		}
		row := jobRow{JobInfo: job, Last: job.Reason}
		row.Shown = shorten(strings.ToValidUTF8(string(v.options.redact(job.Name, job.Args)), "\uFFFD"), rowArgs)
		row.When, row.At = momentOf(job)
		if n := len(job.Errors); n > 0 {
			row.Last = job.Errors[n-1].Error
		}
		rows = append(rows, row)
	}
	return rows
}

// momentOf is the time by which one looks for a job in its state, and what it is.
func momentOf(job *work.JobInfo) (string, time.Time) {
	switch job.State {
	case work.StateQueued, work.StateLost:
		return "enqueued", job.EnqueuedAt
	case work.StateScheduled, work.StateRetrying:
		return "due", job.RunAt
	case work.StateRunning:
		return "taken", job.BegunAt
	case work.StateStalled:
		return "stalled", job.Since
	case work.StateDead:
		return "died", job.Since
	}
	return "ended", job.EndedAt
}

// jobsPage is one page of a list of jobs.
type jobsPage struct {
	States   []stateTab
	Filter   filter
	Rows     []jobRow
	First    string // the page's beginning, "" where this is it
	Next     string
	Searched bool
	Looked   int
	Through  int
	Total    int
	Actions  []jobAction // for those that are ticked, and for all that match
	NoArgs   bool        // one cannot search by them
}

// Table is what the template of jobs takes.
func (p *jobsPage) Table(now time.Time, canAct bool) jobTable {
	return jobTable{Rows: p.Rows, Now: now, State: p.Filter.State, Tick: canAct}
}

type stateTab struct {
	State work.State
	Name  string
	Count int
	Link  string
	Here  bool
}

// shownStates are the states that have lists, in the order of a job's life.
var shownStates = []work.State{work.StateQueued, work.StateRunning, work.StateScheduled, work.StateRetrying,
	work.StateStalled, work.StateDead}

const pageSize = 50

func showJobs(v *visit) error {
	f, err := v.filter()
	if err != nil {
		return err
	}
	counts, err := v.inspector.Counts(v.ctx())
	if err != nil {
		return err
	}
	p := &jobsPage{States: tabs(counts, f), Filter: f, NoArgs: v.options.Redact != nil}
	if f.pages() {
		err = v.readPage(p)
	} else {
		err = v.searchPage(p)
	}
	if err != nil {
		return err
	}
	if v.canAct() {
		p.Actions = actionsFor(f.State)
	}
	if p.Next != "" {
		p.Next = f.link("cursor", p.Next)
	}
	if v.query.Get("cursor") != "" {
		p.First = f.link()
	}
	return v.show("jobs", page{Title: f.title(), Nav: "/jobs", Body: p, Now: counts.AsOf})
}

func tabs(counts work.Counts, f filter) []stateTab {
	numbers := map[work.State]int{
		work.StateQueued: counts.Queued, work.StateRunning: counts.Running, work.StateScheduled: counts.Scheduled,
		work.StateRetrying: counts.Retrying, work.StateStalled: counts.Stalled, work.StateDead: counts.Dead,
	}
	shown := make([]stateTab, 0, len(shownStates))
	for _, state := range shownStates {
		there := f
		there.State = state
		shown = append(shown, stateTab{state, string(state), numbers[state], there.link(), state == f.State})
	}
	return shown
}

// readPage reads a page of all jobs of a state.
func (v *visit) readPage(p *jobsPage) error {
	read, err := v.inspector.Page(v.ctx(), work.PageOptions{
		State: p.Filter.State, Name: p.Filter.Name, Newest: p.Filter.Newest, Cursor: v.query.Get("cursor"),
		Limit: pageSize,
	})
	if err != nil {
		return err
	}
	p.Rows, p.Next, p.Total = v.jobRows(read.Jobs), read.Next, read.Total
	return nil
}

// searchPage looks for those that match.
func (v *visit) searchPage(p *jobsPage) error {
	found, err := v.inspector.Search(v.ctx(), p.Filter.Selection,
		work.SearchOptions{Cursor: v.query.Get("cursor"), Limit: pageSize, Newest: p.Filter.Newest})
	if err != nil {
		return err
	}
	p.Rows, p.Next = v.jobRows(found.Jobs), found.Next
	p.Searched, p.Looked, p.Through, p.Total = true, found.Looked, found.Through, found.Total
	return nil
}

// filter is what somebody looks for, as the URL says it.
type filter struct {
	work.Selection
	Newest bool
	Older  string // OlderThan as it was typed
	About  string // Source as it was typed
	Pair   string // Meta as it was typed, key=value
}

// filter reads the query. Without a state and anything to look for it is about what waits.
func (v *visit) filter() (filter, error) {
	get := func(key string) string { return strings.TrimSpace(v.query.Get(key)) }
	f := filter{Newest: v.query.Get("newest") != "", Older: get("older"), About: get("source"), Pair: get("meta"),
		Selection: work.Selection{
			State: work.State(get("state")), Name: v.query.Get("name"), ID: v.query.Get("id"), Tag: v.query.Get("tag"),
			ErrorText: v.query.Get("error"), ArgsText: v.query.Get("args"), ErrorGroup: v.query.Get("group"),
		}}
	if f.ArgsText != "" && v.options.Redact != nil {
		return f, &statusError{403, "args are not shown as they are, so one cannot search by them"}
	}
	if f.State != "" && !slices.Contains(shownStates, f.State) {
		return f, badRequest(fmt.Sprintf(
			"there is no list of jobs that are %q: use one of queued, running, scheduled, retrying, stalled and dead",
			shorten(string(f.State), 60)))
	}
	var err error
	if f.About != "" {
		if f.Source, err = strconv.ParseInt(f.About, 10, 64); err != nil {
			return f, badRequest(fmt.Sprintf("the source %q is not a number", shorten(f.About, 60)))
		}
	}
	if f.Older != "" {
		if f.OlderThan, err = time.ParseDuration(f.Older); err != nil || f.OlderThan < 0 {
			return f, badRequest(fmt.Sprintf("%q is no duration: write 30s, 15m or 24h", shorten(f.Older, 60)))
		}
	}
	if f.Pair != "" {
		key, value, found := strings.Cut(f.Pair, "=")
		if !found {
			return f, badRequest("metadata is looked for as key=value")
		}
		f.Meta = map[string]string{key: value}
	}
	if f.State == "" && f.plain() && f.Name == "" {
		f.State = work.StateQueued
	}
	return f, nil
}

// plain tells whether nothing is looked for but a state and a name.
func (f *filter) plain() bool {
	return f.ID == "" && f.Tag == "" && f.ErrorText == "" && f.ArgsText == "" && f.ErrorGroup == "" && f.Source == 0 &&
		f.OlderThan == 0 && len(f.Meta) == 0
}

// pages tells whether the list can be read page by page, without looking at what does not match.
func (f *filter) pages() bool {
	switch {
	case !f.plain() || f.State == "":
		return false
	case f.State == work.StateQueued:
		return f.Name != ""
	case f.State == work.StateRunning:
		return true
	}
	return f.Name == ""
}

// Query is the filter as the query of a URL has it.
func (f *filter) Query() url.Values {
	query := url.Values{}
	for key, value := range map[string]string{
		"state": string(f.State), "name": f.Name, "id": f.ID, "tag": f.Tag, "error": f.ErrorText, "args": f.ArgsText,
		"group": f.ErrorGroup, "source": f.About, "older": f.Older, "meta": f.Pair,
	} {
		if value != "" {
			query.Set(key, value)
		}
	}
	if f.Newest {
		query.Set("newest", "1")
	}
	return query
}

// link is the list with this filter, and another pair if there is one.
func (f *filter) link(pair ...string) string {
	query := f.Query()
	if len(pair) == 2 {
		query.Set(pair[0], pair[1])
	}
	return "jobs?" + query.Encode()
}

// Link is the list with this filter.
func (f filter) Link() string { return f.link() }

// Reversed is the list the other way round.
func (f filter) Reversed() string {
	f.Newest = !f.Newest
	return f.link()
}

func (f *filter) title() string {
	if f.State == "" {
		return "Search"
	}
	return "Jobs " + string(f.State)
}

// Words says what is selected, for people and for the audit.
func (f *filter) Words() string {
	query := f.Query()
	query.Del("newest")
	var words []string
	for _, key := range []string{"state", "name", "id", "tag", "error", "args", "group", "source", "older", "meta"} {
		if value := query.Get(key); value != "" {
			words = append(words, key+" "+shorten(value, 100))
		}
	}
	return strings.Join(words, ", ")
}
