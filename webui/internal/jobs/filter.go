// Package jobs is what pages and API share about jobs: the filter that a query asks for, and what can be done to jobs
// of some states.
package jobs

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/find"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// How much of it is shown unless more is asked for.
const (
	PageSize = 50  // jobs
	LogLines = 200 // of the log of a job
	Errors   = 200 // groups of errors
	Runs     = 10  // next ticks of a schedule
)

// States are the states that have lists, in the order of a job's life. EndedStates are those in which jobs have ended,
// of which there are lists by name.
var (
	States = []work.State{work.StateQueued, work.StateRunning, work.StateScheduled, work.StateRetrying,
		work.StateStalled, work.StateDead}
	EndedStates = []work.State{work.StateSucceeded, work.StateCancelled, work.StateDiscarded, work.StateExpired,
		work.StateDeleted}
)

// Filter is what somebody looks for, as the URL says it.
type Filter struct {
	inspect.Selection
	Newest bool   // as it is for jobs that have ended unless the query says newest=0
	Ended  bool   // where all states are searched, also those in which jobs have ended
	Older  string // OlderThan as it was typed
	About  string // Source as it was typed
	Pair   string // Meta as it was typed, key=value

	From, To string // Since and Until as they were typed
}

// FilterOf reads the query. Without a state and anything to look for it is about what waits.
func FilterOf(v *visit.Visit) (Filter, error) {
	get := func(key string) string { return strings.TrimSpace(v.Query.Get(key)) }
	f := Filter{Ended: v.Query.Get("ended") != "", Older: get("older"), About: get("source"), Pair: get("meta"),
		From: get("since"), To: get("until"),
		Selection: inspect.Selection{
			State: work.State(get("state")), Name: v.Query.Get("name"), ID: v.Query.Get("id"), Tag: v.Query.Get("tag"),
			Key: v.Query.Get("key"), ErrorText: v.Query.Get("error"), ArgsText: v.Query.Get("args"),
			ErrorGroup: v.Query.Get("group"), Text: v.Query.Get("text"),
			Failure: event.FailureKind(get("failure")),
		}}
	f.Newest, f.Ended = f.State.Ended(), f.Ended && f.State == ""
	if newest := v.Query.Get("newest"); newest != "" {
		f.Newest = newest != "0"
	}
	if (f.ArgsText != "" || f.Text != "") && v.Redacts() {
		return f, &visit.StatusError{Status: 403, Text: "args are not shown as they are, so one cannot search by them" +
			", nor by a text that may be in them"}
	}
	if f.State != "" && !slices.Contains(States, f.State) && !f.State.Ended() {
		return f, visit.BadRequest(fmt.Sprintf("there is no list of jobs that are %q: use one of queued, running, "+
			"scheduled, retrying, stalled, dead, succeeded, cancelled, discarded, expired and deleted",
			format.Shorten(string(f.State), 60)))
	}
	if f.Failure != "" && f.Failure != event.FailureTimeout {
		return f, visit.BadRequest(fmt.Sprintf("there is no kind of failure %q: use timeout, or none for any",
			format.Shorten(string(f.Failure), 60)))
	}
	return f, f.parse()
}

// BulkFilterOf reads the query of an action on all jobs that match. It must say which, since what is left out is any.
func BulkFilterOf(v *visit.Visit) (Filter, error) {
	if err := v.Whole(); err != nil {
		return Filter{}, err
	}
	f, err := FilterOf(v)
	if err == nil && !v.Query.Has("state") && f.Large() { // which a list takes to be queued
		err = visit.BadRequest("choose a state, or say what to look for: what can be done depends on it")
	}
	return f, err
}

// parse reads what was typed.
func (f *Filter) parse() (err error) {
	if f.About != "" {
		if f.Source, err = strconv.ParseInt(f.About, 10, 64); err != nil {
			return visit.BadRequest(fmt.Sprintf("the source %q is not a number", format.Shorten(f.About, 60)))
		}
		if f.Source == 0 {
			return visit.BadRequest("the source 0 stands for any: give another number, or leave it out")
		}
	}
	if f.Older != "" {
		if f.OlderThan, err = time.ParseDuration(f.Older); err != nil || f.OlderThan < 0 {
			older := format.Shorten(f.Older, 60)
			return visit.BadRequest(fmt.Sprintf("%q is no duration: write 30s, 15m or 24h", older))
		}
		if f.OlderThan == 0 {
			return visit.BadRequest("every job is older than 0s: give a longer time, or leave it out")
		}
	}
	if f.Since, err = timeOf(f.From); err != nil {
		return err
	}
	if f.Until, err = timeOf(f.To); err != nil {
		return err
	}
	if f.Pair != "" {
		key, value, found := strings.Cut(f.Pair, "=")
		if !found {
			return visit.BadRequest("metadata is looked for as key=value")
		}
		f.Meta = map[string]string{key: value}
	}
	if f.State == "" && f.plain() && f.Name == "" && !f.Ended {
		f.State = work.StateQueued
	}
	return nil
}

// timeOf is the time that somebody typed; zero for none.
func timeOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return visit.TimeIn(text)
}

// plain tells whether nothing is looked for but a state and a name.
func (f *Filter) plain() bool {
	return f.ID == "" && f.Tag == "" && f.Key == "" && f.ErrorText == "" && f.ArgsText == "" && f.ErrorGroup == "" &&
		f.Failure == "" && f.Source == 0 && f.OlderThan == 0 && len(f.Meta) == 0 && f.Text == "" && f.Since.IsZero() &&
		f.Until.IsZero()
}

// Pages tells whether the list can be read page by page, without looking at what does not match.
func (f *Filter) Pages() bool {
	switch {
	case !f.plain() || f.State == "":
		return false
	case f.State == work.StateQueued || f.State.Ended():
		return f.Name != ""
	case f.State == work.StateRunning:
		return true
	}
	return f.Name == ""
}

// Query is the filter as the query of a URL has it.
func (f *Filter) Query() url.Values {
	query := url.Values{}
	for key, value := range map[string]string{
		"state": string(f.State), "name": f.Name, "id": f.ID, "tag": f.Tag, "key": f.Key, "error": f.ErrorText,
		"args":  f.ArgsText,
		"group": f.ErrorGroup, "failure": string(f.Failure), "source": f.About, "older": f.Older, "meta": f.Pair,
		"text": f.Text, "since": f.From, "until": f.To,
	} {
		if value != "" {
			query.Set(key, value)
		}
	}
	if order := f.Order(); order != "" {
		query.Set("newest", order)
	}
	if f.Ended {
		query.Set("ended", "1")
	}
	return query
}

// Order is what a query says of the order, "" where it is the usual one of the state.
func (f *Filter) Order() string {
	switch {
	case f.Newest == f.State.Ended():
		return ""
	case f.Newest:
		return "1"
	}
	return "0"
}

// In is the filter for another state, in the usual order of that.
func (f Filter) In(state work.State) Filter {
	f.Newest = state.Ended() || f.Newest && !f.State.Ended()
	f.State = state
	return f
}

// Question is what is to be searched for, from a cursor on.
func (f *Filter) Question(cursor string) find.Question {
	return find.Question{Selection: f.Selection, Newest: f.Newest, Ended: f.Ended, Cursor: cursor}
}

// Details tells whether it asks for more than people mostly do.
func (f *Filter) Details() bool {
	return f.ID != "" || f.Tag != "" || f.Key != "" || f.ArgsText != "" || f.Failure != "" || f.About != "" ||
		f.Pair != "" || f.Older != "" || f.Ended
}

// Large tells whether nothing but a state at most is given: then all jobs are meant.
func (f *Filter) Large() bool { return f.plain() && f.Name == "" }

// With is the list with this filter, and another pair if there is one.
func (f Filter) With(pair ...string) string {
	query := f.Query()
	if len(pair) == 2 {
		query.Set(pair[0], pair[1])
	}
	return "jobs?" + query.Encode()
}

// Finding is the stream of what a search finds from a cursor on.
func (f Filter) Finding(cursor string) string {
	query := f.Query()
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return "finding?" + query.Encode()
}

// Link is the list with this filter.
func (f Filter) Link() string { return f.With() }

// Reversed is the list the other way round.
func (f Filter) Reversed() string {
	f.Newest = !f.Newest
	return f.With()
}

// TitleText is the title of its page.
func (f *Filter) TitleText() string {
	if f.State == "" {
		return "Search"
	}
	return "Jobs " + string(f.State)
}

// Words says what is selected, for people and for the audit.
func (f *Filter) Words() string {
	query := f.Query()
	var words []string
	for _, key := range []string{"state", "name", "text", "id", "tag", "key", "error", "args", "group", "failure",
		"source", "older", "since", "until", "meta"} {
		if value := query.Get(key); value != "" {
			words = append(words, key+" "+format.Shorten(value, 100))
		}
	}
	return strings.Join(words, ", ")
}

// BulkLink is where the form for all that match leads.
func (f Filter) BulkLink(action string, pair ...string) string {
	query := f.Query()
	query.Set("action", action)
	if len(pair) == 2 {
		query.Set(pair[0], pair[1])
	}
	return "bulk?" + query.Encode()
}
