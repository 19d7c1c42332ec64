package enqueuing_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// child is what a handler learned of the job that was enqueued by another one.
type child struct {
	name, parent string
	source       int64
	meta         string
}

// TestAHandlerEnqueuesThroughItsContext: the handler knows no pool, and what it enqueues knows where it comes from.
func TestAHandlerEnqueuesThroughItsContext(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		children := make(chan child, 8)
		learn := func(job *work.Job) error {
			children <- child{job.Name, job.Parent, job.SourceID, job.Meta["by"]}
			return nil
		}
		options := k.Options()
		var seen []work.Entry // by the middleware of the pool
		options.EnqueueMiddleware = []work.EnqueueMiddleware{
			func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
				if job := work.JobFromContext(ctx); job != nil {
					seen = append(seen, entries...)
				}
				_, err := next(ctx, entries)
				return err
			}}
		pool := k.Start(work.NewWorkerPool(nil, 1, options).
			Job("order", func(ctx context.Context) error {
				enq := work.EnqueuerFromContext(ctx)
				if _, err := enq.Enqueue(ctx, "a"); err != nil {
					return err
				}
				if _, err := enq.SourcedEnqueue(ctx, "b", 8); err != nil {
					return err
				}
				if _, err := enq.With(work.Source(9), work.Meta("by", "c")).Enqueue(ctx, "c"); err != nil {
					return err
				}
				_, err := enq.EnqueueMany(ctx, []work.Entry{{Name: "d"}, {Name: "e", Source: 10}})
				return err
			}).
			Job("a", learn).Job("b", learn).Job("c", learn).Job("d", learn).Job("e", learn))
		order, err := pool.Enqueuer().SourcedEnqueue(k.Ctx(), "order", 7)
		require.NoError(t, err)
		require.NoError(t, pool.Drain(k.Ctx()))
		close(children)
		var all []child
		for c := range children {
			all = append(all, c)
		}
		assert.ElementsMatch(t, []child{{"a", order.ID, 7, ""}, {"b", order.ID, 8, ""}, {"c", order.ID, 9, "c"},
			{"d", order.ID, 7, ""}, {"e", order.ID, 10, ""}}, all)
		require.Len(t, seen, 5, "the enqueue middleware gets the ctx of the handler")
		for i, source := range []int64{7, 8, 9, 7, 10} {
			assert.Equal(t, source, seen[i].Source, seen[i].Name)
			assert.Equal(t, order.ID, seen[i].Settings().Parent)
		}
	})
}

// TestAHandlerThatClosesItsEnqueuer closes none: it is that of all handlers, and of who enqueues beside the pool.
func TestAHandlerThatClosesItsEnqueuer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("order", func(ctx context.Context) error {
			enq := work.EnqueuerFromContext(ctx)
			assert.NoError(t, enq.With(work.Source(1)).Close())
			return enq.Close()
		}))
		for range 2 {
			_, err := pool.Enqueuer().Enqueue(k.Ctx(), "order")
			require.NoError(t, err)
			require.NoError(t, pool.Drain(k.Ctx()))
		}
		require.NoError(t, pool.Stop(k.Ctx()))
		_, err := pool.Enqueuer().Enqueue(k.Ctx(), "order")
		require.ErrorIs(t, err, work.ErrClosed, "the pool closes it")
	})
}

// TestTheParentOfAJobStandsInItsRecord: a job that nobody runs yet shows it, and one that no handler enqueued has none.
func TestTheParentOfAJobStandsInItsRecord(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := make(chan work.Receipt, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("remind", work.JobOptions{Retention: time.Hour}, func() error { return nil }).
			Job("order", func(ctx context.Context) error {
				receipt, err := work.EnqueuerFromContext(ctx).EnqueueIn(ctx, "remind", time.Hour)
				receipts <- receipt
				return err
			}))
		order := k.Enqueue("order")
		require.NoError(t, pool.Drain(k.Ctx()))
		job, err := k.Inspector().Job(k.Ctx(), (<-receipts).ID)
		require.NoError(t, err)
		assert.Equal(t, order.ID, job.Parent)
		assert.Zero(t, job.SourceID)
		require.NoError(t, k.Inspector().RunNow(k.Ctx(), job.ID))
		require.NoError(t, pool.Drain(k.Ctx()))
		ended, err := k.Inspector().Job(k.Ctx(), job.ID)
		require.NoError(t, err)
		assert.Equal(t, work.StateSucceeded, ended.State)
		assert.Equal(t, order.ID, ended.Parent, "as long as its retention says")
		plain, err := k.Inspector().Job(k.Ctx(), k.Later("remind", time.Hour).ID)
		require.NoError(t, err)
		assert.Empty(t, plain.Parent)
	})
}

// TestWithoutAPoolEachCallSaysSo: also at a Redis that could be reached, nothing is sent, and nothing waits.
func TestWithoutAPoolEachCallSaysSo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	enq, many := work.EnqueuerFromContext(ctx), []work.Entry{{Name: "a"}, {Name: "b"}}
	for name, call := range map[string]func(enq *work.Enqueuer) error{
		"Enqueue":     func(enq *work.Enqueuer) error { return failure(enq.Enqueue(ctx, "a", 1)) },
		"EnqueueIn":   func(enq *work.Enqueuer) error { return failure(enq.EnqueueIn(ctx, "a", time.Hour)) },
		"EnqueueAt":   func(enq *work.Enqueuer) error { return failure(enq.EnqueueAt(ctx, "a", time.Now())) },
		"EnqueueMany": func(enq *work.Enqueuer) error { return failure(enq.EnqueueMany(ctx, many)) },
		"large args":  func(enq *work.Enqueuer) error { return failure(enq.Enqueue(ctx, "a", make([]byte, 1<<20))) },
		"Cancel":      func(enq *work.Enqueuer) error { return failure(enq.Cancel(ctx, "7")) },
		"Result":      func(enq *work.Enqueuer) error { return failure(work.Result[int](ctx, enq, "7")) },
		"Wait":        func(enq *work.Enqueuer) error { return failure(work.Wait[int](ctx, enq, "7")) },
		"WaitAll":     func(enq *work.Enqueuer) error { return failure(work.WaitAll[int](ctx, enq, "7", "8")) },
		"WaitEnd":     func(enq *work.Enqueuer) error { return enq.WaitEnd(ctx, "7") },
		"Completions": func(enq *work.Enqueuer) error { return failure(enq.Completions("a").Next(ctx)) },
		"SyncClock":   func(enq *work.Enqueuer) error { return enq.SyncClock(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, call(enq), work.ErrNoPool)
			require.ErrorIs(t, call(enq.With(work.Retries(1))), work.ErrNoPool)
		})
	}
	require.NoError(t, enq.Close())
	require.ErrorIs(t, failure(enq.Enqueue(ctx, "a")), work.ErrNoPool, "Close changes nothing")
}

// failure is the error of a call that returns a value as well.
func failure[T any](_ T, err error) error { return err }
