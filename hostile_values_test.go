package work

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

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/exactjson"
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

func (e *selfError) Error() string  { return e.text }
func (e *selfError) Unwrap() error  { return e }
func (listError) Error() string     { return "a list with itself" }
func (e listError) Unwrap() []error { return []error{io.EOF, e, e} }
func (wideError) Error() string     { return "a wide one" }
func (e wideError) Unwrap() []error {
	all := make([]error, 5000)
	for i := range all {
		all[i] = e
	}
	return all
}
func (growError) Error() string              { return "one that grows" }
func (e growError) Unwrap() error            { return growError{e.n + 1} }
func (muteError) Error() string              { panic("no text") }
func (brokeError) Error() string             { return "one that breaks" }
func (brokeError) Unwrap() error             { panic("no cause") }
func (*brokenIn) UnmarshalJSON([]byte) error { panic("cannot decode") }
func (b brokenOut) MarshalJSON() ([]byte, error) {
	return []byte(fmt.Sprint(*b.N)), nil
}
func (badOut) MarshalJSON() ([]byte, error) { return nil, &selfError{"no JSON"} }
func (*badIn) UnmarshalJSON(b []byte) error { return &selfError{"no value"} }

var hostileErrors = map[string]error{
	"its own cause": &selfError{"one without an end"}, "a list with itself": listError{},
	"thousands of itself": wideError{}, "ever new ones": growError{},
	"no text": muteError{}, "a cause that panics": brokeError{},
	"a join":          errors.Join(io.EOF, &selfError{"one of two"}),
	"wrapped":         fmt.Errorf("wrapped: %w", &selfError{"one inside"}),
	"a panic with it": &PanicError{Value: &selfError{"a panic"}},
}

func TestTheChainOfAnErrorComesToAnEnd(t *testing.T) {
	t.Parallel()
	for name, err := range hostileErrors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Nil(t, errchain.Find[*DuplicateError](err))
			assert.False(t, is(err, io.ErrClosedPipe))
			assert.NotEmpty(t, errorText(tame(err)))
			if _, breaks := err.(brokeError); breaks {
				return // where somebody looks into it, that panics
			}
			safe := fmt.Errorf("told: %w", tame(err))
			var none *DuplicateError
			assert.False(t, errors.As(safe, &none), "the standard library comes to an end with it")
			assert.NotErrorIs(t, safe, io.ErrClosedPipe)
			assert.NotEmpty(t, errorText(tame(err)))
		})
	}
	var self *selfError
	require.ErrorAs(t, tame(fmt.Errorf("a: %w", &selfError{"b"})), &self, "what is in its beginning is found")
	assert.Equal(t, "b", self.text)
	assert.ErrorIs(t, tame(listError{}), io.EOF)
	long := error(io.EOF)
	for range 5000 {
		long = fmt.Errorf("%w", long)
	}
	assert.True(t, tame(long) == long && is(long, io.EOF), "a long chain is not an endless one")
	assert.True(t, is(errors.Join(errors.New("a"), errors.Join(nil, io.EOF)), io.EOF))
	assert.NoError(t, tame(nil))
	buried := tame(errors.Join(Bury(&selfError{"x"}), &selfError{"y"}))
	assert.Equal(t, verbBury, errchain.Find[*disposition](buried).verb)
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
			var wrong *ArgumentError
			errors.As(err, &wrong)
		}
		opts := k.options()
		opts.Observers = append(opts.Observers, ObserverFunc(func(e event.Event) {
			if buried, is := e.(event.JobBuried); is {
				look(buried.Err)
			}
		}))
		from := make(chan error, 1)
		pool := NewWorkerPool(nil, 1, opts).
			Middleware(func(ctx context.Context, job *Job, next NextFunc) error {
				err := next(ctx)
				look(err)
				job.Ending(err)
				if job.Name == "outside" {
					return <-from
				}
				return err
			})
		for _, name := range []string{"handler", "outside"} {
			pool.JobWithOptions(name, JobOptions{Retries: -1,
				Permanent: func(err error) bool { look(err); return false },
				OnDeath:   func(_ context.Context, _ *Job, err error) { look(err); died <- err }},
				func(job *Job) error {
					if job.Name == "handler" {
						return <-from
					}
					return nil
				})
		}
		k.start(pool)
		for what, err := range hostileErrors {
			for _, name := range []string{"handler", "outside"} {
				from <- err
				k.enqueue(name)
				assert.Contains(t, errorText(receive(t, died)), errorText(tame(err)), what)
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
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
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
				_, err := enq.Enqueue(k.ctx(), row.job, row.args...)
				var failed *EnqueueError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, []int{0}, failed.NotStored)
				for _, text := range row.want {
					assert.Contains(t, err.Error(), text)
				}
				assert.NotErrorIs(t, err, io.ErrClosedPipe, "it comes to an end")
			})
		}
		_, err := enq.Enqueue(k.ctx(), "other", (*brokenOut)(nil))
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
			middleware EnqueueMiddleware
			fate       func(e *EnqueueError) []int
		}{
			"before next": {func(context.Context, []Entry, EnqueueFunc) error { panic("early") },
				func(e *EnqueueError) []int { return e.NotStored }},
			"behind next": {func(ctx context.Context, entries []Entry, next EnqueueFunc) error {
				_, _ = next(ctx, entries)
				panic("late")
			}, func(e *EnqueueError) []int { return e.Stored }},
			"an endless error": {func(context.Context, []Entry, EnqueueFunc) error { return &selfError{"no"} },
				func(e *EnqueueError) []int { return e.NotStored }},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, s)
				enq, err := NewEnqueuer(s.DSN(), Namespace(k.namespace), WithEnqueueMiddleware(row.middleware))
				require.NoError(t, err)
				defer enq.Close() //lint:ignore errcheck it was used
				_, err = enq.Enqueue(k.ctx(), "job")
				var failed *EnqueueError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, []int{0}, row.fate(failed))
				var panicked *PanicError
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
		enq, err := NewEnqueuer(s.DSN(), Namespace(k.namespace), ObjectHome(brokenHome{}))
		require.NoError(t, err)
		defer enq.Close() //lint:ignore errcheck it was used
		for range 2 {     // the first one leaves nothing behind for which the second would wait
			_, err = enq.Enqueue(k.ctx(), "job", strings.Repeat("x", 100_000))
			var panicked *PanicError
			require.ErrorAs(t, err, &panicked)
		}
	})
}

func TestWhatIsReadIntoAValueThatPanics(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		loaded := make(chan error, 1)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("job", JobOptions{Retention: time.Hour}, func(ctx context.Context, job *Job) (int, error) {
				if err := job.SaveState(ctx, 7); err != nil {
					return 0, err
				}
				_, err := job.LoadState(ctx, &brokenIn{})
				loaded <- err
				return 7, nil
			}))
		receipt := k.enqueue("job")
		require.NoError(t, pool.Drain(k.ctx()))
		var panicked *PanicError
		require.ErrorAs(t, receive(t, loaded), &panicked)
		_, err := Result[brokenIn](k.ctx(), k.enq, receipt.ID)
		require.ErrorAs(t, err, &panicked)
		assert.Contains(t, err.Error(), receipt.ID)
	})
}

// Functions that are asked about an error, and end the goroutine in which they are asked.
func TestWhoEndsItsGoroutineLeavesTheErrorOfTheHandler(t *testing.T) {
	t.Parallel()
	exit := func() { runtime.Goexit() }
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, opts := range map[string]JobOptions{
			"Backoff":   {Backoff: func(*Job, error) time.Duration { exit(); return 0 }},
			"Permanent": {Permanent: func(error) bool { exit(); return true }},
			"OnDeath":   {Retries: -1, OnDeath: func(context.Context, *Job, error) { exit() }},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, s)
				pool := k.start(NewWorkerPool(nil, 1, k.options()).
					Middleware(func(ctx context.Context, job *Job, next NextFunc) error {
						err := next(ctx)
						job.Ending(err) // asks Permanent as well
						return err
					}).
					JobWithOptions("job", opts, func() error { return io.ErrUnexpectedEOF }))
				k.enqueue("job")
				require.NoError(t, pool.Drain(k.ctx()))
				var err error
				if name == "OnDeath" {
					err = await[event.JobBuried](t, k.spy, nil).Err
					failed := await[event.DeathHookFailed](t, k.spy, nil)
					var exited *GoexitError
					assert.ErrorAs(t, failed.Err, &exited)
					assert.Contains(t, failed.Err.Error(), "OnDeath")
				} else {
					err = await[event.JobFailed](t, k.spy, nil).Err
					assert.Contains(t, err.Error(), "ended its goroutine")
				}
				assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
				var exited *GoexitError
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
			h, p := compiled(t, nil, func(v any, in box, m map[string]any, list []any, tail ...any) error {
				got = []any{v, in, m["k"], list[0], tail[0]}
				return nil
			})
			args := "[" + text + "," + inside + `,{"k":` + text + "},[" + text + "]," + text + "]"
			_, _, err := h.run(t.Context(), p.instance(), &Job{Args: []byte(args)})
			require.NoError(t, err)
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
		h, p := compiled(t, nil, func(in mixed) error { got = in; return nil })
		_, _, err := h.run(t.Context(), p.instance(), &Job{Args: []byte("[" + text + "]")})
		require.NoError(t, err)
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
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("job", func(ctx context.Context, job *Job) error {
			if err := job.SaveState(ctx, json.RawMessage(text)); err != nil {
				return err
			}
			var got mixed
			_, err := job.LoadState(ctx, &got)
			loaded <- got
			return err
		}))
		k.enqueue("job")
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Equal(t, want, receive(t, loaded))
	})
}
