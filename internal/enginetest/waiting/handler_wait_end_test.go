package waiting_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// away waits until so many handlers of a pool wait.
func (k *kit) away(p *work.WorkerPool, many int) {
	k.T.Helper()
	slots := pooltest.Parts(p).Slots
	k.Until("they wait", func() bool { return slots.Away() == many })
}

// TestOnlySoManyHandlersWait: one more is told so, and tried again later without counting a failure; when one has come
// back, the next may wait.
func TestOnlySoManyHandlersWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		first, second := k.Later("first", time.Hour).ID, k.Later("second", time.Hour).ID
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("parent", work.JobOptions{Retries: -1}, func(ctx context.Context, of string) error {
				err := k.Enq.WaitEnd(ctx, of)
				if ending, failed := work.JobFromContext(ctx).Ending(err); ending == work.EndingSnooze {
					assert.False(t, failed)
					assert.ErrorContains(t, err, "2 handlers of this worker wait for other jobs already")
					return err
				}
				assert.ErrorIs(t, err, work.ErrCancelled)
				return nil
			})
		pooltest.Times(pool).Waiting = 2
		k.Start(pool)
		k.Enqueue("parent", first)
		k.Enqueue("parent", second)
		k.away(pool, 2)
		third := k.Enqueue("parent", second).ID
		put := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobSnoozed](third))
		assert.Equal(t, time.Second, put.For)
		k.Until("it was put off", func() bool { return k.Number("ZCARD", "scheduled") == 3 })
		assert.Equal(t, 1, k.Trail(third).Releases)
		assert.Zero(t, k.Trail(third).Fails)
		k.Cancel(first)
		k.away(pool, 1)
		k.Do("ZADD", "scheduled", 1, third)
		k.Tell("control", "due")
		k.away(pool, 2)
		k.Cancel(second)
		k.Drained(pool)
		assert.Zero(t, pooltest.Parts(pool).Slots.Away())
		assert.Zero(t, pooltest.Count[event.JobFailed](k.Spy))
	})
}

// TestAStopEndsTheWaitsOfHandlers: what they wait for may stand in a queue of which nothing is fetched any more.
func TestAStopEndsTheWaitsOfHandlers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		never := k.Later("never", time.Hour).ID
		errs := make(chan error, 3)
		patient := pooltest.NewPatient()
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("parent", func(ctx context.Context) error {
				err := k.Enq.WaitEnd(ctx, never)
				errs <- err
				return err
			}).
			Job("next", func(ctx context.Context, job *work.Job) error {
				_ = patient.Handle(ctx, job)
				err := k.Enq.WaitEnd(ctx, never) // a wait that begins during the stop
				errs <- err
				return err
			}))
		ids := []string{k.Enqueue("parent").ID, k.Enqueue("parent").ID}
		k.away(pool, 2)
		ids = append(ids, k.Enqueue("next").ID)
		pooltest.Receive(t, patient.Began)
		stopped := later(func() (any, error) { return nil, k.Stop(pool) })
		for range 2 {
			require.ErrorIs(t, pooltest.Receive(t, errs), work.ErrShutdown, "while another handler is waited for")
		}
		close(patient.GoOn)
		require.ErrorIs(t, pooltest.Receive(t, errs), work.ErrShutdown)
		_, err := stopped()
		require.NoError(t, err, "in good order: nothing was cut short")
		for _, id := range ids {
			assert.Zero(t, k.Number("HEXISTS", "trail", id), "no failure is counted")
		}
		assert.Equal(t, ids[:2], k.InLine("parent"), "given back in their order")
		assert.Equal(t, ids[2:], k.InLine("next"))
	})
}

// TestAHandlerThatWaitsHearsOfItsEnd: of a cancel, and that its worker was declared dead, at once.
func TestAHandlerThatWaitsHearsOfItsEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		never := k.Later("never", time.Hour).ID
		errs := make(chan error, 1)
		gauge := pooltest.NewGauge()
		gauge.Release()
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("parent", work.JobOptions{Retries: -1, Timeout: time.Hour},
				func(ctx context.Context) error {
					err := k.Enq.WaitEnd(ctx, never)
					errs <- err
					return err
				}).
			Job("plain", gauge.Handle))
		t.Run("cancelled", func(t *testing.T) {
			id := k.Enqueue("parent").ID
			k.away(pool, 1)
			k.Cancel(id)
			require.ErrorIs(t, pooltest.Receive(t, errs), work.ErrCancelled)
			pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobCancelled](id))
		})
		t.Run("fenced", func(t *testing.T) {
			k.Enqueue("parent")
			k.away(pool, 1)
			k.Do("SMOVE", "workers", k.Raw().FullName("dead"), pooltest.WorkerID(pool))
			require.ErrorIs(t, pooltest.Receive(t, errs), work.ErrFenced)
		})
		for range 5 {
			k.Enqueue("plain")
		}
		gauge.Began(t, 5)
		assert.Equal(t, int64(1), gauge.Most.Load())
		k.Cancel(never)
	})
}

// TestAHandlerWaitsAgainAndAgain, in as many waves as it wants.
func TestAHandlerWaitsAgainAndAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var waves, children atomic.Int64
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("parent", func(ctx context.Context) error {
				for range 20 {
					receipt, err := k.Enq.With(work.Retention(time.Hour)).Enqueue(ctx, "child")
					if err != nil {
						return err
					}
					if err := k.Enq.WaitEnd(ctx, receipt.ID); err != nil {
						return err
					}
					waves.Add(1)
				}
				return nil
			}).
			Job("child", func() error { children.Add(1); return nil }))
		for range 10 {
			k.Enqueue("parent")
		}
		k.Drained(pool)
		assert.Equal(t, []int64{200, 200}, []int64{waves.Load(), children.Load()})
	})
}

// TestSuspectsThatWaitForSuspects: one at a time may run, from which others are kept apart; one that waits for another
// is not the one.
func TestSuspectsThatWaitForSuspects(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for _, id := range []string{"child", "parent"} {
			k.Do("HSET", "crashes", id, "w1 w2")
		}
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).
			Job("parent", func(ctx context.Context) error {
				k.EnqueueAs("child", "child")
				return k.Enq.WaitEnd(ctx, "child")
			}).
			// kept, as it may end before Redis knows that its parent waits, which has made room for it a moment earlier
			JobWithOptions("child", work.JobOptions{Retention: time.Hour}, pooltest.Nothing))
		k.EnqueueAs("parent", "parent")
		k.Until("both have ended", func() bool {
			k.DueNow("scheduled") // one that was kept back tries again
			return pooltest.Count[event.JobDone](k.Spy) >= 2
		})
		k.Drained(pool)
		assert.Zero(t, pooltest.Count[event.JobFailed](k.Spy))
	})
}

// TestAHandlerThatMayNotWaitGetsWhatHasEnded: nothing is run a second time only because a stop, or too many others,
// came before its handler asked for results that are there.
func TestAHandlerThatMayNotWaitGetsWhatHasEnded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		never := k.Later("never", time.Hour).ID
		patient := pooltest.NewPatient()
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("child", work.JobOptions{Retention: time.Hour}, func() (int, error) { return 7, nil }).
			Job("waits", func(ctx context.Context) error { return k.Enq.WaitEnd(ctx, never) }).
			Job("parent", func(ctx context.Context, job *work.Job, first, second string, duringStop bool) error {
				if duringStop {
					_ = patient.Handle(ctx, job)
				}
				all, err := work.WaitAll[int](ctx, k.Enq, first, second)
				assert.Equal(t, []int{7, 7}, all)
				assert.NoError(t, err)
				all, err = work.WaitAll[int](ctx, k.Enq, first, never)
				assert.Equal(t, []int{7, 0}, all, "what is there")
				assert.Error(t, err)
				id, result, err := work.WaitAny[int](ctx, k.Enq, never, second)
				assert.Equal(t, second, id)
				assert.Equal(t, 7, result)
				return err
			})
		pooltest.Times(pool).Waiting = 1
		k.Start(pool)
		first, second := k.Enqueue("child").ID, k.Enqueue("child").ID
		k.Drained(pool)
		k.Enqueue("waits")
		k.away(pool, 1)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](k.Enqueue("parent", first, second, false).ID))
		last := k.Enqueue("parent", first, second, true).ID
		pooltest.Receive(t, patient.Began)
		stopped := later(func() (any, error) { return nil, k.Stop(pool) })
		k.Until("it stops", func() bool { return pooltest.Parts(pool).Stopping })
		close(patient.GoOn)
		_, err := stopped()
		require.NoError(t, err)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](last))
		assert.Empty(t, k.InLine("parent"))
	})
}
