package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/265d0351/work/internal/errchain"
)

// What an [EnqueueMiddleware] may do wrong beside the other misuses of next. Nothing is stored.
const (
	nextNotCalled nextMisuse = "it returned nil without calling next: call it, or return an error that says why " +
		"nothing is stored"
	nextEntries nextMisuse = "next was given another number of entries: give it as many as the middleware got, in " +
		"the same order"
)

// EnqueueFunc stores entries: the next middleware or, at the end, the Enqueuer. There is one Receipt per entry, also
// with an error, which is an *[EnqueueError].
type EnqueueFunc func(ctx context.Context, entries []Entry) ([]Receipt, error)

// EnqueueMiddleware is a function around the storing of entries: those of one EnqueueMany, or the one of any other
// enqueue. What it was composed of, by [WithEnqueueMiddleware] or [WorkerOptions], is
//
//	[a, b] = a(b(store))
//
// The entries are its own to change, all but what Args holds; one that it makes anew instead is of no [Kind]. Their
// Options begin with those of [Enqueuer.With], so that Entry.Meta is what the job will have; what it appends to them
// beats them. They are checked at the end, by the store. Where it returns an error without calling next nothing is
// stored, and that error is the caller's. Otherwise what became of the jobs is what next said, whatever is returned: an
// error of its own comes to the caller as the cause of an *[EnqueueError] that lists the jobs as Stored, and nil does
// not hide an error of next. Only so is a job stored whose enqueue returned no error. next may be called once. A panic
// is an error of its own too, a *[PanicError]: where next was under way, the jobs are Unknown.
//
// It runs in the goroutine of the caller, in many at once, and not for an EnqueueMany without entries.
//
// What package flow stores goes through it as well: all members of a flow at once, behind them what runs at its end;
// the members of a batch in parts. A middleware learns that by flow.StoringFromContext.
type EnqueueMiddleware func(ctx context.Context, entries []Entry, next EnqueueFunc) error

// compose wraps e once for all of its calls. Without middleware there is nothing to pass through, and nothing to pay.
func (e *Enqueuer) compose() {
	if len(e.core.middlewares) == 0 {
		return
	}
	e.around = func(ctx context.Context, entries []Entry) ([]Receipt, error) {
		if len(entries) > 1 {
			return e.storeMany(ctx, entries)
		}
		receipt, err := e.store(ctx, entries[0])
		return []Receipt{receipt}, err
	}
	e.around = e.wrapped(e.around)
}

// wrapped is what stores, with the middleware around it.
func (e *Enqueuer) wrapped(store EnqueueFunc) EnqueueFunc {
	for i, m := range slices.Backward(e.core.middlewares) {
		store = passing(m, fmt.Sprintf("enqueue middleware %d of %d", i+1, len(e.core.middlewares)), store)
	}
	return store
}

// through has the middleware around what package flow stores: it does so by itself, once the middleware has let the
// entries through. They are the middleware's to change.
func (e *Enqueuer) through(ctx context.Context, entries []Entry, store EnqueueFunc) ([]Receipt, error) {
	return e.wrapped(store)(ctx, entries)
}

// pass sends entries through the middleware, which gets copies to change.
func (e *Enqueuer) pass(ctx context.Context, entries []Entry) ([]Receipt, error) {
	own := slices.Clone(entries)
	for i := range own {
		own[i].Options = slices.Concat(e.options, own[i].Options)
		if own[i].Source == 0 && len(own[i].Options) > 0 {
			own[i].Source = jobSettings{}.with(own[i].Options).source
		}
	}
	return e.around(ctx, own)
}

// passing is one middleware in front of the rest.
func passing(m EnqueueMiddleware, name string, rest EnqueueFunc) EnqueueFunc {
	return func(ctx context.Context, entries []Entry) ([]Receipt, error) {
		p := &enqueuePassage{middleware: name, entries: len(entries), rest: rest}
		if len(entries) == 1 {
			p.job = entries[0].Name
		}
		return p.end(p.call(ctx, m, entries))
	}
}

// call turns a panic of the middleware into its error: who enqueues did not ask for it.
func (p *enqueuePassage) call(ctx context.Context, m EnqueueMiddleware, entries []Entry) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%s: %w", p.middleware, recovered(value))
		}
	}()
	return errchain.Tame(m(ctx, entries, p.next))
}

// enqueuePassage is one call on its way through one middleware. Its phases are those of a nextGuard.
type enqueuePassage struct {
	middleware string
	entries    int
	job        string // its name, where there is one only
	rest       EnqueueFunc

	phase  atomic.Int32
	misuse atomic.Pointer[error]

	receipts []Receipt // written before the phase is nextReturned
	err      error
}

// next is what the middleware calls.
func (p *enqueuePassage) next(ctx context.Context, entries []Entry) ([]Receipt, error) {
	switch {
	case ctx == nil:
		return p.refuse(nextNilContext)
	case len(entries) != p.entries:
		return p.refuse(nextEntries)
	case !p.phase.CompareAndSwap(nextUncalled, nextRunning):
		if p.phase.Load() == nextClosed {
			return p.refuse(nextTooLate)
		}
		return p.refuse(nextCalledTwice)
	}
	p.receipts, p.err = p.rest(ctx, entries) // after a panic it is running for ever: what is stored is not known
	p.phase.Store(nextReturned)
	return slices.Clone(p.receipts), p.err
}

// refuse is what a wrong call of next gets: it has stored nothing.
func (p *enqueuePassage) refuse(misuse error) ([]Receipt, error) {
	err := fmt.Errorf("%s: %w", p.middleware, misuse)
	p.misuse.CompareAndSwap(nil, &err)
	return make([]Receipt, p.entries), p.failure(err)
}

// failure is the error of entries of which nothing is stored.
func (p *enqueuePassage) failure(err error) *EnqueueError {
	return &EnqueueError{NotStored: indices(p.entries), Err: err, job: p.job}
}

// end makes the outcome out of what the middleware returned and what next did.
func (p *enqueuePassage) end(returned error) ([]Receipt, error) {
	p.phase.CompareAndSwap(nextUncalled, nextClosed)
	if misuse := p.misuse.Load(); misuse != nil && !errors.Is(returned, *misuse) {
		returned = *misuse
	}
	switch p.phase.Load() {
	case nextClosed:
		return make([]Receipt, p.entries), p.unstored(returned)
	case nextRunning:
		if returned == nil {
			returned = fmt.Errorf("%s: %w", p.middleware, nextUnfinished)
		}
		return make([]Receipt, p.entries), &EnqueueError{Unknown: indices(p.entries), Err: returned, job: p.job}
	}
	return p.receipts, p.judged(returned)
}

// unstored is the error of a call whose middleware has not got as far as next.
func (p *enqueuePassage) unstored(returned error) error {
	if returned == nil {
		returned = fmt.Errorf("%s: %w", p.middleware, nextNotCalled)
	}
	// not errors.As: that very one, from a refused next
	if failure, ok := returned.(*EnqueueError); ok && len(failure.NotStored) == p.entries {
		return failure
	}
	return p.failure(returned)
}

// judged is the error of a call whose entries next has dealt with. It says of them what next said.
func (p *enqueuePassage) judged(returned error) error {
	var failure *EnqueueError
	if p.err != nil && !errors.As(p.err, &failure) {
		return p.err // no rest of ours returns such
	}
	switch {
	case returned == nil, returned == p.err: // not errors.Is: the same error and no other
		return p.err
	case failure == nil:
		return &EnqueueError{Stored: indices(p.entries), Err: returned, job: p.job}
	}
	return &EnqueueError{Stored: failure.Stored, NotStored: failure.NotStored, Unknown: failure.Unknown, Err: returned,
		job: p.job}
}
