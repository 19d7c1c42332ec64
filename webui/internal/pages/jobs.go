package pages

import (
	"cmp"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// jobRow is a job in a list.
type jobRow struct {
	*inspect.JobInfo
	Shown string // its args, as they may be seen
	When  string // what At is: "due", "since", ...
	At    time.Time
	Last  string // its last error, or why it died
	// of one that has ended: how many attempts it had, and the last one
	Tries int
	Try   inspect.Attempt
}

// Ran is how long the last attempt took, "" where that is not known.
func (r jobRow) Ran() string { return spanBetween(r.Try.Begun, r.Try.Ended) }

// jobTable is jobs as of a time, of one state if it says which.
type jobTable struct {
	Rows  []jobRow
	Now   time.Time
	State work.State
	Tick  bool // they can be ticked
}

// Over tells whether the jobs have ended: then the rows are about their last attempts.
func (t jobTable) Over() bool { return t.State.Ended() }

// When is what the times of the rows are.
func (t jobTable) When() string {
	if len(t.Rows) == 0 || t.State == "" {
		return "When"
	}
	word := t.Rows[0].When
	return strings.ToUpper(word[:1]) + word[1:]
}

const rowArgs = 120 // bytes of args in a row

func jobRows(v *visit.Visit, jobs []*inspect.JobInfo) []jobRow {
	rows := make([]jobRow, 0, len(jobs))
	for _, job := range jobs {
		if job == nil {
			continue
		}
		row := jobRow{JobInfo: job, Last: job.Reason}
		row.Shown = format.Shorten(strings.ToValidUTF8(string(v.Redact(job.Name, job.Args)), "\uFFFD"), rowArgs)
		row.When, row.At = momentOf(job)
		if n := len(job.Errors); n > 0 {
			row.Last = job.Errors[n-1].Error
		}
		if n := len(job.Attempts); n > 0 && job.State.Ended() {
			row.Tries, row.Try = n+job.AttemptsLeftOut, job.Attempts[n-1]
			row.Last = cmp.Or(row.Try.Error, job.Reason)
		}
		rows = append(rows, row)
	}
	return rows
}

// momentOf is the time by which one looks for a job in its state, and what it is.
func momentOf(job *inspect.JobInfo) (string, time.Time) {
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
	Ended    []stateTab // their counts are there where a name is looked for
	Filter   jobs.Filter
	Rows     []jobRow
	First    string // the page's beginning, "" where this is it
	Next     string
	Searched bool
	Looked   int
	Through  int
	Total    int
	Actions  []jobs.Action // for those that are ticked, and for all that match
	NoArgs   bool          // one cannot search by them
	Finding  string        // the stream of a search that is not at its end; "" where nothing goes on
	All      bool          // the buttons are for all that match
	Enqueues bool          // jobs can be added
}

// bulkBar is what can be done to jobs that are ticked, or to all that match.
type bulkBar struct {
	All        bool
	Actions    []any // jobs.Action for those that are ticked, jobs.Button for all
	URL        string
	Words      string // what is selected
	Everything string // where the bar for all that match is; "" where there is none
	Ticked     string // where that for those that are ticked is
}

// Bulk is the bar above the rows of a page.
func (p *jobsPage) Bulk(here string) bulkBar {
	bar := bulkBar{All: p.All, URL: format.Link("jobs-act", "back", here), Words: p.Filter.Words(),
		Ticked: p.Filter.Link()}
	for _, action := range p.Actions {
		forAll := action.ForAll(&p.Filter)
		if forAll {
			bar.Everything = p.Filter.With("all", "1")
		}
		switch {
		case !p.All:
			bar.Actions = append(bar.Actions, action)
		case forAll:
			bar.Actions = append(bar.Actions, action.ButtonForAll(&p.Filter))
		}
	}
	return bar
}

// Table is what the template of jobs takes.
func (p *jobsPage) Table(now time.Time, canAct bool) jobTable {
	return jobTable{Rows: p.Rows, Now: now, State: p.Filter.State, Tick: canAct && len(p.Actions) > 0}
}

type stateTab struct {
	State work.State
	Name  string
	Count int
	Link  string
	Here  bool

	Counted bool // Count is known
}

func (s *Site) showJobs(v *visit.Visit) error {
	f, err := jobs.FilterOf(v)
	if err != nil {
		return err
	}
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	p := &jobsPage{States: tabs(counts, f), Filter: f, NoArgs: v.Redacts(), All: v.Query.Get("all") != "",
		Enqueues: v.Enqueuer != nil}
	if p.Ended, err = endedTabs(v, f); err != nil {
		return err
	}
	if f.Pages() {
		err = s.readPage(v, p)
	} else {
		err = s.searchPage(v, p)
	}
	if err != nil {
		return err
	}
	if v.MayAct {
		p.Actions = jobs.ActionsFor(f.State)
	}
	if p.Next != "" && p.Searched && v.MaxStreams > 0 {
		p.Finding = f.Finding(v.Query.Get("cursor"))
	}
	if p.Next != "" {
		p.Next = f.With("cursor", p.Next)
	}
	if v.Query.Get("cursor") != "" {
		p.First = f.With()
	}
	return s.show(v, "jobs", page{Title: f.TitleText(), Nav: "/jobs", Body: p, Now: counts.AsOf})
}

func tabs(counts inspect.Counts, f jobs.Filter) []stateTab {
	numbers := map[work.State]int{
		work.StateQueued: counts.Queued, work.StateRunning: counts.Running, work.StateScheduled: counts.Scheduled,
		work.StateRetrying: counts.Retrying, work.StateStalled: counts.Stalled, work.StateDead: counts.Dead,
	}
	shown := make([]stateTab, 0, len(jobs.States))
	for _, state := range jobs.States {
		shown = append(shown, stateTab{State: state, Name: string(state), Count: numbers[state],
			Link: f.In(state).Link(), Here: state == f.State, Counted: true})
	}
	return shown
}

// endedTabs lead to the jobs that have ended. How many those are is known by name only.
func endedTabs(v *visit.Visit, f jobs.Filter) ([]stateTab, error) {
	var counts inspect.EndedCounts
	if f.Name != "" {
		var err error
		if counts, err = v.Inspector.EndedCounts(v.Ctx(), f.Name); err != nil {
			return nil, err
		}
	}
	return endedTabsOf(counts, f), nil
}

func endedTabsOf(counts inspect.EndedCounts, f jobs.Filter) []stateTab {
	shown := make([]stateTab, 0, len(jobs.EndedStates))
	for n, count := range []int{counts.Succeeded, counts.Cancelled, counts.Discarded, counts.Expired, counts.Deleted} {
		state := jobs.EndedStates[n]
		shown = append(shown, stateTab{State: state, Name: string(state), Count: count, Link: f.In(state).Link(),
			Here: state == f.State, Counted: f.Name != ""})
	}
	return shown
}

// readPage reads a page of all jobs of a state.
func (s *Site) readPage(v *visit.Visit, p *jobsPage) error {
	read, err := v.Inspector.Page(v.Ctx(), inspect.PageOptions{
		State: p.Filter.State, Name: p.Filter.Name, Newest: p.Filter.Newest, Cursor: v.Query.Get("cursor"),
		Limit: jobs.PageSize,
	})
	if err != nil {
		return err
	}
	p.Rows, p.Next, p.Total = jobRows(v, read.Jobs), read.Next, read.Total
	return nil
}

// searchPage looks for those that match.
func (s *Site) searchPage(v *visit.Visit, p *jobsPage) error {
	found, err := v.Inspector.Search(v.Ctx(), p.Filter.Selection,
		inspect.SearchOptions{Cursor: v.Query.Get("cursor"), Limit: jobs.PageSize, Newest: p.Filter.Newest,
			Ended: p.Filter.Ended})
	if err != nil {
		return err
	}
	p.Rows, p.Next = jobRows(v, found.Jobs), found.Next
	p.Searched, p.Looked, p.Through, p.Total = true, found.Looked, found.Through, found.Total
	return nil
}
