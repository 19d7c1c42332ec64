package stopping_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// patient are the options of a pool whose Stop waits for handlers as long as they like.
func (k *kit) patient() work.WorkerOptions {
	options := k.Options()
	options.ShutdownTimeout = time.Hour
	return options
}

func TestStopNowGivesBackWhatRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := pooltest.IdsOf(k.EnqueueNumbers("a", 0, 5))
		entered := make(chan struct{}, 5)
		pool := work.NewWorkerPool(nil, 3, k.patient()).Job("a", func(ctx context.Context, _ int) error {
			entered <- struct{}{}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.NoError(t, pool.Start(k.Ctx()))
		for range 3 {
			pooltest.Receive(t, entered)
		}
		var stop *work.StopError
		require.ErrorAs(t, pool.StopNow(k.Ctx()), &stop)
		assert.Len(t, stop.Released, 3)
		assert.Empty(t, stop.Stuck)
		require.NoError(t, stop.Err)
		assert.Equal(t, ids, k.InLine("a"), "at the front, in their order")
		assert.Zero(t, k.Number("HLEN", "trail"), "no attempt was used")
		require.ErrorAs(t, pool.StopNow(k.Ctx()), &stop, "what the first one said")
		k.NoWorker()
	})
}

// The job of a handler that ignores its ctx runs twice; what the first one returns counts for nothing.
func TestStopNowDoesNotWaitForAHandlerThatIgnoresItsCtx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, k.patient()).Job("a", func() (string, error) {
			defer close(left)
			close(entered)
			<-leave
			return "nobody hears this", nil
		})
		require.NoError(t, pool.Start(k.Ctx()))
		job := k.Enqueue("a")
		pooltest.Receive(t, entered)
		var stop *work.StopError
		require.ErrorAs(t, pool.StopNow(k.Ctx()), &stop)
		require.Len(t, stop.Stuck, 1)
		assert.Equal(t, job.ID, stop.Stuck[0].ID)
		assert.Equal(t, work.ErrShutdown, pooltest.Await[event.JobStuck](t, k.Spy, nil).Cause)
		assert.Equal(t, []string{job.ID}, k.InLine("a"))
		k.NoWorker()

		ran := make(chan string, 2)
		next := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func(job *work.Job) error { ran <- job.ID; return nil }))
		assert.Equal(t, job.ID, pooltest.Receive(t, ran), "while the first one runs on")
		close(leave)
		pooltest.Receive(t, left)
		k.Drained(next)
		assert.Equal(t, 1, pooltest.Count[event.JobDone](k.Spy), "that of the second one")
		assert.Empty(t, ran)
	})
}

func TestStopNowHurriesAStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered := make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, k.patient()).Job("a", func(ctx context.Context) error {
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		})
		require.NoError(t, pool.Start(k.Ctx()))
		job := k.Enqueue("a")
		pooltest.Receive(t, entered)
		patient := make(chan error, 1)
		go func() { patient <- pool.Stop(context.Background()) }()
		pooltest.Receive(t, pooltest.UntilStopping(pool))
		var stop *work.StopError
		require.ErrorAs(t, pool.StopNow(context.Background()), &stop)
		require.Len(t, stop.Released, 1)
		require.ErrorAs(t, pooltest.Receive(t, patient), &stop)
		assert.Equal(t, []string{job.ID}, k.InLine("a"))
		k.NoWorker()
	})
}

func TestStopNowOfAPoolThatNeverRan(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
		require.NoError(t, pool.StopNow(k.Ctx()))
		require.ErrorIs(t, pool.Start(k.Ctx()), work.ErrStopped)
		require.NoError(t, pool.StopNow(k.Ctx()))
		pooltest.Receive(t, pool.Done())
	})
}

func TestStopNowReturnsInTimeWhileRedisIsSilent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.patient()
		options.Connection = k.Via(proxy.DSN())
		entered := make(chan struct{}, 2)
		pool := work.NewWorkerPool(nil, 1, options).Job("a", func(ctx context.Context) error {
			entered <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
		require.NoError(t, pool.Start(k.Ctx()))
		job := k.Enqueue("a")
		pooltest.Receive(t, entered)
		proxy.Pause()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begun := time.Now()
		var stop *work.StopError
		require.ErrorAs(t, pool.StopNow(ctx), &stop)
		require.Error(t, stop.Err, "the job could not be given back")
		assert.Less(t, time.Since(begun), 9*time.Second)
		proxy.Resume()
		pooltest.Receive(t, pool.Done())
		ran := make(chan string, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func(job *work.Job) error { ran <- job.ID; return nil }))
		assert.Equal(t, job.ID, pooltest.Receive(t, ran), "a reaper puts it back")
	})
}
