package inspect

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// Action is what [Inspector.Bulk] does to each of the jobs. The zero value is none.
type Action struct {
	control control
	err     error
}

// The actions, each as the method of [Inspector] of that name.
var (
	ActionStall       = Action{control: stalling()}
	ActionResume      = Action{control: resuming()}
	ActionRunNow      = Action{control: running()}
	ActionMoveToFront = Action{control: fronting()}
	ActionDelete      = Action{control: deleting()}
)

// ActionRetryNow is [Inspector.RetryNow] of each job.
func ActionRetryNow(opts ...RetryOption) Action { return Action{control: retrying(opts)} }

// ActionReschedule is [Inspector.Reschedule] of each job.
func ActionReschedule(at time.Time) Action {
	c, err := rescheduling(at)
	return Action{control: c, err: err}
}

// BulkOptions says how [Inspector.Bulk] goes about it. The zero value acts on all jobs that are selected.
type BulkOptions struct {
	DryRun bool // count only
	Limit  int  // end after so many jobs that were selected; 0 is no limit
	// called after each page, with how many jobs were looked at, of about how many; may be nil
	Progress func(done, total int)
}

// BulkReport says how far a Bulk got.
type BulkReport struct {
	Total    int // how many jobs of that state there were when it began
	Looked   int // how many were looked at
	Matched  int // how many of them were selected
	Done     int // how many of them it was done to; 0 for a dry run
	Changed  int // how many had moved on meanwhile: nothing was done to them
	Far      int // how many stood too deep in their queue, see TooDeepError
	Refused  []BulkFailure
	Complete bool // all of them were looked at, or as many as Limit says were done
}

// BulkFailure is a job with which something is wrong, so that nothing was done to it. A report has at most 100 of them;
// Matched counts the others.
type BulkFailure struct {
	ID  string
	Err error
}

const maxBulkFailures = 100

// Bulk does one thing to all jobs that are selected. It reads them in pages, while workers go on: each job is changed
// only if it still is where it was seen, and counted as Changed otherwise. Each is looked at once, however it moves;
// those that come after it began may be among them or not. When ctx ends it ends before the next page. With an error
// the report says how far it got; doing it again goes on with what is left. A selection that cannot be, or an action
// that is not for that state, is an *[work.InvalidError].
func (i *Inspector) Bulk(ctx context.Context, selection Selection, action Action, opts BulkOptions) (BulkReport,
	error) {
	b := bulk{selection: selection, action: action, opts: opts}
	err := b.validate()
	if err == nil {
		of := i.served(ctx)
		if err = of.err; err == nil {
			err = b.run(ctx, of)
		}
	}
	if err != nil {
		return b.report, fmt.Errorf("the bulk ended after %d of %d jobs: %w", b.report.Looked, b.report.Total, err)
	}
	b.report.Complete = true
	return b.report, nil
}

// bulk is one Bulk under way.
type bulk struct {
	*view     // the partition that it is at
	selection Selection
	action    Action
	opts      BulkOptions
	report    BulkReport
	seen      map[uint64]struct{} // jobs that were looked at
	seed      maphash.Seed
}

func (b *bulk) validate() error {
	if b.action.err != nil {
		return b.action.err
	}
	if err := b.selection.validate(); err != nil {
		return err
	}
	c := b.action.control
	if c.order == nil {
		return &work.InvalidError{What: "the action", Value: "the zero Action",
			Remedy: "use ActionDelete or one of the others"}
	}
	if refused := c.refusal(&seenJob{state: b.selection.State}); refused != nil {
		return &work.InvalidError{What: "the state of the selection", Value: string(b.selection.State),
			Remedy: "only jobs that are " + alternatives(refused.(*StateError).Wanted) + " can be " + c.past}
	}
	if b.opts.Limit < 0 {
		return &work.InvalidError{What: "the limit of the bulk", Value: fmt.Sprint(b.opts.Limit),
			Remedy: "use 0 for none"}
	}
	return nil
}

// run goes through one partition after the other. One that fails is left.
func (b *bulk) run(ctx context.Context, of scope) error {
	sources := ask(ctx, of.views, func(v *view, ctx context.Context) ([]*source, error) {
		return v.sources(ctx, &b.selection)
	})
	for _, at := range sources {
		for _, from := range at.value {
			b.report.Total += from.length
		}
	}
	for n := range sources {
		at := &sources[n]
		b.view = at.from
		for k := 0; k < len(at.value) && at.err == nil && !b.full(); k++ {
			at.err = b.walk(ctx, at.value[k])
		}
	}
	return failure(sources)
}

// walk goes through all that stands in one place, to its end: what is moved, or comes, may stand before what is still
// to be read.
func (b *bulk) walk(ctx context.Context, from *source) error {
	size := 16 // of a page, which grows and shrinks with the bytes in it
	for read, ended := 0, false; !ended && !b.full(); {
		if ctx.Err() != nil {
			return excerpt.Error(context.Cause(ctx))
		}
		page, err := from.next(ctx, size)
		if err != nil || len(page) == 0 {
			return err
		}
		ended = from.shelf == "" && len(page) < size // the front of the queue: what came meanwhile is at its back
		if read += len(page); read > outrunAt(from.length) {
			return fmt.Errorf("jobs come faster than they can be looked at: pause %s, and do it again",
				cmp.Or(from.queue, "their queues"))
		}
		if page = b.unseen(page); len(page) == 0 {
			continue
		}
		now, bytes, err := b.store.Describe(ctx, page)
		if err != nil {
			return err
		}
		gone, err := b.turn(ctx, page, now)
		if err != nil {
			return err
		}
		from.left(gone)
		size = rdb.NextPage(size, bytes)
	}
	return nil
}

// outrunAt is how many jobs are read of a place that had so many when the bulk began, before it gives up: some come
// again, or anew.
func outrunAt(length int) int { return 4*length + 10_000 }

// unseen leaves out the jobs that this bulk has looked at, which stand elsewhere by now. It knows them by 64 bits of a
// hash.
func (b *bulk) unseen(page []rdb.SeenJob) []rdb.SeenJob {
	if b.seen == nil {
		b.seen, b.seed = map[uint64]struct{}{}, maphash.MakeSeed()
	}
	return slices.DeleteFunc(page, func(entry rdb.SeenJob) bool {
		digest := maphash.String(b.seed, entry.ID)
		_, known := b.seen[digest]
		b.seen[digest] = struct{}{}
		return known
	})
}

func (b *bulk) full() bool { return b.opts.Limit > 0 && b.report.Matched >= b.opts.Limit }

// turn does what is to be done with one page, and returns how many have left their place.
func (b *bulk) turn(ctx context.Context, page []rdb.SeenJob, now int64) (gone int, err error) {
	var matched []*seenJob
	for _, entry := range page {
		if b.full() {
			break
		}
		b.report.Looked++
		b.report.Total = max(b.report.Total, b.report.Looked)
		seen := &seenJob{SeenJob: entry, state: b.selection.State, now: now}
		if b.selection.matches(seen) {
			b.report.Matched++
			matched = append(matched, seen)
		}
	}
	if !b.opts.DryRun {
		gone, err = b.act(ctx, matched)
	}
	if b.opts.Progress != nil {
		b.opts.Progress(b.report.Looked, b.report.Total)
	}
	return gone, err
}

func (b *bulk) act(ctx context.Context, matched []*seenJob) (gone int, err error) {
	c := b.action.control
	orders := make([]rdb.Order, len(matched))
	for n, seen := range matched {
		orders[n] = c.order(b.store, seen)
	}
	for len(orders) > 0 {
		obeyed, err := b.store.Execute(ctx, orders)
		var again []*seenJob
		var anew []rdb.Order
		for n, o := range obeyed {
			order, ok := c.again(b.store, matched[n], o.Answer)
			if ok && o.Err == nil {
				again, anew = append(again, matched[n]), append(anew, order)
				continue
			}
			gone += b.count(matched[n], o)
		}
		if err != nil {
			return gone, err
		}
		matched, orders = again, anew
	}
	return gone, nil
}

func (b *bulk) refuse(seen *seenJob, err error) {
	if len(b.report.Refused) < maxBulkFailures {
		b.report.Refused = append(b.report.Refused, BulkFailure{ID: seen.ID, Err: err})
	}
}

// count books what came of one job, and returns 1 if it has left its place.
func (b *bulk) count(seen *seenJob, o rdb.OrderResult) int {
	switch {
	case o.Err != nil:
		b.refuse(seen, o.Err)
	case o.Answer == rdb.AnswerOwned:
		b.refuse(seen, seen.duplicate(o.Owner))
	case o.Answer == rdb.AnswerDone:
		b.report.Done++
		return 1
	case o.Answer == rdb.AnswerFlagged:
		b.report.Done++
	case o.Answer == rdb.AnswerFar:
		b.report.Far++
	default:
		b.report.Changed++
		return 1
	}
	return 0
}
