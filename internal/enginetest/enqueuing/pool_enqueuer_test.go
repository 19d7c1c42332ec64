package enqueuing_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestAHandlerEnqueuesThroughItsPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 3, k.Options())
		pool.Job("parent", func(ctx context.Context, children int) error {
			for i := range children {
				if _, err := pool.Enqueuer().Enqueue(ctx, "child", i); err != nil {
					return err
				}
			}
			return nil
		}).Job("child", func(int) error { return nil })
		_, err := pool.Enqueuer().Enqueue(k.Ctx(), "parent", 5)
		require.NoError(t, err, "it works before Start")
		k.Start(pool)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, 6, pooltest.Count[event.JobDone](k.Spy))
		assert.Same(t, pool.Enqueuer(), pool.Enqueuer())
		k.Empty("parent", "child")
	})
}

func TestAPoolsEnqueuerRefusesWhatItsHandlerCannotTake(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.EnqueueNames = []string{"somebody else's"}
		pool := work.NewWorkerPool(nil, 1, options).
			Job("resize", func(id int64, width uint8) error { return nil }).
			Job("broken", "not a function")
		t.Cleanup(func() { assert.NoError(t, pool.Stop(context.Background())) })
		enq := pool.Enqueuer()
		for name, row := range map[string]struct {
			args []any
			want string
		}{
			"too few":         {[]any{1}, "a JSON array of 2 (int64, uint8)"},
			"too many":        {[]any{1, 2, 3}, "a JSON array of 2 (int64, uint8)"},
			"of another type": {[]any{"one", 2}, `argument 1 of`},
			"out of range":    {[]any{1, 256}, `argument 2 of`},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := enq.Enqueue(k.Ctx(), "resize", row.args...)
				var refused *work.EnqueueError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, []int{0}, refused.NotStored)
				assert.ErrorContains(t, err, `args of job "resize" do not fit its handler`)
				assert.ErrorContains(t, err, row.want)
				assert.ErrorContains(t, err, "pool_enqueuer_test.go:", "it names the handler")
				_, err = enq.EnqueueMany(k.Ctx(),
					[]work.Entry{{Name: "resize", Args: []any{1, 2}}, {Name: "resize", Args: row.args}})
				assert.ErrorContains(t, err, row.want)
				assert.Zero(t, k.Number("HLEN", "jobs"), "nothing is stored")
			})
		}
		for _, name := range []string{"somebody else's", "broken"} {
			_, err := enq.Enqueue(k.Ctx(), name, "anything")
			require.NoError(t, err)
		}
		_, err := enq.Enqueue(k.Ctx(), "resize", 1, 255)
		require.NoError(t, err)
	})
}

func TestEachCallOfAPoolWithWrongRedisOptionsSaysSo(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "rediss:/localhost", Logger: pooltest.Silent()}).
		Job("a", func(int) error { return nil })
	enq := pool.Enqueuer()
	ctx := context.Background()
	start := pool.Start(ctx)
	var setup *work.SetupError
	require.ErrorAs(t, start, &setup)
	reason := inside.Pool(pool).Unusable.Error()
	for name, call := range map[string]func() error{
		"Enqueue":                   func() error { _, err := enq.Enqueue(ctx, "a", 1); return err },
		"a name of somebody else's": func() error { _, err := enq.Enqueue(ctx, "b"); return err },
		"EnqueueIn":                 func() error { _, err := enq.EnqueueIn(ctx, "a", 1, 1); return err },
		"EnqueueMany": func() error {
			_, err := enq.EnqueueMany(ctx, []work.Entry{{Name: "b"}})
			return err
		},
		"With":   func() error { _, err := enq.With(work.ID("x")).Enqueue(ctx, "a", 1); return err },
		"Result": func() error { _, err := work.Result[int](ctx, enq, "x"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.ErrorContains(t, call(), reason)
		})
	}
}

func TestAPoolsEnqueuerEndsWithThePool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
		enq := pool.Enqueuer()
		require.NoError(t, pool.Start(k.Ctx()))
		require.NoError(t, pool.Stop(k.Ctx()))
		_, err := enq.Enqueue(k.Ctx(), "a")
		require.ErrorIs(t, err, work.ErrClosed)

		pool = work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
		require.NoError(t, pool.Start(k.Ctx()))
		require.NoError(t, pool.Stop(k.Ctx()))
		_, err = pool.Enqueuer().Enqueue(k.Ctx(), "a")
		require.ErrorIs(t, err, work.ErrClosed, "also one that nobody asked for before")
	})
}
