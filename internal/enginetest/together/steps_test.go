package together_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestStepsOfMembersAreTheirOwn: a job that fails, or waits for a message, comes back in another batch, and finds what
// it has done; those beside it are done meanwhile.
func TestStepsOfMembersAreTheirOwn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var mu sync.Mutex
		done, sizes := map[int]int{}, []int{}
		opts := of(4, time.Hour)
		opts.Backoff = func(*work.Job, error) time.Duration { return 0 }
		handler := func(ctx context.Context, batch work.Batch[int]) error {
			mu.Lock()
			sizes = append(sizes, len(batch))
			mu.Unlock()
			for _, item := range batch {
				ctx := item.Context(ctx)
				first, err := work.Step(ctx, "index", func(context.Context) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					done[item.Args]++
					return done[item.Args] * 10, nil
				})
				switch {
				case err != nil || first != 10:
					err = work.Bury(fmt.Errorf("%d: %w", first, err))
				case item.Args == 1 && item.Job.Attempt == 1:
					err = errOne
				case item.Args == 2:
					_, err = work.Receive[string](ctx, "go")
				case item.Args == 3:
					err = work.Sleep(ctx, "rest", time.Millisecond)
				}
				item.Fail(err)
			}
			return nil
		}
		receipts := k.EnqueueNumbers("index", 0, 4)
		opts.Together.Wait = 10 * time.Millisecond
		k.Start(k.pool(1, opts, handler))
		waits := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobSnoozed](receipts[2].ID))
		require.ErrorIs(t, waits.Err, work.ErrWaiting)
		for _, i := range []int{0, 1, 3} {
			pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](receipts[i].ID))
		}
		require.NoError(t, work.Send(k.Ctx(), k.Enq, receipts[2].ID, "go", "now"))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](receipts[2].ID))
		k.Until("all have ended", func() bool { return k.Number("HLEN", "jobs") == 0 })
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, map[int]int{0: 1, 1: 1, 2: 1, 3: 1}, done)
		assert.Equal(t, 4, sizes[0])
		assert.Zero(t, pooltest.Count[event.JobBuried](k.Spy))
		k.clean(t)
	})
}

// TestStepsOfABatchAreRefused, since the next one is made of other jobs: also in middleware, and with one job only.
func TestStepsOfABatchAreRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		asks := map[string]func(ctx context.Context) error{
			"step": func(ctx context.Context) error {
				_, err := work.Step(ctx, "a", func(context.Context) (int, error) { panic("it is done") })
				return err
			},
			"sleep":   func(ctx context.Context) error { return work.Sleep(ctx, "a", time.Hour) },
			"receive": func(ctx context.Context) error { _, err := work.Receive[int](ctx, "a"); return err },
		}
		refused := make(chan error, 2*len(asks))
		ask := func(ctx context.Context) {
			for _, how := range asks {
				refused <- how(ctx)
			}
		}
		pool := k.pool(1, of(2, 0), func(ctx context.Context, _ work.Batch[int]) error { ask(ctx); return nil })
		pool.Middleware(func(ctx context.Context, _ *work.Job, next work.NextFunc) error {
			ask(ctx)
			return next(ctx)
		})
		k.Start(pool)
		id := k.EnqueueNumbers("index", 0, 1)[0].ID
		for range 2 * len(asks) {
			err := pooltest.Receive(t, refused)
			var problem *work.StepError
			require.ErrorAs(t, err, &problem)
			assert.Equal(t, []string{id, "a"}, []string{problem.Job, problem.Step})
			assert.ErrorContains(t, err, "item.Context(ctx)")
		}
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		k.Until("it has ended", func() bool { return k.Number("HLEN", "jobs") == 0 })
		assert.Empty(t, k.Left())
	})
}
