package outcomes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/exactjson"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

// Errors and values of programs whose own methods are broken.
type (
	selfError  struct{ text string } // is its own cause
	listError  struct{}              // is among its own causes
	wideError  struct{}              // has thousands of causes, all of them itself
	growError  struct{ n int }       // is a new one each time
	muteError  struct{}              // has no text
	brokeError struct{}              // panics when it is asked for its cause

	brokenIn  struct{ N int }  // cannot be decoded
	brokenOut struct{ N *int } // cannot be encoded
	badOut    struct{}         // encodes with an endless error
	badIn     struct{}         // decodes with one
)

func (e *selfError) Error() string { return e.text }

func (e *selfError) Unwrap() error { return e }

func (listError) Error() string { return "a list with itself" }

func (e listError) Unwrap() []error { return []error{io.EOF, e, e} }

func (wideError) Error() string { return "a wide one" }

func (e wideError) Unwrap() []error {
	all := make([]error, 5000)
	for i := range all {
		all[i] = e
	}
	return all
}

func (growError) Error() string { return "one that grows" }

func (e growError) Unwrap() error { return growError{e.n + 1} }

func (muteError) Error() string { panic("no text") }

func (brokeError) Error() string { return "one that breaks" }

func (brokeError) Unwrap() error { panic("no cause") }

func (*brokenIn) UnmarshalJSON([]byte) error { panic("cannot decode") }

func (b brokenOut) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprint(*b.N)), nil }

func (badOut) MarshalJSON() ([]byte, error) { return nil, &selfError{"no JSON"} }

func (*badIn) UnmarshalJSON(b []byte) error { return &selfError{"no value"} }

var hostileErrors = map[string]error{
	"its own cause": &selfError{"one without an end"}, "a list with itself": listError{},
	"thousands of itself": wideError{}, "ever new ones": growError{},
	"no text": muteError{}, "a cause that panics": brokeError{},
	"a join":          errors.Join(io.EOF, &selfError{"one of two"}),
	"wrapped":         fmt.Errorf("wrapped: %w", &selfError{"one inside"}),
	"a panic with it": &work.PanicError{Value: &selfError{"a panic"}},
}

// A handler, a middleware, and what a middleware is told: the job fails like any other, and whoever looks into the
// error comes to an end.
func TestAnEndlessErrorOfAHandlerFailsItsJobOnly(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		died := make(chan error, 1)
		look := func(err error) { // as a program does
			defer func() { _ = recover() }()
			var wrong *work.ArgumentError
			errors.As(err, &wrong)
		}
		opts := k.Options()
		opts.Observers = append(opts.Observers, work.ObserverFunc(func(e event.Event) {
			if buried, is := e.(event.JobBuried); is {
				look(buried.Err)
			}
		}))
		from := make(chan error, 1)
		pool := work.NewWorkerPool(nil, 1, opts).
			Middleware(func(ctx context.Context, job *work.Job, next work.NextFunc) error {
				err := next(ctx)
				look(err)
				job.Ending(err)
				if job.Name == "outside" {
					return <-from
				}
				return err
			})
		for _, name := range []string{"handler", "outside"} {
			pool.JobWithOptions(name, work.JobOptions{Retries: -1,
				Permanent: func(err error) bool { look(err); return false },
				OnDeath:   func(_ context.Context, _ *work.Job, err error) { look(err); died <- err }},
				func(job *work.Job) error {
					if job.Name == "handler" {
						return <-from
					}
					return nil
				})
		}
		k.Start(pool)
		for what, err := range hostileErrors {
			for _, name := range []string{"handler", "outside"} {
				from <- err
				k.Enqueue(name)
				assert.Contains(t, excerpt.ErrorText(pooltest.Receive(t, died)), excerpt.ErrorText(errchain.Tame(err)),
					what)
			}
		}
	})
}

// What a caller gives that breaks when it is encoded, decoded or passed on is an error of that call, which says whose
// fault it was.
func TestWhatPanicsIsAnErrorOfTheCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.EnqueueNames = []string{"other"}
		pool := k.Start(work.NewWorkerPool(nil, 1, options).
			Job("decodes", func(string, brokenIn) error { return nil }).
			Job("list", func(int, ...brokenIn) error { return nil }).
			Job("bad", func(badIn) error { return nil }))
		enq := pool.Enqueuer()
		for name, row := range map[string]struct {
			job  string
			args []any
			want []string
		}{
			"UnmarshalJSON": {"decodes", []any{"a", 7},
				[]string{"argument 2 of", "brokenIn", "*work.PanicError", "TestWhatPanicsIsAnErrorOfTheCall"}},
			"UnmarshalJSON of a tail": {"list", []any{1, 2, 3}, []string{"argument 2 of", "*work.PanicError"}},
			"an endless error of it":  {"bad", []any{1}, []string{"argument 1 of", "was refused"}},
			"MarshalJSON": {"other", []any{1, brokenOut{}},
				[]string{"argument 2 of job", "brokenOut", "panicked"}},
			"MarshalJSON inside": {"other", []any{map[string]any{"a": []any{brokenOut{}}}},
				[]string{"argument 1 of job", "panicked"}},
			"an endless error of that": {"other", []any{badOut{}},
				[]string{"argument 1 of job", "does not encode"}},
			"a value that contains itself": {"other", []any{selfContained()}, []string{"argument 1 of job"}},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := enq.Enqueue(k.Ctx(), row.job, row.args...)
				var failed *work.EnqueueError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, []int{0}, failed.NotStored)
				for _, text := range row.want {
					assert.Contains(t, err.Error(), text)
				}
				assert.NotErrorIs(t, err, io.ErrClosedPipe, "it comes to an end")
			})
		}
		_, err := enq.Enqueue(k.Ctx(), "other", (*brokenOut)(nil))
		assert.NoError(t, err, "a nil pointer is null, as encoding/json has it")
	})
}

func selfContained() any {
	list := []any{nil}
	list[0] = list
	return list
}

func TestAnEnqueueMiddlewareThatPanicsIsAnErrorOfTheCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, row := range map[string]struct {
			middleware work.EnqueueMiddleware
			fate       func(e *work.EnqueueError) []int
		}{
			"before next": {func(context.Context, []work.Entry, work.EnqueueFunc) error { panic("early") },
				func(e *work.EnqueueError) []int { return e.NotStored }},
			"behind next": {func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
				_, _ = next(ctx, entries)
				panic("late")
			}, func(e *work.EnqueueError) []int { return e.Stored }},
			"an endless error": {func(context.Context, []work.Entry, work.EnqueueFunc) error {
				return &selfError{"no"}
			},
				func(e *work.EnqueueError) []int { return e.NotStored }},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, s)
				enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(k.Namespace),
					work.WithEnqueueMiddleware(row.middleware))
				require.NoError(t, err)
				defer enq.Close() //lint:ignore errcheck it was used
				_, err = enq.Enqueue(k.Ctx(), "job")
				var failed *work.EnqueueError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, []int{0}, row.fate(failed))
				var panicked *work.PanicError
				assert.Equal(t, !strings.Contains(name, "endless"), errors.As(err, &panicked))
			})
		}
	})
}

// brokenHome is a home of objects that panics.
type brokenHome struct{ objects.Home }

func TestAHomeOfObjectsThatPanicsIsAnErrorOfTheCall(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(k.Namespace), work.ObjectHome(brokenHome{}))
		require.NoError(t, err)
		defer enq.Close() //lint:ignore errcheck it was used
		for range 2 {     // the first one leaves nothing behind for which the second would wait
			_, err = enq.Enqueue(k.Ctx(), "job", strings.Repeat("x", 100_000))
			var panicked *work.PanicError
			require.ErrorAs(t, err, &panicked)
		}
	})
}

func TestWhatIsReadIntoAValueThatPanics(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		loaded := make(chan error, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("job", work.JobOptions{Retention: time.Hour},
				func(ctx context.Context, job *work.Job) (int, error) {
					if err := job.SaveState(ctx, 7); err != nil {
						return 0, err
					}
					_, err := job.LoadState(ctx, &brokenIn{})
					loaded <- err
					return 7, nil
				}))
		receipt := k.Enqueue("job")
		require.NoError(t, pool.Drain(k.Ctx()))
		var panicked *work.PanicError
		require.ErrorAs(t, pooltest.Receive(t, loaded), &panicked)
		_, err := work.Result[brokenIn](k.Ctx(), k.Enq, receipt.ID)
		require.ErrorAs(t, err, &panicked)
		assert.Contains(t, err.Error(), receipt.ID)
	})
}

// Functions that are asked about an error, and end the goroutine in which they are asked.
func TestWhoEndsItsGoroutineLeavesTheErrorOfTheHandler(t *testing.T) {
	t.Parallel()
	exit := func() { runtime.Goexit() }
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, opts := range map[string]work.JobOptions{
			"Backoff":   {Backoff: func(*work.Job, error) time.Duration { exit(); return 0 }},
			"Permanent": {Permanent: func(error) bool { exit(); return true }},
			"OnDeath":   {Retries: -1, OnDeath: func(context.Context, *work.Job, error) { exit() }},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, s)
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					Middleware(func(ctx context.Context, job *work.Job, next work.NextFunc) error {
						err := next(ctx)
						job.Ending(err) // asks Permanent as well
						return err
					}).
					JobWithOptions("job", opts, func() error { return io.ErrUnexpectedEOF }))
				k.Enqueue("job")
				require.NoError(t, pool.Drain(k.Ctx()))
				var err error
				if name == "OnDeath" {
					err = pooltest.Await[event.JobBuried](t, k.Spy, nil).Err
					failed := pooltest.Await[event.DeathHookFailed](t, k.Spy, nil)
					var exited *work.GoexitError
					assert.ErrorAs(t, failed.Err, &exited)
					assert.Contains(t, failed.Err.Error(), "OnDeath")
				} else {
					err = pooltest.Await[event.JobFailed](t, k.Spy, nil).Err
					assert.Contains(t, err.Error(), "ended its goroutine")
				}
				assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
				var exited *work.GoexitError
				assert.False(t, errors.As(err, &exited))
			})
		}
	})
}

func TestNoIntegerIsRounded(t *testing.T) {
	t.Parallel()
	type box struct {
		Any  any
		List []any
		Deep map[string]map[string]any
		Own  *box
	}
	for text, want := range map[string]any{
		"0": float64(0), "-7": float64(-7), "1.5": 1.5, "9007199254740992": float64(1 << 53),
		"9007199254740993":  int64(1<<53 + 1),
		"-9007199254740993": int64(-1<<53 - 1), "9223372036854775807": int64(1<<63 - 1),
		"-9223372036854775808":  float64(-1 << 63),
		"9223372036854775808":   json.Number("9223372036854775808"),
		"18446744073709551615":  json.Number("18446744073709551615"),
		"100000000000000000000": 1e20, "1e20": 1e20, "1234567890123456.5": 1234567890123456.5,
		"0.12345678901234567": 0.12345678901234567,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			inside := `{"Any":` + text + `,"List":[` + text + `,[` + text + `]],"Deep":{"a":{"b":{"c":` + text +
				`}}},"Own":{"Any":` + text + `}}`
			wanted := box{Any: want, List: []any{want, []any{want}},
				Deep: map[string]map[string]any{"a": {"b": map[string]any{"c": want}}}, Own: &box{Any: want}}
			var got []any
			run := alone(t, func(v any, in box, m map[string]any, list []any, tail ...any) error {
				got = []any{v, in, m["k"], list[0], tail[0]}
				return nil
			})
			args := "[" + text + "," + inside + `,{"k":` + text + "},[" + text + "]," + text + "]"
			require.NoError(t, run(args))
			assert.Equal(t, []any{want, wanted, want, want, want}, got)
		})
	}
}

// addsUp adds what it reads to what it has.
type addsUp []int

func (a *addsUp) UnmarshalJSON(text []byte) error {
	var more []int
	err := json.Unmarshal(text, &more)
	*a = append(*a, more...)
	return err
}

func TestAValueBesideALargeIntegerIsDecodedOnce(t *testing.T) {
	t.Parallel()
	type mixed struct {
		Any any
		L   addsUp
	}
	const text = `{"Any":9007199254740993,"L":[1,2]}`
	want := mixed{Any: int64(9007199254740993), L: addsUp{1, 2}}
	t.Run("as an arg", func(t *testing.T) {
		t.Parallel()
		var got mixed
		run := alone(t, func(in mixed) error { got = in; return nil })
		require.NoError(t, run("["+text+"]"))
		assert.Equal(t, want, got)
	})
	t.Run("what cannot be decoded is refused", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{`[9007199254740993,1e999]`, `{"a":-1e999,"b":9007199254740993}`,
			`9007199254740993 1`, `[9007199254740993`} {
			var plain, exact any
			require.Error(t, exactjson.Unmarshal([]byte(text), &exact), text)
			require.Error(t, json.Unmarshal([]byte(text), &plain), text)
			assert.IsType(t, json.Unmarshal([]byte(text), &plain), exactjson.Unmarshal([]byte(text), &exact), text)
		}
		require.Error(t, exactjson.Unmarshal([]byte(text), nil))
		require.Error(t, exactjson.Unmarshal([]byte(text), (*mixed)(nil)))
		require.Error(t, exactjson.Unmarshal([]byte(text), mixed{}))
	})
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		loaded := make(chan mixed, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("job", func(ctx context.Context, job *work.Job) error {
				if err := job.SaveState(ctx, json.RawMessage(text)); err != nil {
					return err
				}
				var got mixed
				_, err := job.LoadState(ctx, &got)
				loaded <- got
				return err
			}))
		k.Enqueue("job")
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, want, pooltest.Receive(t, loaded))
	})
}

func TestTheChainOfAnErrorComesToAnEnd(t *testing.T) {
	t.Parallel()
	for name, err := range hostileErrors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Nil(t, errchain.Find[*work.DuplicateError](err))
			assert.False(t, errchain.Is(err, io.ErrClosedPipe))
			assert.NotEmpty(t, excerpt.ErrorText(errchain.Tame(err)))
			if _, breaks := err.(brokeError); breaks {
				return // where somebody looks into it, that panics
			}
			safe := fmt.Errorf("told: %w", errchain.Tame(err))
			var none *work.DuplicateError
			assert.False(t, errors.As(safe, &none), "the standard library comes to an end with it")
			assert.NotErrorIs(t, safe, io.ErrClosedPipe)
			assert.NotEmpty(t, excerpt.ErrorText(errchain.Tame(err)))
		})
	}
	var self *selfError
	require.ErrorAs(t, errchain.Tame(fmt.Errorf("a: %w", &selfError{"b"})), &self, "what is in its beginning is found")
	assert.Equal(t, "b", self.text)
	assert.ErrorIs(t, errchain.Tame(listError{}), io.EOF)
	long := error(io.EOF)
	for range 5000 {
		long = fmt.Errorf("%w", long)
	}
	assert.True(t, errchain.Tame(long) == long && errchain.Is(long, io.EOF), "a long chain is not an endless one")
	assert.True(t, errchain.Is(errors.Join(errors.New("a"), errors.Join(nil, io.EOF)), io.EOF))
	assert.NoError(t, errchain.Tame(nil))
	bury := work.Bury(&selfError{"x"})
	assert.True(t, errchain.Is(errchain.Tame(errors.Join(bury, &selfError{"y"})), bury))
}

// alone compiles a handler for a pool without a context, and runs it with these args.
func alone(t testing.TB, fn any) (run func(args string) error) {
	t.Helper()
	c, err := handler.NewCompiler[*work.Job, work.NextFunc](nil)
	require.NoError(t, err)
	h, err := c.Handler(fn)
	require.NoError(t, err)
	return func(args string) error {
		call := handler.Call{Own: c.UserContext(), Job: &work.Job{Args: []byte(args)}, Args: []byte(args)}
		_, _, err := h.Run(t.Context(), call)
		return err
	}
}
