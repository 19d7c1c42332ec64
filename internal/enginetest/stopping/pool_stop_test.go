package stopping_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestStopWaitsForRunningJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave := make(chan *work.Job), make(chan struct{})
		pool := work.NewWorkerPool(nil, 3, k.Options()).Job("a", func(ctx context.Context, job *work.Job) error {
			entered <- job
			<-leave
			return ctx.Err() // nil: the stop is patient
		})
		require.NoError(t, pool.Start(k.Ctx()))
		for range 3 {
			k.Enqueue("a")
			pooltest.Receive(t, entered)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Stop(k.Ctx()) }()
		pooltest.Receive(t, pooltest.UntilStopping(pool))
		close(leave)
		require.NoError(t, pooltest.Receive(t, stopped))
		k.Empty("a")
		k.NoWorker()
	})
}

func TestAHandlerThatEndsWithItsCtxIsGivenBackAndNamed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered := make(chan struct{}, 3)
		causes := make(chan error, 3)
		options := k.Options()
		options.ShutdownTimeout = 20 * time.Millisecond
		pool := work.NewWorkerPool(nil, 3, options).Job("a", func(ctx context.Context) error {
			entered <- struct{}{}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return fmt.Errorf("given up: %w", ctx.Err())
		})
		require.NoError(t, pool.Start(k.Ctx()))
		job := k.Enqueue("a")
		pooltest.Receive(t, entered)
		err := pool.Stop(k.Ctx())
		require.ErrorIs(t, pooltest.Receive(t, causes), work.ErrShutdown)
		var stop *work.StopError
		require.ErrorAs(t, err, &stop)
		require.Len(t, stop.Released, 1)
		assert.Equal(t, job.ID, stop.Released[0].ID)
		assert.Empty(t, stop.Stuck)
		require.NoError(t, stop.Err)
		assert.EqualError(t, err, "the worker pool did not stop in good order: jobs given back (1): a "+job.ID)
		assert.Equal(t, []string{job.ID}, k.InLine("a"))
		assert.Zero(t, k.Number("HLEN", "trail"), "no attempt was used")
		k.NoWorker()

		attempts := make(chan int, 1)
		next := work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func(job *work.Job) error { attempts <- job.Attempt; return nil })
		k.Start(next)
		assert.Equal(t, 1, pooltest.Receive(t, attempts))
	})
}

func TestAnErrorOfAHandlersOwnIsItsFailureAlsoInAStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered := make(chan struct{}, 1)
		options := k.Options()
		options.ShutdownTimeout = -1
		pool := work.NewWorkerPool(nil, 1, options).Job("a", func(ctx context.Context) error {
			close(entered)
			<-ctx.Done()
			return errors.New("no luck")
		})
		require.NoError(t, pool.Start(k.Ctx()))
		k.Enqueue("a")
		pooltest.Receive(t, entered)
		require.NoError(t, pool.Stop(k.Ctx()))
		assert.Equal(t, 1, pooltest.Count[event.JobFailed](k.Spy))
		assert.Equal(t, 1, k.Number("ZCARD", "retry"))
		k.NoWorker()
	})
}

func TestAHandlerThatIgnoresItsCtxIsStuckAndItsJobRunsElsewhere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave, left := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
		options := k.Options()
		options.ShutdownTimeout = -1
		pool := work.NewWorkerPool(nil, 1, options).Job("a", func() error {
			close(entered)
			<-leave
			close(left)
			return errors.New("nobody hears this")
		})
		require.NoError(t, pool.Start(k.Ctx()))
		job := k.Enqueue("a")
		pooltest.Receive(t, entered)
		behind := k.Enqueue("a")

		err := pool.Stop(k.Ctx())
		var stop *work.StopError
		require.ErrorAs(t, err, &stop)
		require.Len(t, stop.Stuck, 1)
		assert.Equal(t, job.ID, stop.Stuck[0].ID)
		assert.False(t, stop.Stuck[0].Begun.IsZero())
		assert.Empty(t, stop.Released)
		assert.EqualError(t, err, "the worker pool did not stop in good order: handlers that did not return (1): a "+
			""+job.ID)
		assert.Equal(t, work.ErrShutdown, pooltest.Await[event.JobStuck](t, k.Spy, nil).Cause)
		assert.Equal(t, []string{job.ID, behind.ID}, k.InLine("a"), "it stands in front of what came after it")
		k.NoWorker()

		ran := make(chan string, 2)
		next := work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func(job *work.Job) error { ran <- job.ID; return nil })
		k.Start(next)
		assert.Equal(t, job.ID, pooltest.Receive(t, ran))
		close(leave)
		pooltest.Receive(t, left)
		assert.Equal(t, behind.ID, pooltest.Receive(t, ran))
		assert.Zero(t, pooltest.Count[event.JobFailed](k.Spy), "what it returns later does not count")
	})
}

func TestAStopLeavesATokenForOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered := make(chan struct{}, 1)
		options := k.Options()
		options.ShutdownTimeout = -1
		first := work.NewWorkerPool(nil, 1, options).Job("a", func(ctx context.Context) error {
			entered <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
		require.NoError(t, first.Start(k.Ctx()))
		k.Enqueue("a")
		pooltest.Receive(t, entered)
		ran := make(chan struct{}, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() error { ran <- struct{}{}; return nil }))
		var stop *work.StopError
		require.ErrorAs(t, first.Stop(k.Ctx()), &stop)
		pooltest.Receive(t, ran)
	})
}

func TestASecondStopThatIsInAHurryHurriesTheFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered := make(chan struct{}, 1)
		options := k.Options()
		options.ShutdownTimeout = time.Hour
		pool := work.NewWorkerPool(nil, 1, options).Job("a", func(ctx context.Context) error {
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
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		require.Error(t, pool.Stop(ended))
		var stop *work.StopError
		require.ErrorAs(t, pooltest.Receive(t, patient), &stop)
		require.Len(t, stop.Released, 1, "a healthy Redis takes it back even now")
		assert.Equal(t, []string{job.ID}, k.InLine("a"))
		k.NoWorker()
	})
}

// stopWithin stops a pool with that much time and checks that it does not take more, whatever is wrong. (The slack is
// that of a busy machine.)
func stopWithin(t *testing.T, pool *work.WorkerPool, d time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	begun := time.Now()
	err := pool.Stop(ctx)
	assert.Less(t, time.Since(begun), d+8*time.Second)
	return err
}

func TestAStopReturnsInTimeWhileRedisIsSilent(t *testing.T) {
	t.Parallel()
	for name, within := range map[string]time.Duration{"no time at all": 0, "very little": 20 * time.Millisecond,
		"some": 16 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				proxy := redistest.NewProxy(t, s.Addr())
				options := k.Options()
				options.Connection = k.Via(proxy.DSN())
				entered := make(chan struct{}, 2)
				pool := work.NewWorkerPool(nil, 4, options).Job("a", func(ctx context.Context) error {
					entered <- struct{}{}
					<-ctx.Done()
					return ctx.Err()
				})
				require.NoError(t, pool.Start(k.Ctx()))
				k.Enqueue("a")
				k.Enqueue("a")
				pooltest.Receive(t, entered)
				pooltest.Receive(t, entered)
				proxy.Pause()
				err := stopWithin(t, pool, within)
				proxy.Resume()
				var stop *work.StopError
				require.ErrorAs(t, err, &stop)
				require.Error(t, stop.Err, "the jobs could not be given back")
				if within == 16*time.Second {
					assert.Len(t, stop.Released, 2)
					assert.ErrorContains(t, err, "2 outcomes were not acknowledged by Redis")
				}
				pooltest.Receive(t, pool.Done()) // a stop that nobody waits for ends as well
			})
		})
	}
}

func TestAStopReturnsInTimeWhateverAHandlerDoes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.ShutdownTimeout = time.Hour
		entered, leave := make(chan struct{}), make(chan struct{})
		defer close(leave)
		pool := work.NewWorkerPool(nil, 2, options).Job("a", func() error { close(entered); <-leave; return nil })
		require.NoError(t, pool.Start(k.Ctx()))
		job := k.Enqueue("a")
		pooltest.Receive(t, entered)
		var stop *work.StopError
		require.ErrorAs(t, stopWithin(t, pool, 20*time.Second), &stop)
		require.Len(t, stop.Stuck, 1)
		assert.NoError(t, stop.Err)
		assert.Equal(t, []string{job.ID}, k.InLine("a"))
		k.NoWorker()
	})
}

func TestAStopReturnsInTimeWhileAnEnqueueIsUnderWay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, start := range map[string]bool{"of a pool that runs": true, "of a pool that never ran": false} {
			t.Run(name, func(t *testing.T) {
				k := newKit(t, s)
				proxy := redistest.NewProxy(t, s.Addr())
				options := k.Options()
				options.Connection = k.Via(proxy.DSN())
				pool := work.NewWorkerPool(nil, 2, options).Job("a", pooltest.Nothing)
				if start {
					require.NoError(t, pool.Start(k.Ctx()))
				}
				_, err := pool.Enqueuer().Enqueue(k.Ctx(), "a")
				require.NoError(t, err)
				proxy.Pause()
				defer proxy.Resume()
				enqueued := make(chan error, 1)
				go func() {
					_, err := pool.Enqueuer().Enqueue(context.Background(), "a")
					enqueued <- err
				}()
				intake := inside.Enqueuer(pool.Enqueuer()).Intake
				require.Eventually(t, func() bool { return intake.Callers() > 0 }, pooltest.Patience, time.Millisecond)
				_ = stopWithin(t, pool, 500*time.Millisecond) // in order only for the pool that never ran
				var unknown *work.EnqueueError
				require.ErrorAs(t, pooltest.Receive(t, enqueued), &unknown)
			})
		}
	})
}

func TestAStopWithoutRedisSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	pool := work.NewWorkerPool(nil, 4, work.WorkerOptions{Redis: server.DSN(), Logger: pooltest.Silent()}).
		Job("a", pooltest.Nothing)
	require.NoError(t, pool.Start(context.Background()))
	server.Kill()
	err := stopWithin(t, pool, pooltest.Patience)
	assert.ErrorContains(t, err, "the worker could not be removed from Redis, others will reap it: ")
	assert.ErrorContains(t, err, "Redis at "+server.Addr(), "it cannot connect, or finds an idle connection broken")
}

// What breaks a connection last may be what the worker leaves with.
func TestAStopSurvivesABrokenConnection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.Options()
		options.Connection = k.Via(proxy.DSN())
		pool := work.NewWorkerPool(nil, 2, options).Job("a", pooltest.Nothing)
		require.NoError(t, pool.Start(k.Ctx()))
		swallowed := proxy.SwallowReply(":stopped:info") // the reply that the worker was removed
		require.NoError(t, stopWithin(t, pool, pooltest.Patience))
		pooltest.Receive(t, swallowed)
	})
}

func TestAnotherWorkerTakesOverFromAStopThatWasCutShort(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.Options()
		options.Connection, options.ShutdownTimeout = k.Via(proxy.DSN()), -1
		entered := make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, options).Job("a", func(ctx context.Context) error {
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		})
		require.NoError(t, pool.Start(k.Ctx()))
		job := k.Enqueue("a")
		pooltest.Receive(t, entered)
		proxy.Pause()
		require.Error(t, stopWithin(t, pool, 300*time.Millisecond))
		proxy.Resume()
		pooltest.Receive(t, pool.Done())

		ran := make(chan string, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func(job *work.Job) error { ran <- job.ID; return nil }))
		assert.Equal(t, job.ID, pooltest.Receive(t, ran))
	})
}
