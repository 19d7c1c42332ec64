package work

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheSameScheduleTwiceIsOne(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent()}).
		Job("export", func() error { return nil }).
		Periodic("@daily", "export").
		Periodic("@daily", "export").
		PeriodicWithOptions("@hourly", "export", PeriodicOptions{ID: "export hourly"})
	require.NoError(t, pool.prepare())
	assert.Equal(t, "export\nexport hourly", pool.home.declared().IDs())
}

func TestAScheduleAfterTheStartHasNoEffect(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent()}).
		Job("export", func() error { return nil })
	pool.state = poolStarted
	pool.Periodic("@daily", "export")
	assert.Empty(t, pool.periodics)
}

func TestAServiceIsNamedOrMadeOfTheServedNames(t *testing.T) {
	t.Parallel()
	made := func(opts WorkerOptions, names ...string) string {
		opts.Redis, opts.Logger = "redis://127.0.0.1:1/0", silent()
		pool := NewWorkerPool(nil, 1, opts)
		for _, name := range names {
			pool.Job(name, func() error { return nil })
		}
		require.NoError(t, pool.prepare())
		return pool.service()
	}
	assert.Equal(t, "shop", made(WorkerOptions{Service: "shop"}, "a"))
	assert.Equal(t, made(WorkerOptions{}, "a", "b"), made(WorkerOptions{}, "b", "a"))
	assert.NotEqual(t, made(WorkerOptions{}, "a", "b"), made(WorkerOptions{}, "a"))
	assert.Equal(t, made(WorkerOptions{Only: []string{"a"}}, "a", "b"), made(WorkerOptions{}, "a"))

	err := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent(), Service: "default:x"}).
		Job("a", func() error { return nil }).Start(context.Background())
	assert.ErrorContains(t, err, `WorkerOptions.Service is "default:x": use one that does not begin with default:`)
}
