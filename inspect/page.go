package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/needs"
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
	// which Search can tell apart. Queued jobs that need labels come behind those that need none
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
	for {
		page, err := i.page(ctx, opts, from)
		var next pageCursor
		if err != nil || len(page.Jobs) > 0 || page.Next == "" || decodeCursor(page.Next, &next) != nil ||
			next.Name == cmp.Or(from.Name, opts.Name) {
			return page, err
		}
		from = next // nothing waits that needs just these labels, and something that needs others
	}
}

// validate fills in the defaults and reads the cursor.
func (o *PageOptions) validate() (pageCursor, error) {
	_, standing := selectable[o.State]
	over := slices.Contains(endedStates, o.State)
	named := over || o.State == work.StateQueued || o.State == work.StateRunning
	switch {
	case !standing && !over && o.State != work.StateRunning:
		return pageCursor{}, &work.InvalidError{What: "the state of the page", Value: excerpt.Brief(string(o.State)),
			Remedy: "use StateQueued, StateRunning, StateScheduled, StateRetrying, StateStalled, StateDead, or a " +
				"state in which jobs have ended"}
	case o.Name != "" && !named:
		return pageCursor{}, &work.InvalidError{What: "the name of the page", Value: excerpt.Brief(o.Name),
			Remedy: "leave it out: jobs of all names stand together when they are " + string(o.State) +
				"; Search finds those of one"}
	case o.Limit < 0 || o.Limit > maxPage:
		return pageCursor{}, &work.InvalidError{What: "the limit of the page", Value: strconv.Itoa(o.Limit),
			Remedy: "use 1 to 500, or 0 for 50"}
	}
	if over || o.State == work.StateQueued || o.Name != "" {
		if err := inside.AsInvalid(invalid.JobName(o.Name)); err != nil {
			return pageCursor{}, err
		}
	}
	if o.Limit == 0 {
		o.Limit = defaultPage
	}
	if o.Cursor == "" {
		return pageCursor{}, nil
	}
	var cursor pageCursor
	if err := decodeCursor(o.Cursor, &cursor); err != nil {
		return pageCursor{}, err
	}
	if cursor.State != o.State || needs.Name(cursor.Name) != o.Name || cursor.Newest != o.Newest {
		return pageCursor{}, badCursor(o.Cursor, errOtherCursor)
	}
	if err := cursor.validate(); err != nil {
		return pageCursor{}, badCursor(o.Cursor, err)
	}
	return cursor, nil
}

// page reads the page of one partition, or merges those of several.
func (i *Inspector) page(ctx context.Context, opts PageOptions, from pageCursor) (JobPage, error) {
	of := i.served(ctx)
	if slices.Contains(endedStates, opts.State) {
		of = i.everywhere(ctx)
	}
	m := merging{opts: opts, from: from, queue: cmp.Or(from.Name, opts.Name)}
	parts := ask(ctx, of.views, m.read)
	if !of.single() {
		page, err := m.merge(ctx, parts)
		m.goOn(&page, parts)
		return page, err
	}
	part := &parts[0].value
	if parts[0].err != nil {
		return JobPage{}, parts[0].err
	}
	page := JobPage{Total: part.total}
	if next, more := part.part.behind(len(part.part.jobs)); more {
		page.Next = m.cursor(next, nil)
	}
	err := m.tell(ctx, part, len(part.part.jobs))
	page.Jobs = part.told
	m.goOn(&page, parts)
	return page, err
}

// goOn has the next page of queued jobs begin with those that need other labels, where this one is the last of those
// that need the same. Among these one after the other is read.
func (m *merging) goOn(page *JobPage, parts []answer[pagePart]) {
	if page.Next != "" {
		return
	}
	next := ""
	for n := range parts {
		for _, queue := range parts[n].value.others {
			if queue > m.queue && (next == "" || queue < next) {
				next = queue
			}
		}
	}
	if m.queue = next; next != "" {
		page.Next = m.cursor(position{}, nil)
	}
}

// pagePart is what one partition has for a page.
type pagePart struct {
	*view
	at    place
	from  position // where it was read from
	part  portion
	total int

	others []string // of queued jobs: queues of the name with jobs that need labels

	taken int        // of its jobs: so many are on the page
	told  []*JobInfo // of these; those that have moved on are left out
}

// read reads what a partition has for a page, as much as if there were no other.
func (m *merging) read(v *view, ctx context.Context) (p pagePart, err error) {
	p = pagePart{view: v, at: place{state: m.opts.State, name: m.queue, newest: m.opts.Newest}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("the page of %s jobs cannot be read: %w", m.opts.State, err)
		}
	}()
	if m.opts.State == work.StateQueued {
		if err = p.count(ctx, m.opts.Name); err != nil {
			return p, err
		}
	}
	if m.from.over(v.partition) {
		p.part.behind = func(int) (position, bool) { return position{}, false }
		return p, nil
	}
	p.from = m.from.markOf(v.partition)
	if p.part, err = v.read(ctx, &p.at, p.from, m.opts.Limit); err != nil {
		return p, err
	}
	if m.opts.State != work.StateQueued {
		p.total = p.at.length
	}
	if shelf := selectable[m.opts.State]; shelf != "" {
		p.total, err = v.store.Length(ctx, "", shelf)
	} else if p.at.hasEnded() {
		var counts []int
		if counts, err = v.store.EndedCounts(ctx, []rdb.EndedShelf{endedShelf(m.opts.State, m.opts.Name)}); err == nil {
			p.total = counts[0]
		}
	}
	return p, err
}

// count counts the queued jobs of a name, and finds in which queues those are that need labels.
func (p *pagePart) count(ctx context.Context, name string) error {
	ready, err := p.store.ReadyParts(ctx)
	if err != nil {
		return err
	}
	p.others = slices.DeleteFunc(ready, func(queue string) bool { return needs.Name(queue) != name })
	for _, queue := range append([]string{name}, p.others...) {
		n, err := p.store.Length(ctx, queue, "")
		if err != nil {
			return err
		}
		p.total += n
	}
	return nil
}

// tell reads all of the first n jobs of a part.
func (m *merging) tell(ctx context.Context, p *pagePart, n int) (err error) {
	seen := make([]listedJob, n)
	for k, job := range p.part.jobs[:n] {
		seen[k] = listedJob{id: job.ID, state: m.opts.State, ahead: -1, score: job.Score}
		if p.part.ahead != nil {
			seen[k].ahead = p.part.ahead(k)
		}
	}
	if p.at.hasEnded() {
		p.told, err = p.describedEnded(ctx, &p.at, seen)
	} else {
		p.told, err = p.described(ctx, seen, func(info *JobInfo) bool { return info.State == m.opts.State })
	}
	if err != nil {
		err = fmt.Errorf("the page of %s jobs cannot be read: %w", m.opts.State, err)
	}
	return err
}

// cursor is where the next page begins: behind a job, or in queues behind one of each.
func (m *merging) cursor(mark position, lines []lineMark) string {
	return encodeCursor(pageCursor{State: m.opts.State, Name: m.queue, Newest: m.opts.Newest, Mark: mark,
		Lines: lines})
}
