package work

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/handler"
)

// ErrNextMisused is in the error of a job whose middleware has done something wrong with its next, also where the
// middleware itself returned nil, and in that of an enqueue. The text says what, and which middleware it was.
var ErrNextMisused = errors.New("next was misused")

// nextMisuse is what a middleware may do wrong with its next.
type nextMisuse string

const (
	// The rest of the chain ran once only.
	nextCalledTwice nextMisuse = "next was called twice, it runs the job and may be called once"
	// It was running in another goroutine.
	nextUnfinished nextMisuse = "next was still running when the middleware returned nil, wait for it"
	// Only the caller of next sees it: the job has ended.
	nextTooLate    nextMisuse = "next was called after the middleware had returned"
	nextNilContext nextMisuse = "next was called with a nil context, give it the one that the middleware got"
)

func (m nextMisuse) Error() string { return string(m) }

// Is finds ErrNextMisused.
func (m nextMisuse) Is(target error) bool { return target == ErrNextMisused }

// middleware is a compiled middleware: user code, checked and guarded. It gets the job's copy of the prototype and what
// it stands before.
type middleware func(ctx context.Context, own handler.UserContext, job *Job, next NextFunc) error

// runner runs one job: a handler, alone or with middleware around it. The result counts only without an error.
type runner func(ctx context.Context, own handler.UserContext, job *Job) (result any, hasResult bool, err error)

// runnerOf is a handler without middleware. A job whose arguments do not fit ends with an *ArgumentError.
func runnerOf(h *handler.Handler) runner {
	return func(ctx context.Context, own handler.UserContext, job *Job) (any, bool, error) {
		call := handler.Call{Own: own, Job: job, Args: job.Args, Objects: job.objects()}
		result, hasResult, err := h.Run(ctx, call)
		if err != nil {
			return nil, false, job.failed(argumentError(err, true))
		}
		return result, hasResult, nil
	}
}

// compileMiddleware checks that fn is func([*C,] context.Context, *Job, NextFunc) error for pools with this prototype,
// and prepares its calls. Every refusal is a *SignatureError.
func compileMiddleware(c *handler.Compiler, fn any) (middleware, error) {
	compiled, err := c.Middleware(fn)
	if err != nil {
		return nil, signatureError(err)
	}
	call := func(ctx context.Context, own handler.UserContext, job *Job, next NextFunc) error {
		return compiled.Run(ctx, own, job, next)
	}
	return guarded(compiled.String(), directly(fn, call)), nil
}

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
		result, hasResult, err := h(ctx, p.own, p.job)
		if hasResult {
			p.result.Store(&result)
		}
		return err
	}
	for i := len(mws) - 1; i >= 0; i-- {
		rest = around(mws[i], rest)
	}
	return func(ctx context.Context, own handler.UserContext, job *Job) (any, bool, error) {
		p := &passage{own: own, job: job}
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
	own    handler.UserContext
	job    *Job
	result atomic.Pointer[any]
}

func around(m middleware, rest func(context.Context, *passage) error) func(context.Context, *passage) error {
	return func(ctx context.Context, p *passage) error {
		return m(ctx, p.own, p.job, func(ctx context.Context) error { return rest(ctx, p) })
	}
}

// directly calls a function that takes no context of the pool as what it is, in a third of the time, and others
// otherwise.
func directly(fn any, otherwise middleware) middleware {
	plain, ok := fn.(func(context.Context, *Job, NextFunc) error)
	if !ok {
		return otherwise
	}
	return func(ctx context.Context, _ handler.UserContext, job *Job, next NextFunc) error {
		return plain(ctx, job, next)
	}
}

// guarded makes a middleware answer for its use of next. The guard, not the chain, does it because only here the name
// is known.
func guarded(name string, call middleware) middleware {
	return func(ctx context.Context, own handler.UserContext, job *Job, next NextFunc) error {
		g := &nextGuard{middleware: name, next: next}
		return g.end(call(ctx, own, job, g.run))
	}
}

// nextGuard is the next of one call of a middleware. It lets the rest of the chain run at most once and not after the
// middleware has returned, since the handler would run beside the end of its own attempt.
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
		return g.misused(nextNilContext)
	}
	if !g.phase.CompareAndSwap(nextUncalled, nextRunning) {
		if g.phase.Load() == nextClosed {
			return g.misused(nextTooLate)
		}
		return g.misused(nextCalledTwice)
	}
	defer g.phase.Store(nextReturned) // also when it panics: a middleware may recover and go on
	return g.next(ctx)
}

func (g *nextGuard) misused(misuse error) error {
	err := fmt.Errorf("middleware %s: %w", g.middleware, misuse)
	g.misuse.CompareAndSwap(nil, &err)
	return err
}

// end makes the outcome of the middleware out of what it returned. A misuse counts more than any other outcome, unless
// what was returned carries it: then the middleware had its say.
func (g *nextGuard) end(returned error) error {
	g.phase.CompareAndSwap(nextUncalled, nextClosed)
	returned = errchain.Tame(returned)
	if misuse := g.misuse.Load(); misuse != nil {
		if errors.Is(returned, *misuse) {
			return returned
		}
		return *misuse
	}
	if returned == nil && g.phase.Load() == nextRunning {
		return g.misused(nextUnfinished)
	}
	return returned
}
