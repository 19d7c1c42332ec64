package inspect

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rdb"
)

// The bounds of a page.
const (
	defaultPage = 50
	maxPage     = 500
)

// PageOptions says which jobs, in which order.
type PageOptions struct {
	// queued, running, scheduled, retrying, stalled or dead; or one in which jobs have ended: succeeded, cancelled,
	// discarded, expired or deleted, of which those are listed that had a Retention
	State work.State
	// of the queue: needed for queued jobs and those that have ended, may be given for running ones, "" for all others,
	// which Search can tell apart
	Name string
	// the newest, due last or ended last, first. Otherwise the oldest, or due first; of a queue the one that runs next
	Newest bool
	Cursor string // JobPage.Next of the page before; "" is the beginning
	Limit  int    // of jobs; 0 is 50, at most 500
}

// JobPage is a page of jobs.
type JobPage struct {
	// all of that state. Those that moved on while they were looked at are left out, so there may be fewer than Limit
	Jobs []*JobInfo `json:"jobs"`
	// the cursor of the next page; "" at the end. It can be stored, sent and used by other processes
	Next  string `json:"next,omitzero"`
	Total int    `json:"total"` // how many jobs of that state, and name, there are
}

// Page reads a page of jobs of one state, at a cost that follows from the page and not from how many jobs there are;
// only of running jobs all are read each time. Jobs may come and leave between two pages: those that stay where they
// are come exactly once. (If a busy queue has lost, since the page before, all eight jobs around the place where it
// ended, some may come again.) Options that cannot be, a bad cursor among them, are an *[work.InvalidError].
func (i *Inspector) Page(ctx context.Context, opts PageOptions) (JobPage, error) {
	if i.unusable != nil {
		return JobPage{}, i.unusable
	}
	from, err := opts.validate()
	if err != nil {
		return JobPage{}, err
	}
	page, err := i.page(ctx, opts, from)
	if err != nil {
		return JobPage{}, fmt.Errorf("the page of %s jobs cannot be read: %w", opts.State, err)
	}
	return page, nil
}

// validate fills in the defaults and reads the cursor.
func (o *PageOptions) validate() (position, error) {
	_, standing := selectable[o.State]
	over := slices.Contains(endedStates, o.State)
	named := over || o.State == work.StateQueued || o.State == work.StateRunning
	switch {
	case !standing && !over && o.State != work.StateRunning:
		return position{}, &work.InvalidError{What: "the state of the page", Value: excerpt.Brief(string(o.State)),
			Remedy: "use StateQueued, StateRunning, StateScheduled, StateRetrying, StateStalled, StateDead, or a " +
				"state in which jobs have ended"}
	case o.Name != "" && !named:
		return position{}, &work.InvalidError{What: "the name of the page", Value: excerpt.Brief(o.Name),
			Remedy: "leave it out: jobs of all names stand together when they are " + string(o.State) +
				"; Search finds those of one"}
	case o.Limit < 0 || o.Limit > maxPage:
		return position{}, &work.InvalidError{What: "the limit of the page", Value: strconv.Itoa(o.Limit),
			Remedy: "use 1 to 500, or 0 for 50"}
	}
	if over || o.State == work.StateQueued || o.Name != "" {
		if err := inside.AsInvalid(invalid.JobName(o.Name)); err != nil {
			return position{}, err
		}
	}
	if o.Limit == 0 {
		o.Limit = defaultPage
	}
	if o.Cursor == "" {
		return position{}, nil
	}
	var cursor pageCursor
	if err := decodeCursor(o.Cursor, &cursor); err != nil {
		return position{}, err
	}
	if cursor.State != o.State || cursor.Name != o.Name || cursor.Newest != o.Newest {
		return position{}, badCursor(o.Cursor, errOtherCursor)
	}
	if err := cursor.Mark.validate(o.State); err != nil {
		return position{}, badCursor(o.Cursor, err)
	}
	return cursor.Mark, nil
}

func (i *Inspector) page(ctx context.Context, opts PageOptions, from position) (JobPage, error) {
	at := place{state: opts.State, name: opts.Name, newest: opts.Newest}
	part, err := i.read(ctx, &at, from, opts.Limit)
	if err != nil {
		return JobPage{}, err
	}
	page := JobPage{Total: at.length}
	if shelf := selectable[opts.State]; shelf != "" {
		if page.Total, err = i.store.Length(ctx, "", shelf); err != nil {
			return JobPage{}, err
		}
	} else if at.hasEnded() {
		counts, err := i.store.EndedCounts(ctx, []rdb.EndedShelf{endedShelf(opts.State, opts.Name)})
		if err != nil {
			return JobPage{}, err
		}
		page.Total = counts[0]
	}
	if next, more := part.behind(len(part.jobs)); more {
		page.Next = encodeCursor(pageCursor{State: opts.State, Name: opts.Name, Newest: opts.Newest, Mark: next})
	}
	seen := make([]listedJob, len(part.jobs))
	for n, job := range part.jobs {
		seen[n] = listedJob{id: job.ID, state: opts.State, ahead: -1, score: job.Score}
		if part.ahead != nil {
			seen[n].ahead = part.ahead(n)
		}
	}
	if at.hasEnded() {
		page.Jobs, err = i.describedEnded(ctx, &at, seen)
		return page, err
	}
	page.Jobs, err = i.described(ctx, seen, func(info *JobInfo) bool { return info.State == opts.State })
	return page, err
}
