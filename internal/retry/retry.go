// Package retry repeats a step that talks to Redis, or to a home of objects, until it is answered. The enqueuer, the
// readers of results and the engine call it, each with a step that may be taken twice. It never decides how long there
// is time: that is the ctx of its caller; nor what a final error of the program looks like: see Steps.
//
// Loops that go on after a success do not use it, but count with backoff.Failures, as it does: those that listen, flush
// or move what is due. So does a call of package intake, whose callers may leave between two attempts.
package retry

import (
	"context"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/redisconn"
)

// ErrFull says that Redis has reached its maxmemory. The root shows it as work.ErrRedisFull.
var ErrFull = errors.New("redis is full (maxmemory): it takes no new jobs until some have ended")

// Class is what the error of an attempt means.
type Class struct {
	Err      error // as it is told, so that errors.Is and errors.As come to an end
	MayCount bool  // it may have been executed, or still be
	Again    bool  // another attempt may go well
}

// Classify says what the error of an attempt means. It is not for nil.
func Classify(err error) Class {
	err = errchain.Tame(err) // a connection may be the program's
	class := redisconn.Classify(err)
	if redisconn.IsFull(err) {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	}
	return Class{Err: err, MayCount: class.MayCount, Again: class.Again}
}

// JoinCause names why the waiting ended and what was wrong with Redis until then, which may be nil.
func JoinCause(cause, trouble error) error {
	switch {
	case trouble == nil:
		return cause
	case errors.Is(trouble, cause):
		return trouble
	}
	return fmt.Errorf("%w: %w", cause, trouble)
}

// Steps knows what only the caller of a step can know of its errors.
type Steps struct {
	// the error of a step that panicked, made while it does: it may be code of the program; nil lets it panic
	Panicked func(value any) error
	Final    func(error) bool  // whether asking again is of no use; nil is never
	Classify func(error) Class // what the error of an attempt means, told of each once; nil is Classify
}

// UntilAnswered repeats a step until it is done, ctx ends, or another attempt would not go better. A step that panics
// is not repeated.
func (s Steps) UntilAnswered(ctx context.Context, step func(context.Context) error) error {
	classify := Classify
	if s.Classify != nil {
		classify = s.Classify
	}
	var trouble error
	var failures backoff.Failures
	for {
		err, panicked := s.take(ctx, step)
		if err == nil || panicked {
			return err
		}
		if trouble != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return JoinCause(context.Cause(ctx), trouble) // an attempt that was cut off says less than those before it
		}
		if s.Final != nil && s.Final(err) {
			return err
		}
		class := classify(err)
		if trouble == nil || ctx.Err() == nil {
			trouble = class.Err
		}
		if !class.Again {
			return class.Err
		}
		if !failures.Pause(ctx) {
			return JoinCause(context.Cause(ctx), trouble)
		}
	}
}

// take turns a panic of the step into an error.
func (s Steps) take(ctx context.Context, step func(context.Context) error) (err error, panicked bool) {
	if s.Panicked != nil {
		defer func() {
			if value := recover(); value != nil {
				err, panicked = s.Panicked(value), true
			}
		}()
	}
	return errchain.Tame(step(ctx)), false
}

// AtMost repeats a step a few times, until it is done, ctx ends, or another attempt would not go better.
func AtMost(ctx context.Context, tries int, step func(context.Context) error) error {
	var failures backoff.Failures
	for attempt := 1; ; attempt++ {
		err := step(ctx)
		if err == nil || attempt == tries || !Classify(err).Again || !failures.Pause(ctx) {
			return err
		}
	}
}
