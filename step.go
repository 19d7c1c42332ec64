package work

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/longjob"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// Step does a part of a job that is not to be done again once it has succeeded. It calls do and stores what that
// returns, as JSON, under this name. In a later attempt of the same job it returns what is stored, and do is not
// called: after a failure, a release, a snooze, a crash of the worker, a deploy.
//
//	rows, err := work.Step(ctx, "download", func(ctx context.Context) (Rows, error) { return download(ctx, url) })
//	if err != nil {
//		return err
//	}
//
// A step is done at least once, and nearly always exactly once. It is done again where the worker died, or lost the
// job, after do had succeeded and before Redis had its result; so what do does to others should bear that, with the id
// of the job and the name of the step as its key. The result is written under the claim of this attempt, so a worker
// that was taken for dead writes nothing ([ClaimGoneError]). While Redis cannot be reached Step tries again, until ctx
// ends and 0.9 s more. A full Redis refuses the result ([ErrRedisFull]): do has succeeded, and is called again by the
// next attempt.
//
// A step is known by its name, not by where it stands: others may be added and taken away between two attempts. Names
// have 1 to 255 bytes. The same name twice in one attempt is a *[StepError], also after an error of do: try again
// inside of do, or in the next attempt. So is a name under which a value of another type is stored, or another kind of
// thing; give a step whose type changes a new name. T is what encoding/json can encode and decode; the value returned
// is the decoded one, the first time too. Use struct{} where there is nothing to return.
//
// A job has at most 1,000 steps and waits, with at most 1 MiB of names and JSON together; what would be more is a
// *[StepError], and is not stored. They go away with the job, are kept in the morgue, and live a year after the last
// one was written. An error of do is returned, with the name of the step before it; [RetryIn], [Bury] and the like in
// it mean what they always do. What do panics with goes on.
//
// ctx is that of a handler or middleware, or made of it; with another one it is [ErrNoPool]. A handler that takes jobs
// [Together] uses that of each of them, [Item.Context]. Steps of different names may be done at the same time. Steps do
// not nest: do is given a ctx with which Step, [Sleep] and [Receive] are a *[StepError].
func Step[T any](ctx context.Context, name string, do func(context.Context) (T, error)) (T, error) {
	var value, none T
	s, err := begin(ctx, name)
	if err != nil {
		return none, err
	}
	kind := handler.TypeName[T]()
	if s.found {
		if err := s.recall(kind, &value); err != nil {
			return none, err
		}
		return value, nil
	}
	var made T
	err = s.around(ctx, func(ctx context.Context) (err error) {
		made, err = do(ctx)
		return err
	})
	if err != nil {
		return none, fmt.Errorf("step %s: %w", excerpt.Brief(name), err)
	}
	if err := s.keep(ctx, kind, made, &value); err != nil {
		return none, err
	}
	return value, nil
}

type stepKey struct{}

// stepping is a call of Step, Sleep or Receive.
type stepping struct {
	job   *Job
	long  *longjob.Attempt
	name  string
	begun time.Time

	found  bool // something is stored under the name
	stored record.Step
}

// begin looks what is stored under the name.
func begin(ctx context.Context, name string) (*stepping, error) {
	job := JobFromContext(ctx)
	if job == nil || job.run == nil {
		return nil, fmt.Errorf("step %s: %w with this ctx: give it that of a handler", excerpt.Brief(name), ErrNoPool)
	}
	s := &stepping{job: job, long: job.run.longJob(), name: name, begun: time.Now()}
	if outer, _ := ctx.Value(stepKey{}).(string); outer != "" {
		return nil, s.problem("is asked for inside of step " + excerpt.Brief(outer) +
			": steps do not nest, so do it before or after")
	}
	if problem := badStepName(name); problem != "" {
		return nil, s.problem(problem)
	}
	if isOfBatch(ctx, job) {
		return nil, s.problem("is asked for with the ctx of a batch, which is of several jobs: use " +
			"item.Context(ctx), that of one of them")
	}
	text, found, err := s.long.BeginStep(ctx, name)
	if err != nil {
		return nil, s.failed(err)
	}
	if s.found = found; found {
		if s.stored, err = record.DecodeStep(text); err != nil {
			return nil, s.problem(err.Error())
		}
	}
	return s, nil
}

// recall decodes what is stored of a step that was done.
func (s *stepping) recall(kind string, value any) error {
	if s.stored.Kind != record.StepDone {
		return s.problem("is " + nounOf(s.stored.Kind) + ", and is asked for as a step: give one of them another name")
	}
	if s.stored.Type != kind {
		return s.problem(fmt.Sprintf("has stored a %s, and is asked for a %s: give the step a new name where its type "+
			"changes", excerpt.Text(s.stored.Type, excerpt.Name), excerpt.Text(kind, excerpt.Name)))
	}
	open, err := s.open(codec.Step(s.job.ID, s.name))
	if err != nil {
		return err
	}
	return s.decode(open, value)
}

// open is the stored value as it was before codecs had it.
func (s *stepping) open(use string) ([]byte, error) {
	open, err := s.job.run.codecs().Open(use, s.stored.Value)
	if err != nil {
		return nil, &StepError{Job: s.job.ID, Step: s.name, Problem: "has stored what cannot be opened",
			Err: codecError("its value", err)}
	}
	return open, nil
}

func (s *stepping) decode(encoded []byte, value any) error {
	if err := decodeValue(encoded, value); err != nil {
		return &StepError{Job: s.job.ID, Step: s.name, Err: err,
			Problem: fmt.Sprintf("has stored what does not fit a %T", value)}
	}
	return nil
}

// keep stores the result of a step that has succeeded.
func (s *stepping) keep(ctx context.Context, kind string, made, value any) error {
	took := time.Since(s.begun)
	encoded, err := encodeValue(made)
	if err != nil {
		return &StepError{Job: s.job.ID, Step: s.name, Err: err, Problem: "has returned what cannot be stored"}
	}
	if len(encoded) > rdb.MaxStepBytes {
		return s.failed(longjob.ErrFull)
	}
	if err := s.decode(encoded, value); err != nil {
		return err
	}
	if encoded, err = s.job.run.codecs().Encode(codec.Step(s.job.ID, s.name), encoded); err != nil {
		return &StepError{Job: s.job.ID, Step: s.name, Problem: "has returned what cannot be stored",
			Err: codecError("its value", err)}
	}
	done := record.Step{At: s.job.run.now(), Took: took, Type: kind, Value: encoded}
	if err := s.long.WriteStep(ctx, s.name, done.Encode()); err != nil {
		return s.failed(err)
	}
	s.tell(event.StepDone{Kind: event.StepKindStep, Elapsed: took, Bytes: len(encoded)})
	return nil
}

func (s *stepping) tell(e event.StepDone) {
	e.Step = s.name
	s.job.run.tellStep(e)
}

type aroundKey struct{}

// AroundFunc is called around each step: see [AroundSteps].
type AroundFunc func(ctx context.Context, step string, next NextFunc) error

// AroundSteps returns a ctx with which each [Step] calls around, which calls next to have the step done, and gets its
// error; a middleware gives that ctx to its own next. It is not called for a step that was done by an earlier attempt.
// Of several the one of the outermost middleware is the outermost. An error that it returns is that of the step; if it
// does not call next the step is not done, and must not return nil: that is an error.
func AroundSteps(ctx context.Context, around AroundFunc) context.Context {
	outer, _ := ctx.Value(aroundKey{}).(AroundFunc)
	if outer == nil {
		return context.WithValue(ctx, aroundKey{}, around)
	}
	return context.WithValue(ctx, aroundKey{}, AroundFunc(
		func(ctx context.Context, step string, next NextFunc) error {
			return outer(ctx, step, func(ctx context.Context) error { return around(ctx, step, next) })
		}))
}

// around has the step done, within what middleware has put around it.
func (s *stepping) around(ctx context.Context, do NextFunc) error {
	called := false
	next := func(ctx context.Context) error {
		called = true
		return do(context.WithValue(ctx, stepKey{}, s.name))
	}
	var err error
	if around, _ := ctx.Value(aroundKey{}).(AroundFunc); around != nil {
		err = around(ctx, s.name, next)
	} else {
		err = next(ctx)
	}
	if err == nil && !called {
		return s.problem("was not done, since what is around it (AroundSteps) returned nil without calling next")
	}
	return err
}
