package work

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// What a middleware may do wrong with its next. A job whose middleware did it ends with an error that wraps one of
// these and names the middleware, also when the middleware itself returned nil.
var (
	// ErrNextCalledTwice: next was called a second time. The rest of the chain ran once only.
	ErrNextCalledTwice = errors.New("next was called twice, it runs the job and may be called once")
	// ErrNextUnfinished: the middleware returned nil while next was still running in another goroutine.
	ErrNextUnfinished = errors.New("next was still running when the middleware returned nil, wait for it")
	// ErrNextTooLate: next was called after the middleware had returned. Only the caller of next sees it, the job has
	// ended.
	ErrNextTooLate = errors.New("next was called after the middleware had returned")
	// ErrNextNilContext: next was given no context.
	ErrNextNilContext = errors.New("next was called with a nil context, give it the one that the middleware got")
)

// middleware is a compiled middleware: user code, checked and guarded. It gets the job's context (userContext) and what
// it stands before.
type middleware func(ctx context.Context, uc userContext, job *Job, next NextFunc) error

// runner runs one job: a handler, alone or with middleware around it. The result counts only without an error.
type runner func(ctx context.Context, uc userContext, job *Job) (result any, hasResult bool, err error)

// chain puts middleware around a handler, the first one outermost:
//
//	chain([a, b, c], h) = a(b(c(h)))
//
// It is composed once, when the pool starts. A job that passes it costs one passage and one small closure per
// middleware.
func chain(mws []middleware, h runner) runner {
	if len(mws) == 0 {
		return h
	}
	rest := func(ctx context.Context, p *passage) error {
		result, hasResult, err := h(ctx, p.uc, p.job)
		if hasResult {
			p.result.Store(&result)
		}
		return err
	}
	for i := len(mws) - 1; i >= 0; i-- {
		rest = around(mws[i], rest)
	}
	return func(ctx context.Context, uc userContext, job *Job) (any, bool, error) {
		p := &passage{uc: uc, job: job}
		if err := rest(ctx, p); err != nil {
			return nil, false, err
		}
		if result := p.result.Load(); result != nil {
			return *result, true, nil
		}
		return nil, false, nil
	}
}

// passage is one job on its way through a chain. The handler leaves its result there, because what travels back through
// middleware is only an error. Atomic, because a middleware may give up waiting for a next that runs on.
type passage struct {
	uc     userContext
	job    *Job
	result atomic.Pointer[any]
}

func around(m middleware, rest func(context.Context, *passage) error) func(context.Context, *passage) error {
	return func(ctx context.Context, p *passage) error {
		return m(ctx, p.uc, p.job, func(ctx context.Context) error { return rest(ctx, p) })
	}
}

// directly calls a function that takes no context of the pool as what it is, in a third of the time, and others
// otherwise.
func directly(fn any, otherwise middleware) middleware {
	plain, ok := fn.(func(context.Context, *Job, NextFunc) error)
	if !ok {
		return otherwise
	}
	return func(ctx context.Context, _ userContext, job *Job, next NextFunc) error { return plain(ctx, job, next) }
}

// guarded makes a middleware answer for its use of next. The guard, not the chain, does it because only here the name
// is known.
func guarded(name string, call middleware) middleware {
	return func(ctx context.Context, uc userContext, job *Job, next NextFunc) error {
		g := &nextGuard{middleware: name, next: next}
		return g.end(call(ctx, uc, job, g.run))
	}
}

type nextGuard struct {
	middleware string
	next       NextFunc
	phase      atomic.Int32 // one of the phases below: next may be called from any goroutine
	misuse     atomic.Pointer[error]
}

const (
	nextUncalled = iota
	nextRunning
	nextReturned
	nextClosed // the middleware returned without calling it
)

// run is the next that the user's middleware gets.
func (g *nextGuard) run(ctx context.Context) error {
	if ctx == nil {
		return g.blame(ErrNextNilContext)
	}
	if !g.phase.CompareAndSwap(nextUncalled, nextRunning) {
		if g.phase.Load() == nextClosed {
			return g.blame(ErrNextTooLate)
		}
		return g.blame(ErrNextCalledTwice)
	}
	defer g.phase.Store(nextReturned) // also when it panics: a middleware may recover and go on
	return g.next(ctx)
}

func (g *nextGuard) blame(misuse error) error {
	err := fmt.Errorf("middleware %s: %w", g.middleware, misuse)
	g.misuse.CompareAndSwap(nil, &err)
	return err
}

// end makes the outcome of the middleware out of what it returned. A misuse counts more than any other outcome, unless
// what was returned carries it: then the middleware had its say.
func (g *nextGuard) end(returned error) error {
	g.phase.CompareAndSwap(nextUncalled, nextClosed)
	returned = tame(returned)
	if misuse := g.misuse.Load(); misuse != nil {
		if errors.Is(returned, *misuse) {
			return returned
		}
		return *misuse
	}
	if returned == nil && g.phase.Load() == nextRunning {
		return g.blame(ErrNextUnfinished)
	}
	return returned
}
