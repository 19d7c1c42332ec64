package inspect

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// Selection says which jobs [Inspector.Search] and [Inspector.Bulk] are about: all of one state, or those of them that
// fit all else that is given. Texts are compared byte for byte.
type Selection struct {
	// queued, scheduled, retrying, stalled or dead; for Search also running, "" for all of these, or a state in which
	// jobs have ended
	State work.State
	Name  string // of the job; "" is any
	ID    string // a part of its id; "" is any
	Tag   string // that the job has among others; "" is any
	Key   string // on whose behalf it is done, see [work.Key]; "" is any, and jobs without one
	// a part of its last error, or of the reason for which it died; of a job that has ended, of any error that is
	// known; "" is any
	ErrorText string
	// digest of the ErrorGroup that its last error, or the reason for which it died, is of; "" is any
	ErrorGroup string
	// event.FailureTimeout: its last failure was one; of a dead or discarded job the one with which it died. "" is any
	Failure event.FailureKind
	// a part of its args as they are stored, a JSON array; what is large enough to be an object is not in there; "" is
	// any
	ArgsText string
	Meta     map[string]string // all of these; nil is any
	Source   int64             // what it is about, see SourcedEnqueue; 0 is any
	// how long it has been stalled, dead or over at the least; of other jobs how long ago they were enqueued; 0 is any
	OlderThan time.Duration
	// that moment is not before Since, and before Until, to the millisecond; zero is any. Bulk takes them as well
	Since, Until time.Time
	// a part of its id, name, key, args, tags, values of Meta, or of what ErrorText looks at; "" is any
	Text string
}

// validate is for those who change jobs.
func (s *Selection) validate() error {
	if s.State == "" {
		return s.refused(isLarge)
	}
	return s.validateFor(isLarge)
}

// validateFor refuses what none of these states, or no job, can fit. The state may be left out.
func (s *Selection) validateFor(states []work.State) error {
	if s.State != "" && !slices.Contains(states, s.State) {
		return s.refused(states)
	}
	if s.OlderThan < 0 {
		return &work.InvalidError{What: "the age of the selection", Value: s.OlderThan.String(),
			Remedy: "use zero or more"}
	}
	if !s.Since.IsZero() && !s.Until.IsZero() && !s.Since.Before(s.Until) {
		return &work.InvalidError{What: "Since of the selection", Value: s.Since.UTC().Format(time.RFC3339),
			Remedy: "use a time before Until, " + s.Until.UTC().Format(time.RFC3339)}
	}
	if s.Failure != "" && s.Failure != event.FailureTimeout {
		return &work.InvalidError{What: "the kind of failure of the selection", Value: excerpt.Brief(string(s.Failure)),
			Remedy: "use FailureTimeout, or none for any"}
	}
	if s.Name == "" {
		return nil
	}
	return inside.AsInvalid(invalid.JobName(s.Name))
}

func (s *Selection) refused(states []work.State) error {
	constants := make([]string, len(states))
	for n, state := range states {
		constants[n] = "State" + strings.ToUpper(string(state[:1])) + string(state[1:])
	}
	last := len(constants) - 1
	return &work.InvalidError{What: "the state of the selection", Value: excerpt.Brief(string(s.State)),
		Remedy: "use " + strings.Join(constants[:last], ", ") + " or " + constants[last]}
}

// onlyID tells whether there is nothing but an id in it.
func (s *Selection) onlyID() bool {
	plain := *s
	plain.ID = ""
	return plain.everything()
}

func (s *Selection) everything() bool {
	return s.State == "" && s.Name == "" && s.ID == "" && s.Tag == "" && s.Key == "" && s.ErrorText == "" &&
		s.ErrorGroup == "" && s.Failure == "" && s.ArgsText == "" && len(s.Meta) == 0 && s.Source == 0 &&
		!s.asksForTime() && s.Text == ""
}

func (s *Selection) asksForTime() bool {
	return s.OlderThan > 0 || !s.Since.IsZero() || !s.Until.IsZero()
}

// The states of jobs that can be selected, in the order in which they are searched.
var (
	searched = []work.State{work.StateQueued, work.StateRunning, work.StateScheduled, work.StateRetrying,
		work.StateStalled, work.StateDead}
	isLarge = []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying, work.StateStalled, work.StateDead}
)

// selectable are the states that have a place of their own; queued jobs have one for each name.
var selectable = map[work.State]rdb.Shelf{
	work.StateQueued: "", work.StateScheduled: rdb.ShelfScheduled, work.StateRetrying: rdb.ShelfRetry,
	work.StateStalled: rdb.ShelfStalled,
	work.StateDead:    rdb.ShelfMorgue,
}

// endedStates are those in which jobs have ended, in the order in which they are searched.
var endedStates = []work.State{work.StateSucceeded, work.StateCancelled, work.StateDiscarded, work.StateExpired,
	work.StateDeleted}

// endedShelf is where jobs of a name stand that have ended so.
func endedShelf(state work.State, name string) rdb.EndedShelf {
	stored := string(state)
	if state == work.StateSucceeded {
		stored = record.Succeeded
	}
	return rdb.EndedShelf{State: stored, Name: name}
}

// matches tells whether the job is one of them. One without a record is none, and one that is to be cancelled has
// ended.
func (s *Selection) matches(seen *seenJob) bool {
	if seen.Record == nil || seen.Flagged && seen.state != work.StateRunning || !strings.Contains(seen.ID, s.ID) {
		return false
	}
	rec, err := record.Decode(seen.Record)
	if seen.Queue == "" {
		seen.Queue = record.QueueIn(seen.Record)
	}
	name := cmp.Or(rec.Name, seen.Name())
	if seen.Queue == "" || s.Name != "" && s.Name != name {
		return false
	}
	// what cannot be read fits nothing
	if err != nil && (s.Tag != "" || s.Key != "" || s.ArgsText != "" || len(s.Meta) > 0 || s.Source != 0) {
		return false
	}
	if s.Key != "" && rec.Key != s.Key {
		return false
	}
	if s.Tag != "" && !slices.Contains(rec.Tags, s.Tag) || s.Source != 0 && rec.Source != s.Source ||
		!bytes.Contains(rec.Args, []byte(s.ArgsText)) || !hasAll(rec.Meta, s.Meta) {
		return false
	}
	if s.asksForTime() && !s.inTime(seen, rec.EnqueuedAt) {
		return false
	}
	if !s.asksForTrail() {
		return true
	}
	t := record.DecodeTrail(seen.Trail)
	if s.Failure != "" && t.FailureKind() != string(s.Failure) {
		return false
	}
	errorHas := func(text string) bool {
		return lastErrorHas(t, text) || seen.state.Ended() && anyErrorHas(t, text)
	}
	return errorHas(s.ErrorText) && (s.Text == "" || textIn(seen.ID, name, &rec, s.Text) || errorHas(s.Text)) &&
		(s.ErrorGroup == "" || history.InGroup(s.ErrorGroup, name, t.LastError(), t.Reason))
}

// inTime tells whether it fits to when the job was stalled, died or ended, or else was enqueued. What is not known fits
// nothing.
func (s *Selection) inTime(seen *seenJob, enqueued int64) bool {
	since := enqueued
	if seen.state == work.StateDead || seen.state == work.StateStalled || seen.state.Ended() {
		since = seen.At
	}
	return since != 0 && (s.OlderThan == 0 || seen.now-since >= s.OlderThan.Milliseconds()) &&
		(s.Since.IsZero() || since >= s.Since.UnixMilli()) && (s.Until.IsZero() || since < s.Until.UnixMilli())
}

// textIn looks for a text in all of a job but its errors.
func textIn(id, name string, rec *record.Record, text string) bool {
	has := func(field string) bool { return strings.Contains(field, text) }
	return has(id) || has(name) || has(rec.Key) || bytes.Contains(rec.Args, []byte(text)) ||
		slices.ContainsFunc(rec.Tags, has) || slices.ContainsFunc(slices.Collect(maps.Values(rec.Meta)), has)
}

// asksForTrail tells whether it is about what happened to the job.
func (s *Selection) asksForTrail() bool {
	return s.ErrorText != "" || s.ErrorGroup != "" || s.Failure != "" || s.Text != ""
}

func hasAll(meta, wanted map[string]string) bool {
	for key, value := range wanted {
		if has, is := meta[key]; !is || has != value {
			return false
		}
	}
	return true
}

func anyErrorHas(t record.Trail, text string) bool {
	return slices.ContainsFunc(t.Errors, func(f record.Failure) bool { return strings.Contains(f.Error, text) })
}

func lastErrorHas(t record.Trail, text string) bool {
	return strings.Contains(t.LastError(), text) || strings.Contains(t.Reason, text)
}

// source is where jobs of a selection stand: a shelf, or a queue.
type source struct {
	store  *rdb.Store
	queue  string
	shelf  rdb.Shelf // "" for the queue
	length int       // when it was looked at first

	cursor rdb.ShelfCursor
	at     int  // where the next page of the queue begins, from its back
	turns  bool // its list was read: what waits by turns comes next
}

// sources are where the jobs of a selection stand, with how many there are.
func (v *view) sources(ctx context.Context, selection *Selection) ([]*source, error) {
	shelf := selectable[selection.State]
	queues := []string{selection.Name}
	switch {
	case shelf == "" && selection.Name != "":
		var err error
		if queues, err = v.store.QueuesOf(ctx, append(v.by.SharedBy(selection.Name), queues...)); err != nil {
			return nil, fmt.Errorf("the names of the queues cannot be read: %w", err)
		}
	case shelf == "":
		queues = nil
		err := v.store.Walk(ctx, rdb.Key{Name: "queues", Type: "zset"}, func(page []rdb.Field) error {
			for _, field := range page {
				queues = append(queues, field.Name)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("the names of the queues cannot be read: %w", err)
		}
		slices.Sort(queues)
		queues = slices.Compact(queues)
	}
	sources := make([]*source, 0, len(queues))
	for _, queue := range queues {
		length, err := v.store.Length(ctx, queue, shelf)
		if err != nil {
			return nil, err
		}
		sources = append(sources, &source{store: v.store, queue: queue, shelf: shelf, length: length})
	}
	return sources, nil
}

// next reads the next page, of at most n jobs; it is empty at the end. A queue is read from its back: what workers take
// meanwhile is at its front, and what comes moves all by as much, so that jobs may be seen again but are not missed.
func (f *source) next(ctx context.Context, n int) ([]rdb.SeenJob, error) {
	if f.shelf != "" {
		return f.store.ShelfPage(ctx, f.shelf, &f.cursor, n)
	}
	if !f.turns {
		page, err := f.store.QueuePage(ctx, f.queue, f.at, n)
		f.at += len(page)
		if err != nil || len(page) > 0 {
			return page, err
		}
		f.turns = true
	}
	return f.store.Turns(ctx, f.queue, &f.cursor, n)
}

// left notes that so many of the last page are not in the queue any more, or before all that is still to be read.
func (f *source) left(n int) { f.at = max(0, f.at-n) }
