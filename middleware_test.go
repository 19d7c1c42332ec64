package work

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/handler"
)

type traceContext struct {
	Shared *[]string
	trace  []string
}

func (c *traceContext) Outer(ctx context.Context, job *Job, next NextFunc) error {
	c.trace = append(c.trace, "outer in")
	err := next(context.WithValue(ctx, traceKey{}, "from outer"))
	c.trace = append(c.trace, "outer out")
	*c.Shared = c.trace
	return err
}

type traceKey struct{}

func traced(t testing.TB, h any, mws ...any) (runner, *handler.Compiler, *[]string) {
	t.Helper()
	trace := new([]string)
	p, err := handler.NewCompiler[*Job, NextFunc](traceContext{Shared: trace})
	require.NoError(t, err)
	var compiled []middleware
	for _, fn := range mws {
		m, err := compileMiddleware(p, fn)
		require.NoError(t, err)
		compiled = append(compiled, m)
	}
	last, err := p.Handler(h)
	require.NoError(t, err)
	return chain(compiled, runnerOf(last)), p, trace
}

func runTraced(t testing.TB, h any, mws ...any) (result any, hasResult bool, err error) {
	t.Helper()
	run, p, _ := traced(t, h, mws...)
	return run(t.Context(), p.UserContext(), &Job{ID: "j", Args: []byte(`[7]`)})
}

func passOn(ctx context.Context, job *Job, next NextFunc) error { return next(ctx) }

func identity(n int64) (int64, error) { return n, nil }

func TestChainIsComposition(t *testing.T) {
	t.Parallel()
	run, p, trace := traced(t,
		func(c *traceContext, ctx context.Context, job *Job, n int64) (string, error) {
			c.trace = append(c.trace, "handler", ctx.Value(traceKey{}).(string), job.ID)
			return "done", nil
		},
		(*traceContext).Outer,
		func(c *traceContext, ctx context.Context, job *Job, next NextFunc) error {
			c.trace = append(c.trace, "inner in", ctx.Value(traceKey{}).(string))
			defer func() { c.trace = append(c.trace, "inner out") }()
			return next(ctx)
		},
	)
	for range 2 { // composed once, run for each job; one job's trace is not in the next one's
		result, hasResult, err := run(t.Context(), p.UserContext(), &Job{ID: "j1", Args: []byte(`[7]`)})
		require.NoError(t, err)
		assert.True(t, hasResult)
		assert.Equal(t, "done", result)
		assert.Equal(t, []string{"outer in", "inner in", "from outer", "handler", "from outer", "j1", "inner out",
			"outer out"}, *trace)
	}
}

func TestChainDecidesTheOutcome(t *testing.T) {
	t.Parallel()
	errHandler, errMiddleware := errors.New("handler"), errors.New("middleware")
	fail := func() error { return errHandler }
	for _, c := range []struct {
		name      string
		handler   any
		mws       []any
		err       error
		hasResult bool
	}{
		{"no middleware", identity, nil, nil, true},
		{"result passes through", identity, []any{passOn, (*traceContext).Outer}, nil, true},
		{"a handler's error passes through", func(int) error { return errHandler }, []any{passOn, passOn}, errHandler,
			false},
		{"an error beside a result", func(int) (int, error) { return 1, errHandler }, []any{passOn}, errHandler, false},
		{"next not called", identity, []any{func(context.Context, *Job, NextFunc) error { return nil }}, nil, false},
		{"next not called, an error", identity,
			[]any{passOn, func(context.Context, *Job, NextFunc) error { return errMiddleware }}, errMiddleware, false},
		{"a swallowed error", fail,
			[]any{func(ctx context.Context, _ *Job, next NextFunc) error { _ = next(ctx); return nil }}, nil, false},
		{"an error made of success", identity,
			[]any{func(ctx context.Context, _ *Job, next NextFunc) error { _ = next(ctx); return errMiddleware }},
			errMiddleware, false},
		{"a recovered panic", func(int) error { panic("boom") }, []any{recovering}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			result, hasResult, err := runTraced(t, c.handler, c.mws...)
			assert.ErrorIs(t, err, c.err)
			assert.Equal(t, c.hasResult, hasResult)
			if hasResult {
				assert.Equal(t, int64(7), result)
			}
		})
	}
}

func recovering(ctx context.Context, _ *Job, next NextFunc) error {
	defer func() { _ = recover() }()
	return next(ctx)
}

func twice(ctx context.Context, _ *Job, next NextFunc) error {
	if err := next(ctx); err != nil {
		return err
	}
	return next(ctx)
}

func twiceSwallowed(ctx context.Context, _ *Job, next NextFunc) error {
	_, _ = next(ctx), next(ctx)
	return nil
}

func twiceWithAnotherError(ctx context.Context, _ *Job, next NextFunc) error {
	_, _ = next(ctx), next(ctx)
	return errors.New("something else")
}

func twiceAtTheSameTime(ctx context.Context, _ *Job, next NextFunc) error {
	done := make(chan error)
	go func() { done <- next(ctx) }()
	own := next(ctx)
	_ = errors.Join(own, <-done)
	return nil
}

func TestNextCalledTwiceEndsTheJob(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]any{
		"twice": twice, "twiceSwallowed": twiceSwallowed, "twiceWithAnotherError": twiceWithAnotherError,
		"twiceAtTheSameTime": twiceAtTheSameTime,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			_, hasResult, err := runTraced(t, func(int) (int, error) { calls++; return 1, nil }, passOn, m, passOn)
			require.ErrorIs(t, err, nextCalledTwice)
			require.ErrorIs(t, err, ErrNextMisused)
			assert.ErrorContains(t, err, "middleware work."+name+" (middleware_test.go:")
			assert.False(t, hasResult)
			assert.Equal(t, 1, calls)
		})
	}
}

func TestNextIsRefusedAfterItsMiddlewareReturned(t *testing.T) {
	t.Parallel()
	var kept NextFunc
	_, _, err := runTraced(t, func(int) error { panic("called too late") },
		func(_ context.Context, _ *Job, next NextFunc) error { kept = next; return nil })
	require.NoError(t, err)
	assert.ErrorIs(t, kept(t.Context()), nextTooLate)
}

func TestNextStillRunning(t *testing.T) {
	t.Parallel()
	errGaveUp := errors.New("gave up waiting")
	for name, returned := range map[string]error{"nil": nil, "an error": errGaveUp} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
			_, hasResult, err := runTraced(t, func(int) (int, error) { close(started); <-release; return 1, nil },
				// the outer one hides what the inner one returned
				func(ctx context.Context, _ *Job, next NextFunc) error {
					_ = next(ctx)
					return returned
				},
				func(ctx context.Context, _ *Job, next NextFunc) error {
					go func() { ended <- next(ctx) }()
					<-started
					return returned
				})
			assert.False(t, hasResult)
			assert.ErrorIs(t, err, returned)
			close(release)
			assert.NoError(t, <-ended)
		})
	}
	started, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	_, _, err := runTraced(t, func(int) error { close(started); <-release; return nil },
		func(ctx context.Context, _ *Job, next NextFunc) error {
			go func() { ended <- next(ctx) }()
			<-started
			return nil
		})
	assert.ErrorIs(t, err, nextUnfinished)
	close(release)
	assert.NoError(t, <-ended)
}

func TestNextNeedsAContext(t *testing.T) {
	t.Parallel()
	_, _, err := runTraced(t, func(int) error { panic("called") },
		func(_ context.Context, _ *Job, next NextFunc) error {
			//lint:ignore SA1012 the mistake under test
			_ = next(nil)
			return nil
		})
	assert.ErrorIs(t, err, nextNilContext)
}

func TestMiddlewarePanicPassesThrough(t *testing.T) {
	t.Parallel()
	run, p, _ := traced(t, identity, func(_ context.Context, job *Job, next NextFunc) error { panic(job.ID) })
	assert.PanicsWithValue(t, "a", func() { _, _, _ = run(t.Context(), p.UserContext(), &Job{ID: "a"}) })
	assert.PanicsWithValue(t, "b", func() { _, _, _ = run(t.Context(), p.UserContext(), &Job{ID: "b"}) })
}

func BenchmarkChain(b *testing.B) {
	for name, mws := range map[string][]any{
		"no middleware": nil, "one": {passOn}, "three": {passOn, passOn, passOn},
		"one with context": {func(_ *traceContext, ctx context.Context, _ *Job,
			next NextFunc) error {
			return next(ctx)
		}},
	} {
		b.Run(name, func(b *testing.B) {
			run, p, _ := traced(b, identity, mws...)
			uc, job, ctx := p.UserContext(), &Job{Args: json.RawMessage(`[7]`)}, context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := run(ctx, uc, job); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
