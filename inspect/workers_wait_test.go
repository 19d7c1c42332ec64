package inspect_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestWorkersAreWaitedFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		start := func(names ...string) string {
			pool := work.NewWorkerPool(nil, 1, k.Options())
			for _, name := range names {
				pool.Job(name, pooltest.Nothing)
			}
			return k.ID(k.Start(pool))
		}
		type waited struct {
			ids []string
			err error
		}
		wait := func(n int, names ...string) <-chan waited {
			done := make(chan waited, 1)
			go func() {
				ids, err := i.WaitForWorkers(k.Ctx(), n, names...)
				done <- waited{ids, err}
			}()
			return done
		}
		any, one, both := wait(2), wait(1, "b"), wait(1, "a", "b")
		first := start("a")
		assert.Empty(t, any, "one is too few")
		second := start("b")
		got := pooltest.Receive(t, any)
		require.NoError(t, got.err)
		assert.ElementsMatch(t, []string{first, second}, got.ids)
		assert.Equal(t, waited{ids: []string{second}}, pooltest.Receive(t, one))
		assert.Empty(t, both, "none serves the two")
		third := start("a", "b")
		assert.Equal(t, waited{ids: []string{third}}, pooltest.Receive(t, both))
	})
}

type inspector = inspect.Inspector

func TestWorkersThatAreGoneOrLeaveAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, row := range map[string]struct {
			leave func(k *kit, i *inspector, id string) error
			there int
		}{
			"none":       {func(*kit, *inspector, string) error { return nil }, 1},
			"is paused":  {func(k *kit, i *inspector, id string) error { return i.PauseWorker(k.Ctx(), id) }, 1},
			"is quiet":   {func(k *kit, i *inspector, id string) error { return i.QuietWorker(k.Ctx(), id) }, 0},
			"is to stop": {func(k *kit, i *inspector, id string) error { return i.StopWorker(k.Ctx(), id) }, 0},
			"has no beat": {func(k *kit, _ *inspector, id string) error {
				k.Do("DEL", "worker:"+id)
				return nil
			}, 0},
		} {
			t.Run(name, func(t *testing.T) {
				k := newKit(t, s)
				i := k.inspector()
				_, _, err := k.Raw().Worker("w1").Register(k.Ctx(), rdb.Registration{Life: time.Minute,
					Epoch: "e", Queues: []string{"a"}})
				require.NoError(t, err)
				require.NoError(t, row.leave(k, i, "w1"))
				// In the second look the time is over.
				ctx, cancel := context.WithCancelCause(k.Ctx())
				looks := 0
				i, err = inspect.New("", work.Namespace(k.Namespace), work.WithConnection(k.Interfering(func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					if calls[0].Command == "EXISTS" {
						if looks++; looks == 2 {
							cancel(context.DeadlineExceeded)
						}
					}
					return pass(ctx, calls...)
				})))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, i.Close()) })
				ids, err := i.WaitForWorkers(ctx, 2, "a")
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Len(t, ids, row.there)
				want := map[int]string{0: "0 of 2 workers are there", 1: "1 of 2 workers are there"}[row.there]
				assert.ErrorContains(t, err, want+` that serve "a": `)
			})
		}
		_, err := newKit(t, s).inspector().WaitForWorkers(t.Context(), 0)
		var invalid *work.InvalidError
		require.ErrorAs(t, err, &invalid)
	})
}
