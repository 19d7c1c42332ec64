package work

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/unique"
)

// Kind is a kind of job: a name, the type A of its args, and the type R of its result, so that the compiler finds who
// enqueues or handles it with others. A program declares it once, where both its enqueuers and its workers see it:
//
//	type WatchArgs struct {
//		User       int64 `json:"user" work:"unique"`
//		Suggestion int64 `json:"suggestion"`
//	}
//
//	var CreateWatch = work.Define[WatchArgs]("create_watch", work.JobOptions{Retries: 5})
//
//	work.Handle(pool, CreateWatch, (*Context).CreateWatch) // func(*Context, context.Context, WatchArgs) error
//	receipt, err := CreateWatch.Enqueue(ctx, enq, WatchArgs{User: 7, Suggestion: 42})
//
// A is most often a struct, and may be any type that encoding/json encodes and decodes. The args of the job are a list
// of that one value, so that the other form of the same job is a handler with one parameter, registered with Job, and
// enq.Enqueue(ctx, "create_watch", WatchArgs{...}).
//
// A mistake in a kind is returned by the Start of a pool that handles it, and by each enqueue of it. All methods may be
// called concurrently.
type Kind[A, R any] struct{ definition *definition }

// definition is what a Kind is apart from its types.
type definition struct {
	name    string
	options JobOptions
	extra   error // a mistake that a registration would not find
	entry   entryKind
}

// Define makes a kind of job without a result. At most one JobOptions is given: a pool that handles the kind registers
// it with them, and an enqueue of the kind is as unique as they say, whose Enqueuer it may be.
func Define[A any](name string, opts ...JobOptions) *Kind[A, NoResult] {
	return &Kind[A, NoResult]{define[A](name, opts, caller())}
}

// DefineResult is [Define] of a kind whose jobs have a result.
func DefineResult[A, R any](name string, opts ...JobOptions) *Kind[A, R] {
	return &Kind[A, R]{define[A](name, opts, caller())}
}

// define keeps mistakes for those who can be told.
func define[A any](name string, opts []JobOptions, site string) *definition {
	d := &definition{name: name}
	if len(opts) > 0 {
		d.options = opts[0]
	}
	if len(opts) > 1 {
		d.extra = &InvalidError{What: "Define", Value: fmt.Sprintf("given %d JobOptions", len(opts)),
			Remedy: "give one, or none"}
	}
	switch args := any((*A)(nil)).(type) {
	case **Job, *context.Context:
		d.extra = &InvalidError{What: "args of the kind",
			Value:  "of type " + strings.TrimPrefix(fmt.Sprintf("%T", args), "*"),
			Remedy: "use data; a handler has its ctx, and its job by JobFromContext"}
	}
	mistakes := append(d.options.validate(), validateName(name), d.options.checkLimits(name),
		d.options.checkQueue(name), d.extra)
	only, err := d.options.Unique.taking(name, unique.ArgsOf[A]())
	if err != nil {
		err = fmt.Errorf("JobOptions.Unique: %w", err)
	}
	d.entry.unique = only
	codecs, wrong := newCodecs("JobOptions.Codecs", d.options.Codecs)
	d.entry.codecs, mistakes = codecs, append(mistakes, wrong)
	if err := excerpt.Join(append(mistakes, err)...); err != nil {
		d.entry.err = fmt.Errorf("job %s (defined at %s): %w", excerpt.Brief(name), site, err)
	}
	return d
}

// undefined is what a Kind is that Define has not made.
var undefined = func() *definition {
	err := &InvalidError{What: "kind of job", Value: "nil or zero", Remedy: "make it with Define"}
	return &definition{extra: err, entry: entryKind{err: err}}
}()

// known is the definition, also of what is none.
func (k *Kind[A, R]) known() *definition {
	if k == nil || k.definition == nil {
		return undefined
	}
	return k.definition
}

// Handle registers the handler of a kind with a pool: a method of the pool's context, given as a method expression such
// as (*Context).CreateWatch, from which C and A are inferred. A method of the pool or of the kind could not be checked
// by the compiler, since a Go method has no type parameters of its own: hence the function. C is the pointer to the
// context that the pool was made with; another one is a mistake that Start returns. It returns p.
func Handle[C, A any](p *WorkerPool, k *Kind[A, NoResult], fn func(C, context.Context, A) error) *WorkerPool {
	return handle(p, k.known(), fn, caller())
}

// HandleResult is [Handle] of a kind whose jobs have a result.
func HandleResult[C, A, R any](p *WorkerPool, k *Kind[A, R], fn func(C, context.Context, A) (R, error)) *WorkerPool {
	return handle(p, k.known(), fn, caller())
}

// HandleFunc is [Handle] with a function that does not take the pool's context: a closure, or a method of a value.
func HandleFunc[A any](p *WorkerPool, k *Kind[A, NoResult], fn func(context.Context, A) error) *WorkerPool {
	return handle(p, k.known(), fn, caller())
}

// HandleFuncResult is [HandleFunc] of a kind whose jobs have a result.
func HandleFuncResult[A, R any](p *WorkerPool, k *Kind[A, R], fn func(context.Context, A) (R, error)) *WorkerPool {
	return handle(p, k.known(), fn, caller())
}

// HandleTogether is [Handle] of a kind whose jobs are taken together, as its JobOptions.Together says. Where the jobs
// have results, of type R, the handler gives them by [Item.Return].
func HandleTogether[C, A, R any](p *WorkerPool, k *Kind[A, R], fn func(C, context.Context, Batch[A]) error,
) *WorkerPool {
	return handle(p, k.known(), fn, caller())
}

// HandleFuncTogether is [HandleTogether] with a function that does not take the pool's context.
func HandleFuncTogether[A, R any](p *WorkerPool, k *Kind[A, R], fn func(context.Context, Batch[A]) error) *WorkerPool {
	return handle(p, k.known(), fn, caller())
}

func handle(p *WorkerPool, d *definition, fn any, site string) *WorkerPool {
	if d.extra != nil {
		p.note(fmt.Errorf("job %s (registered at %s): %w", excerpt.Brief(d.name), site, d.extra))
	}
	if d == undefined {
		return p
	}
	return p.register(d.name, d.options, fn, site)
}

// Name is that of the jobs, and of their queue.
func (k *Kind[A, R]) Name() string { return k.known().name }

// Entry is a job of the kind for [Enqueuer.EnqueueMany], to which a time, a source and options may be added.
func (k *Kind[A, R]) Entry(args A) Entry {
	d := k.known()
	return Entry{Name: d.name, Args: []any{args}, kind: d.entry}
}

// Enqueue is [Enqueuer.Enqueue] of a job of the kind. The options beat those of enq.
func (k *Kind[A, R]) Enqueue(ctx context.Context, enq *Enqueuer, args A, opts ...EnqueueOption) (Receipt, error) {
	entry := k.Entry(args)
	entry.Options = opts
	return enq.enqueue(ctx, entry)
}

// EnqueueIn is [Enqueuer.EnqueueIn] of a job of the kind.
func (k *Kind[A, R]) EnqueueIn(ctx context.Context, enq *Enqueuer, d time.Duration, args A,
	opts ...EnqueueOption) (Receipt, error) {
	entry := k.Entry(args)
	entry.In, entry.Options = d, opts
	return enq.enqueue(ctx, entry)
}

// EnqueueAt is [Enqueuer.EnqueueAt] of a job of the kind.
func (k *Kind[A, R]) EnqueueAt(ctx context.Context, enq *Enqueuer, t time.Time, args A, opts ...EnqueueOption) (Receipt,
	error) {
	entry := k.Entry(args)
	entry.Options = opts
	return enq.enqueueAt(ctx, t, entry)
}

// Periodic is [WorkerPool.PeriodicWithOptions] of a job of the kind, with at most one PeriodicOptions. It returns p.
func (k *Kind[A, R]) Periodic(p *WorkerPool, spec string, args A, opts ...PeriodicOptions) *WorkerPool {
	request := scheduleRequest{spec: spec, name: k.Name(), args: []any{args}}
	if len(opts) > 0 {
		request.opts = opts[0]
	}
	if len(opts) > 1 {
		p.note(&InvalidError{What: "Periodic of job " + excerpt.Brief(k.Name()),
			Value: fmt.Sprintf("given %d PeriodicOptions", len(opts)), Remedy: "give one, or none"})
	}
	return p.addPeriodic(request, caller())
}

// Result is [Result] of a job of the kind.
func (k *Kind[A, R]) Result(ctx context.Context, enq *Enqueuer, id string) (R, error) {
	return Result[R](ctx, enq.opening(k.known()), id)
}

// Wait is [Wait] for a job of the kind. For one without a result it returns nil when the job is done.
func (k *Kind[A, R]) Wait(ctx context.Context, enq *Enqueuer, id string) (R, error) {
	return Wait[R](ctx, enq.opening(k.known()), id)
}

// WaitAll is [WaitAll] for jobs of the kind.
func (k *Kind[A, R]) WaitAll(ctx context.Context, enq *Enqueuer, ids ...string) ([]R, error) {
	return WaitAll[R](ctx, enq.opening(k.known()), ids...)
}

// opening is an Enqueuer that opens the results of a kind.
func (e *Enqueuer) opening(kind *definition) *Enqueuer {
	if kind.entry.codecs == nil {
		return e
	}
	with := *e
	with.settings.codecs = kind.entry.codecs.Or(e.settings.codecs)
	return &with
}
