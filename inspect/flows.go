package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowlook"
)

// FlowInfo is how far a flow is: see package flow.
type FlowInfo struct {
	ID    string     `json:"id"`
	State flow.State `json:"state"`
	AsOf  time.Time  `json:"as_of"`          // the moment, by Redis' clock, as all times
	Batch bool       `json:"batch,omitzero"` // its members are numbered from 1, but for those that were added

	Total     int `json:"total"` // members; while it is filling those that are stored
	Done      int `json:"done"`
	Dead      int `json:"dead"`      // in the morgue, or were when they ended
	Cancelled int `json:"cancelled"` // by hand, or since one that they waited for had not ended well
	Otherwise int `json:"otherwise"` // discarded, expired or deleted
	Left      int `json:"left"`      // have not ended

	Generation int  `json:"generation"` // 1, and one more with each retry
	Paused     bool `json:"paused,omitzero"`
	Cancelling bool `json:"cancelling,omitzero"`
	// what stands ready is not in the queues yet, as it is too much for one script: any worker goes on with it
	Releasing bool `json:"releasing,omitzero"`

	Stored    time.Time `json:"stored"`              // the first of it
	Sealed    time.Time `json:"sealed,omitzero"`     // zero also for one of an older program
	Ended     time.Time `json:"ended,omitzero"`      // the last time, where it was retried
	KeptUntil time.Time `json:"kept_until,omitzero"` // of one that has ended

	Outer string `json:"outer,omitzero"` // the id of the flow that it is in; "" is none

	OnDone  *FlowEnd `json:"on_done,omitempty"`  // the job that runs when all members are done; nil is none
	OnDeath *FlowEnd `json:"on_death,omitempty"` // that runs when it has ended otherwise

	Partition int `json:"partition,omitzero"`
}

// FlowEnd is the job that runs at the end of a flow.
type FlowEnd struct {
	Job   string     `json:"job,omitzero"`   // its name; "" in lists of flows
	ID    string     `json:"id"`             // that it has when it runs at the end of this generation
	State work.State `json:"state,omitzero"` // once it was enqueued, as long as it is known; "" in lists of flows
}

// Progress is how many of a hundred members have ended. It is 100 only when none is left.
func (f FlowInfo) Progress() int {
	if f.Total == 0 || f.State == flow.Filling {
		return 0
	}
	return (f.Total - f.Left) * 100 / f.Total
}

// FlowFilter is which flows are wanted.
type FlowFilter string

// The filters.
const (
	AllFlows       FlowFilter = ""
	FlowsRunning   FlowFilter = "running" // and paused, and those that are being cancelled or opened again
	FlowsDone      FlowFilter = "done"
	FlowsDead      FlowFilter = "dead"
	FlowsCancelled FlowFilter = "cancelled"
	FlowsUnsealed  FlowFilter = "unsealed"  // their store was cut off, or goes on
	FlowsReleasing FlowFilter = "releasing" // about which something is to be done
)

// FlowFilters are all of them but AllFlows.
func FlowFilters() []FlowFilter {
	return []FlowFilter{FlowsRunning, FlowsDone, FlowsDead, FlowsCancelled, FlowsUnsealed, FlowsReleasing}
}

// takes tells whether a flow is one of these.
func (w FlowFilter) takes(f *flowlook.Flow) bool {
	switch w {
	case FlowsRunning:
		return f.State == string(flow.Running) || f.State == string(flow.Reopening)
	case FlowsDone, FlowsDead, FlowsCancelled:
		return f.State == string(w)
	case FlowsUnsealed:
		return f.State == string(flow.Filling)
	case FlowsReleasing:
		return f.Busy
	}
	return f.State != ""
}

// list is the list in which such flows are.
func (w FlowFilter) list() flowlook.List {
	switch w {
	case FlowsUnsealed:
		return flowlook.Filling
	case FlowsReleasing:
		return flowlook.Busy
	}
	return flowlook.All
}

// FlowsOptions says which flows.
type FlowsOptions struct {
	Filter FlowFilter
	Cursor string // FlowPage.Next of the page before; "" is the beginning
	Limit  int    // of flows; 0 is 50, at most 500
}

// FlowPage is a page of flows.
type FlowPage struct {
	Flows []FlowInfo `json:"flows"`
	Next  string     `json:"next,omitzero"` // the cursor of the next page; "" at the end
}

// Flows reads a page of flows, those first that were stored last. A page of those of one state looks at 2,000 flows at
// the most in each partition: it may be shorter than its Limit, or empty, while Next has more. What it costs does not
// grow with how many members they have. Options that cannot be are an *[work.InvalidError].
func (i *Inspector) Flows(ctx context.Context, opts FlowsOptions) (FlowPage, error) {
	if i.unusable != nil {
		return FlowPage{}, i.unusable
	}
	from, err := opts.validate()
	if err != nil {
		return FlowPage{}, err
	}
	of := i.everywhere(ctx)
	if of.err != nil {
		return FlowPage{}, of.err
	}
	m := flowMerge{opts: opts, from: from}
	parts := ask(ctx, of.views, m.read)
	page := m.merge(parts)
	if err = failure(parts); err != nil {
		err = fmt.Errorf("the flows cannot be read: %w", err)
	}
	return page, noted(ctx, err)
}

func (o *FlowsOptions) validate() (flowsCursor, error) {
	if o.Filter != AllFlows && !slices.Contains(FlowFilters(), o.Filter) {
		return flowsCursor{}, &work.InvalidError{What: "the filter of flows", Value: excerpt.Brief(string(o.Filter)),
			Remedy: "use running, done, dead, cancelled, unsealed or releasing"}
	}
	if err := validLimit(&o.Limit); err != nil {
		return flowsCursor{}, err
	}
	var cursor flowsCursor
	if o.Cursor == "" {
		return cursor, nil
	}
	if err := decodeCursor(o.Cursor, &cursor); err != nil {
		return flowsCursor{}, err
	}
	if cursor.Filter != string(o.Filter) {
		return flowsCursor{}, badCursor(o.Cursor, errOtherCursor)
	}
	return cursor, nil
}

// validLimit fills in the default of the limit of a page.
func validLimit(limit *int) error {
	if *limit < 0 || *limit > maxPage {
		return &work.InvalidError{What: "the limit of the page", Value: strconv.Itoa(*limit),
			Remedy: "use 1 to 500, or 0 for 50"}
	}
	*limit = cmp.Or(*limit, defaultPage)
	return nil
}

// flowMerge is a page of flows under way. Each partition has a part of it, and goes on where that was used up.
type flowMerge struct {
	opts FlowsOptions
	from flowsCursor
}

// flowPart is what a partition has for the page.
type flowPart struct {
	flows []FlowInfo
	at    []int64     // ms by which the list has each
	marks []flowsMark // behind each
	mark  flowsMark   // behind what was looked at
	upTo  int64       // ms: all that is newer was looked at
}

// looks is how often a page looks further where it has not found enough flows of its state.
const looks = 4

func (m *flowMerge) read(v *view, ctx context.Context) (p flowPart, err error) {
	p.mark = m.from.markOf(v.partition)
	flows, found := flowlook.Of(v.store), m.opts.Limit
	if m.opts.Filter != AllFlows {
		found = flowlook.MaxPage
	}
	for range looks {
		if p.mark.Over || len(p.flows) >= m.opts.Limit {
			break
		}
		cursor := rdb.ShelfCursor{Newest: true, Score: p.mark.Score, ID: p.mark.ID}
		listed, err := flows.Page(ctx, m.opts.Filter.list(), &cursor, found)
		if err != nil {
			return p, err
		}
		if len(listed) < found {
			p.mark.Over = true
		}
		ids := make([]string, len(listed))
		for n := range listed {
			ids[n] = listed[n].ID
		}
		read, err := flows.Read(ctx, ids...)
		if err != nil {
			return p, err
		}
		for n := range read {
			if m.opts.Filter.takes(&read[n]) {
				p.flows, p.at = append(p.flows, v.flowInfo(&read[n])), append(p.at, listed[n].At)
				p.marks = append(p.marks, flowsMark{Partition: v.partition, Score: listed[n].Score, ID: listed[n].ID})
			}
		}
		if len(listed) > 0 {
			last := listed[len(listed)-1]
			p.mark.Score, p.mark.ID, p.upTo = last.Score, last.ID, last.At
		}
	}
	return p, nil
}

// merge takes the newest of all partitions.
func (m *flowMerge) merge(parts []answer[flowPart]) FlowPage {
	page, taken := FlowPage{Flows: []FlowInfo{}}, make([]int, len(parts))
	for len(page.Flows) < m.opts.Limit {
		first := -1
		for n := range parts {
			p := &parts[n].value
			if taken[n] < len(p.at) && (first < 0 || p.at[taken[n]] > parts[first].value.at[taken[first]]) {
				first = n
			}
		}
		if first < 0 || behindAny(parts, taken, parts[first].value.at[taken[first]]) {
			break
		}
		page.Flows = append(page.Flows, parts[first].value.flows[taken[first]])
		taken[first]++
	}
	next, more := flowsCursor{Filter: string(m.opts.Filter)}, false
	for n := range parts {
		p, before := &parts[n].value, m.from.markOf(parts[n].from.partition)
		mark := p.mark
		switch {
		case parts[n].err != nil, taken[n] == 0 && len(p.flows) > 0:
			mark = before
		case taken[n] < len(p.flows):
			mark = p.marks[taken[n]-1]
		}
		more = more || !mark.Over
		next.Marks = append(next.Marks, mark)
	}
	if more {
		page.Next = encodeCursor(next)
	}
	return page
}

// behindAny tells whether a partition may have flows that are newer, at which it has not looked.
func behindAny(parts []answer[flowPart], taken []int, at int64) bool {
	for n := range parts {
		p := &parts[n].value
		if parts[n].err == nil && !p.mark.Over && taken[n] == len(p.flows) && at < p.upTo {
			return true
		}
	}
	return false
}

// flowInfo is what a list tells of a flow.
func (v *view) flowInfo(f *flowlook.Flow) FlowInfo {
	info := FlowInfo{ID: f.ID, AsOf: f.AsOf, State: flow.State(f.State), Batch: f.Batch, Total: f.Total,
		Done: f.Done(), Dead: f.Dead,
		Cancelled: f.Cancelled, Otherwise: f.Otherwise, Left: f.Left, Generation: f.Generation, Paused: f.Paused,
		Cancelling: f.Cancelling, Releasing: f.Busy, Stored: f.Created, Sealed: f.Sealed, Ended: f.Ended,
		Outer: f.Outer(), Partition: v.partition}
	if !f.Ended.IsZero() {
		info.KeptUntil = f.Ended.Add(f.Keep)
	}
	if f.State == string(flow.Filling) {
		info.Done = 0
	}
	end := func(there bool, name string) *FlowEnd {
		if !there {
			return nil
		}
		id := f.ID + "/" + name
		if f.Generation > 1 {
			id += "#" + strconv.Itoa(f.Generation)
		}
		return &FlowEnd{ID: id}
	}
	info.OnDone, info.OnDeath = end(f.OnDone, flowlook.AtDone), end(f.OnDeath, flowlook.AtDeath)
	return info
}

// Flow reads how far a flow is. It is [flow.ErrNoFlow] where there is none of that id, or it is kept no longer.
func (i *Inspector) Flow(ctx context.Context, id string) (FlowInfo, error) {
	v, found, err := i.findFlow(ctx, id)
	if err != nil {
		return FlowInfo{}, err
	}
	info := v.flowInfo(&found)
	if info.OnDone == nil && info.OnDeath == nil {
		return info, nil
	}
	done, dead, err := flowlook.Of(v.store).Last(ctx, id)
	if err != nil {
		return info, flowFailed(id, err)
	}
	for _, end := range []struct {
		of    *FlowEnd
		queue string
	}{{info.OnDone, done}, {info.OnDeath, dead}} {
		if end.of == nil {
			continue
		}
		end.of.Job = needs.Name(end.queue)
		if !info.State.Ended() {
			continue
		}
		job, err := i.Job(ctx, end.of.ID)
		if err == nil {
			end.of.State = job.State
		} else if !errors.Is(err, work.ErrNotFound) {
			return info, flowFailed(id, err)
		}
	}
	return info, nil
}

// findFlow finds the partition of a flow.
func (i *Inspector) findFlow(ctx context.Context, id string) (*view, flowlook.Flow, error) {
	if i.unusable != nil {
		return nil, flowlook.Flow{}, i.unusable
	}
	v, found, err := seek(ctx, i, id, seeking[flowlook.Flow]{
		question: func(v *view, ctx context.Context) (flowlook.Flow, error) {
			read, err := flowlook.Of(v.store).Read(ctx, id)
			if err != nil {
				return flowlook.Flow{}, err
			}
			if read[0].State == "" || read[0].Lodged {
				return flowlook.Flow{}, work.ErrNotFound
			}
			return read[0], nil
		}})
	if errors.Is(err, work.ErrNotFound) && !partial(err) {
		err = flow.ErrNoFlow
	}
	if err != nil {
		return nil, found, flowFailed(id, err)
	}
	return v, found, nil
}

func flowFailed(id string, err error) error { return fmt.Errorf("flow %s: %w", excerpt.Brief(id), err) }
