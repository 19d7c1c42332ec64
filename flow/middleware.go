package flow

import (
	"context"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/inside"
)

// Storing is what a [work.EnqueueMiddleware] learns of the flow to which the entries belong that it gets: see
// [StoringFromContext]. Nobody changes it. Entries of a flow that is in another come by a call of their own, within
// that.
type Storing struct {
	Flow    string   // its id
	Members []string // the name of the member that each entry is; "@done" and "@dead" are what runs at the end
	After   [][]int  // of each entry those that it waits for, by their places; nil where none waits
}

type storingKey struct{}

// StoringFromContext tells an [work.EnqueueMiddleware] that the entries that it gets with this ctx are members of a
// flow; it returns nil where they are jobs by themselves. The ctx that it gives to next has it too, and what it gives
// there to the first part of a batch the later parts get.
func StoringFromContext(ctx context.Context) *Storing {
	storing, _ := ctx.Value(storingKey{}).(*Storing)
	return storing
}

// pass takes entries through the middleware of an Enqueuer to what stores them.
func pass(ctx context.Context, enq *work.Enqueuer, of *Storing, entries []work.Entry,
	store func(ctx context.Context, entries []work.Entry) (Receipt, error)) (receipt Receipt, err error) {
	if len(entries) == 0 {
		return store(ctx, entries)
	}
	ctx = context.WithValue(ctx, storingKey{}, of)
	next := work.EnqueueFunc(func(ctx context.Context, entries []work.Entry) ([]work.Receipt, error) {
		receipts := make([]work.Receipt, len(entries))
		var err error
		if receipt, err = store(ctx, entries); err != nil {
			return receipts, err
		}
		for i, member := range of.Members {
			receipts[i] = work.Receipt{ID: of.Flow + "/" + member, Duplicate: receipt.Duplicate}
		}
		return receipts, nil
	})
	err = inside.Pass(ctx, enq, entries, next)
	return receipt, err
}

// passAll is pass of the flow, and then of each that is in it.
func (f *Flow) passAll(ctx context.Context, enq *work.Enqueuer,
	store func(ctx context.Context, f *Flow) (Receipt, error)) (Receipt, error) {
	return f.pass(ctx, enq, func(ctx context.Context, f *Flow) (Receipt, error) {
		return f.passInner(ctx, enq, 0, store)
	})
}

// passInner is passAll of those that are in a flow which has been passed, from that one of its jobs on.
func (f *Flow) passInner(ctx context.Context, enq *work.Enqueuer, from int,
	store func(ctx context.Context, f *Flow) (Receipt, error)) (Receipt, error) {
	for i, j := range f.jobs[from:] {
		if j.inner != nil {
			return j.inner.passAll(ctx, enq, func(ctx context.Context, inner *Flow) (Receipt, error) {
				j.inner, inner.outer = inner, j
				return f.passInner(ctx, enq, from+i+1, store)
			})
		}
	}
	return store(ctx, f)
}

// pass takes all jobs of the flow through the middleware, and stores a flow with what came out.
func (f *Flow) pass(ctx context.Context, enq *work.Enqueuer,
	store func(ctx context.Context, f *Flow) (Receipt, error)) (Receipt, error) {
	of, entries, places := &Storing{Flow: f.ID()}, []work.Entry(nil), map[*Job]int{}
	for _, j := range f.jobs {
		if j.inner == nil {
			of.Members, entries, places[j] = append(of.Members, j.name), append(entries, j.entry), len(entries)
		}
	}
	for i, end := range []*work.Entry{f.onDone, f.onDeath} {
		if end != nil {
			of.Members, entries = append(of.Members, []string{atDone, atDeath}[i]), append(entries, *end)
		}
	}
	of.After = make([][]int, len(entries))
	for j, at := range places {
		for _, e := range j.after {
			if e.from.inner == nil {
				of.After[at] = append(of.After[at], places[e.from])
			}
		}
	}
	return pass(ctx, enq, of, entries, func(ctx context.Context, entries []work.Entry) (Receipt, error) {
		passed := f.with(enq, entries)
		defer func() { f.fresh = passed.fresh }()
		return store(ctx, passed)
	})
}

// with is the same flow with other entries, as pass lists them. It passes for f also where their args are others.
func (f *Flow) with(enq *work.Enqueuer, entries []work.Entry) *Flow {
	same := *f
	same.known, same.jobs = f.digest(enq), make([]*Job, len(f.jobs))
	now := make(map[*Job]*Job, len(f.jobs))
	rest := entries
	for i, j := range f.jobs {
		job := *j
		job.flow, job.after = &same, nil
		if job.inner == nil {
			job.entry, rest = rest[0], rest[1:]
		}
		same.jobs[i], now[j] = &job, &job
	}
	for i, j := range f.jobs {
		for _, e := range j.after {
			same.jobs[i].after = append(same.jobs[i].after, edge{from: now[e.from], rule: e.rule})
		}
	}
	for _, end := range []**work.Entry{&same.onDone, &same.onDeath} {
		if *end != nil {
			*end, rest = &rest[0], rest[1:]
		}
	}
	return &same
}
