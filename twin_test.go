package work

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

type twinContext struct{ greeting string }

func (c *twinContext) wrap(ctx context.Context, _ *Job, next NextFunc) error {
	c.greeting += "!"
	return next(ctx)
}

func (c *twinContext) greet() (string, error) { return c.greeting, nil }

func TestATwinRunsTheSameJobsWithOptionsOfItsOwn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, other := newKit(t, s), newSpy()
		options := k.options()
		options.Namespace, options.Observers = redistest.Namespace(t), []Observer{other}
		pool := NewWorkerPool(twinContext{greeting: "hello"}, 3, options).
			Middleware((*twinContext).wrap).
			JobWithOptions("greet", JobOptions{Retention: patience}, (*twinContext).greet).
			Periodic("* * * * * *", "greet")
		pool = k.start(pool)
		for range 2 { // a twin of a twin is the same
			pool = pool.Twin(k.options())
		}
		k.start(pool)
		id := k.enqueue("greet").ID
		result, err := Wait[string](k.ctx(), k.enq, id)
		require.NoError(t, err)
		assert.Equal(t, "hello!", result)
		assert.Equal(t, 3, await[event.WorkerStarted](t, k.spy, nil).Concurrency)
		assert.Empty(t, seenBy(t, other, id), "the observers are not the twin's")
		schedules, err := pool.Inspector().Schedules(k.ctx())
		require.NoError(t, err)
		assert.Empty(t, schedules, "nor are the schedules")
	})
}

func TestATwinHasTheMistakesOfTheSetUpAndNotThoseOfTheOptions(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(7, 0, WorkerOptions{MaxCrashes: 1, Prefetch: -1}).Job("greet", func(string) {}).
		Job("a", nothing).Job("a", nothing)
	var setup *SetupError
	require.ErrorAs(t, pool.Start(t.Context()), &setup)
	require.Len(t, setup.Mistakes, 7)

	require.ErrorAs(t, pool.Twin(WorkerOptions{Redis: "redis://localhost", Prefetch: -2}).Start(t.Context()), &setup)
	texts := errors.Join(setup.Mistakes...).Error()
	require.Len(t, setup.Mistakes, 5, texts)
	for _, text := range []string{"prototype", "concurrency", "greet", "registered already", "Prefetch is -2"} {
		assert.Contains(t, texts, text)
	}
}

func TestATwinDoesNotChangeWithThePool(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://localhost"}).Job("a", nothing)
	twin := pool.Twin(WorkerOptions{Redis: "redis://localhost"})
	pool.Job("b", nothing)
	twin.Job("c", nothing)
	assert.Len(t, twin.registered, 2)
	assert.NotContains(t, twin.registered, "b")
	assert.NotContains(t, pool.registered, "c")
	assert.NotSame(t, pool.registered["a"], twin.registered["a"])
}
