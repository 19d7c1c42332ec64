package outcomes_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// hostile is an error each of whose methods does what it should not.
type hostile struct {
	name    string
	text    func() string
	unwrap  func() error
	is, as  func() bool
	marshal func() ([]byte, error)
}

func (h *hostile) Error() string {
	if h.text != nil {
		return h.text()
	}
	return h.name
}

func (h *hostile) Unwrap() error {
	if h.unwrap != nil {
		return h.unwrap()
	}
	return nil
}

func (h *hostile) Is(error) bool { return h.is != nil && h.is() }
func (h *hostile) As(any) bool   { return h.as != nil && h.as() }

func (h *hostile) MarshalJSON() ([]byte, error) { return h.marshal() }

// goexit has any type that a method is to return.
func goexit[T any]() T {
	runtime.Goexit()
	panic("not reached")
}

func boom[T any]() T { panic("boom") }

// misdeed is something that a job's code does to its processor.
type misdeed struct {
	name    string
	around  func(context.Context, *work.Job, work.NextFunc) error // middleware of this job
	handler func(*work.Job) (any, error)
	backoff func(*work.Job, error) // before it answers with an hour
	text    string                 // in the trail
	stack   string                 // in the trail, "" is no stack at all
	matches func(error) bool       // what observers get
}

func misdeeds() []misdeed { return slices.Concat(panics(), goexits(), errorsThatMisbehave()) }

func panics() []misdeed {
	cause := errors.New("a cause")
	return []misdeed{
		{name: "panic with text", handler: func(*work.Job) (any, error) { panic("out of beer") },
			text: "panic: out of beer", stack: "outcomes_test.panics", matches: has[*work.PanicError]},
		{name: "panic with an error", handler: func(*work.Job) (any, error) { panic(fmt.Errorf("wrapped: %w", cause)) },
			text: "panic: wrapped: a cause", stack: "outcomes_test.panics", matches: wraps(cause)},
		//lint:ignore nilness a panic with nil is what this row is about
		{name: "panic with nil", handler: func(*work.Job) (any, error) { panic(nil) },
			text: "panic: panic called with nil argument", stack: "outcomes_test.panics",
			matches: has[*work.PanicError]},
		{name: "panic with an error whose Error panics",
			handler: func(*work.Job) (any, error) { panic(&hostile{text: boom[string]}) },
			text:    "panic: a *outcomes_test.hostile whose text could not be had", stack: "outcomes_test.panics",
			matches: has[*work.PanicError]},
		//lint:ignore nilness a nil dereference is what this row is about
		{name: "nil dereference", handler: func(*work.Job) (any, error) { return (*hostile)(nil).name, nil },
			text: "panic: runtime error: invalid memory address", stack: "outcomes_test.panics",
			matches: has[*work.PanicError]},
		{name: "panic in middleware", around: func(context.Context, *work.Job, work.NextFunc) error {
			panic("at the door")
		},
			text: "panic: at the door", stack: "outcomes_test.panics", matches: has[*work.PanicError]},
		{name: "wrapped panic", around: func(ctx context.Context, _ *work.Job, next work.NextFunc) (err error) {
			defer func() {
				err = fmt.Errorf("audited: %w",
					&work.PanicError{Value: recover(), Stack: "a stack of its own"})
			}()
			return next(ctx)
		}, handler: func(*work.Job) (any, error) { panic("inside") },
			text: "audited: panic: inside", stack: "a stack of its own", matches: has[*work.PanicError]},
		{name: "result whose MarshalJSON panics", handler: func(*work.Job) (any, error) {
			return &hostile{marshal: boom2},
				nil
		},
			text: "cannot be kept: panic: boom", stack: "boom2", matches: has[*work.ResultError]},
		{name: "Backoff that panics", handler: fails(cause), backoff: func(*work.Job, error) { panic("no idea") },
			text: "a cause (and the backoff function panicked: no idea)", matches: wraps(cause)},
	}
}

func goexits() []misdeed {
	cases := []misdeed{
		{name: "Goexit in the handler", handler: func(*work.Job) (any, error) { return goexit[any](), nil }},
		{name: "Goexit in middleware", around: func(context.Context, *work.Job, work.NextFunc) error {
			return goexit[error]()
		}},
		{name: "Goexit after a panic", handler: func(*work.Job) (any, error) { defer runtime.Goexit(); panic("lost") }},
		{name: "panic after Goexit", handler: func(*work.Job) (any, error) {
			defer panic("late")
			return goexit[any](),
				nil
		}},
		{name: "Goexit in the result's MarshalJSON",
			handler: func(*work.Job) (any, error) { return &hostile{marshal: goexit2}, nil }},
		{name: "Goexit in the error's Error", handler: fails(&hostile{text: goexit[string]})},
		{name: "Goexit in the error's Unwrap", handler: fails(&hostile{unwrap: goexit[error]})},
		{name: "Goexit in Backoff", handler: fails(errors.New("no luck")),
			backoff: func(*work.Job, error) { runtime.Goexit() }},
	}
	for i := range cases {
		cases[i].text, cases[i].matches = "runtime.Goexit", has[*work.GoexitError]
		if cases[i].backoff != nil { // the handler's own error stays
			cases[i].text = "no luck (and the backoff function ended its goroutine)"
			cases[i].matches = func(err error) bool { return !has[*work.GoexitError](err) }
		}
	}
	return cases
}

func errorsThatMisbehave() []misdeed {
	return []misdeed{
		{name: "error whose Error panics", handler: fails(&hostile{text: boom[string]}),
			text: "a *outcomes_test.hostile whose text could not be had", matches: isHostile("")},
		{name: "nil pointer as an error", handler: fails((*hostile)(nil)),
			text:    "a *outcomes_test.hostile whose text could not be had",
			matches: func(err error) bool { return err == (*hostile)(nil) }},
		{name: "error whose Unwrap panics", handler: fails(&hostile{name: "u", unwrap: boom[error]}), text: "u",
			matches: isHostile("u")},
		{name: "error whose Is panics", handler: fails(&hostile{name: "i", is: boom[bool]}), text: "i",
			matches: isHostile("i")},
		{name: "error whose As panics", handler: fails(&hostile{name: "a", as: boom[bool]}), text: "a",
			matches: isHostile("a")},
		{name: "next called twice", around: func(ctx context.Context, _ *work.Job, next work.NextFunc) error {
			_, _ = next(ctx), next(ctx) // swallowed
			return nil
		}, text: "next was called twice", matches: misusesNext(enginetest.NextCalledTwice)},
	}
}

func fails(err error) func(*work.Job) (any, error) {
	return func(*work.Job) (any, error) { return nil, err }
}

func has[E interface {
	error
	comparable
}](err error) bool {
	var none E
	return errchain.Find[E](err) != none
}

func wraps(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// misusesNext tells whether an error is that of a middleware that does with next what the text says.
func misusesNext(text string) func(error) bool {
	return func(err error) bool {
		return errors.Is(err, work.ErrNextMisused) && strings.HasSuffix(err.Error(), text)
	}
}

func isHostile(name string) func(error) bool {
	return func(err error) bool { h, ok := err.(*hostile); return ok && h.name == name }
}

func goexit2() ([]byte, error) { return goexit[[]byte](), nil }
func boom2() ([]byte, error)   { return boom[[]byte](), nil }

// One processor runs them all, one after the other, and then an honest job.
func TestWhateverAJobDoesItsProcessorSurvives(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		cases := misdeeds()
		byName := map[string]misdeed{}
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			Middleware(func(ctx context.Context, job *work.Job, next work.NextFunc) error {
				if around := byName[job.Name].around; around != nil {
					return around(ctx, job, next)
				}
				return next(ctx)
			})
		for _, c := range cases {
			byName[c.name] = c
			handler := c.handler
			if handler == nil {
				handler = func(*work.Job) (any, error) { return nil, nil }
			}
			pool.JobWithOptions(c.name, work.JobOptions{Retries: 1, Retention: pooltest.Patience,
				Backoff: misbehaving(c.backoff)}, handler)
		}
		honest := make(chan string, 1)
		pool.Job("honest", func(job *work.Job) error { honest <- job.ID; return nil })
		ids := map[string]string{}
		for _, c := range cases {
			ids[c.name] = k.Enqueue(c.name).ID
		}
		k.Start(pool)
		k.Drained(pool)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.check(t, k, ids[c.name]) })
		}
		last := k.Enqueue("honest")
		assert.Equal(t, last.ID, pooltest.Receive(t, honest))
		all, _ := k.Spy.All()
		for _, e := range all {
			if p, ok := e.(event.LoopPanicked); ok {
				t.Errorf("%s panicked: %v\n%s", p.Component, p.Value, p.Stack)
			}
		}
	})
}

func misbehaving(first func(*work.Job, error)) func(*work.Job, error) time.Duration {
	return func(job *work.Job, err error) time.Duration {
		if first != nil {
			first(job, err)
		}
		return pooltest.Hourly(job, err)
	}
}

func (c misdeed) check(t *testing.T, k *kit, id string) {
	failed := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
	assert.True(t, c.matches(failed.Err), "%T", failed.Err)
	assert.Equal(t, 1, failed.Attempt)
	assert.Len(t, pooltest.SeenBy(t, k.Spy, id), 2, "started and failed, nothing else")
	kept := k.Trail(id)
	require.Len(t, kept.Errors, 1)
	assert.Equal(t, 1, kept.Fails)
	assert.Contains(t, kept.Errors[0].Error, c.text)
	if c.stack == "" {
		assert.Empty(t, kept.Errors[0].Stack)
	} else {
		assert.Contains(t, kept.Errors[0].Stack, c.stack)
	}
	assert.Greater(t, k.Due("retry", id), failed.Begun)
}
