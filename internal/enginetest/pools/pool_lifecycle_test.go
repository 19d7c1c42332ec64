package pools_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestStartTwiceAndAfterStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 2, k.Options()).Job("a", pooltest.Nothing)
		require.NoError(t, pool.Start(k.Ctx()))
		require.ErrorIs(t, pool.Start(k.Ctx()), work.ErrStarted)
		require.ErrorIs(t, pool.Run(k.Ctx()), work.ErrStarted)
		k.Enqueue("a")
		require.NoError(t, pool.Drain(k.Ctx()), "the first start stands")
		require.NoError(t, pool.Stop(k.Ctx()))
		require.NoError(t, pool.Stop(k.Ctx()))
		require.ErrorIs(t, pool.Start(k.Ctx()), work.ErrStopped)
		require.ErrorIs(t, pool.Run(k.Ctx()), work.ErrStopped)
		assert.Equal(t, 1, pooltest.Count[event.WorkerStarted](k.Spy))
		assert.Equal(t, 1, pooltest.Count[event.WorkerStopped](k.Spy))
	})
}

func TestStopBeforeStart(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: pooltest.Silent()}).
		Job("a", pooltest.Nothing)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, pool.Stop(ended), "there is nothing to wait for")
	require.NoError(t, pool.Stop(context.Background()))
	require.ErrorIs(t, pool.Start(context.Background()), work.ErrStopped)
	_, err := pool.Enqueuer().Enqueue(context.Background(), "a")
	require.ErrorIs(t, err, work.ErrClosed)
}

func TestStopByManyAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave := make(chan struct{}), make(chan struct{})
		pool := work.NewWorkerPool(nil, 2, k.Options()).Job("a", func() error { close(entered); <-leave; return nil })
		require.NoError(t, pool.Start(k.Ctx()))
		k.Enqueue("a")
		pooltest.Receive(t, entered)
		results := make(chan error, 10)
		for range cap(results) {
			go func() { results <- pool.Stop(k.Ctx()) }()
		}
		select {
		case err := <-results:
			require.Failf(t, "a stop returned while a job ran", "%v", err)
		case <-pooltest.UntilStopping(pool):
		}
		close(leave)
		for range cap(results) {
			require.NoError(t, pooltest.Receive(t, results))
		}
		k.Empty("a")
	})
}

// gate is a Connection whose calls wait until they are let through.
type gate struct {
	work.Connection
	reached chan struct{} // receives for each call of the script
	open    chan struct{}
}

func (g gate) Driver() (redisconn.Driver, error) {
	driver, err := g.Connection.Driver()
	return gatedDriver{driver, g}, err
}

type gatedDriver struct {
	redisconn.Driver
	gate gate
}

func (d gatedDriver) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if pooltest.NameOf(calls[0]) == "register" {
		d.gate.reached <- struct{}{}
		select {
		case <-d.gate.open:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return d.Driver.Pipeline(ctx, calls...)
}

func TestStopWhileStartIsUnderWay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, letThrough := range map[string]bool{"before it joined": false, "as it joins": true} {
			t.Run(name, func(t *testing.T) {
				k := newKit(t, s)
				g := gate{redisPool(t, s), make(chan struct{}, 8), make(chan struct{})}
				options := k.Options()
				options.Redis, options.Connection = "", g
				pool := work.NewWorkerPool(nil, 2, options).Job("a", pooltest.Nothing)
				started := make(chan error, 1)
				go func() { started <- pool.Start(k.Ctx()) }()
				pooltest.Receive(t, g.reached)
				require.ErrorIs(t, pool.Start(k.Ctx()), work.ErrStarted)
				require.ErrorIs(t, pool.Drain(k.Ctx()), work.ErrNotStarted)
				assert.NotNil(t, pool.Enqueuer(), "a start that waits for Redis blocks nobody")
				if letThrough {
					close(g.open)
				}
				require.NoError(t, pool.Stop(k.Ctx()))
				if err := pooltest.Receive(t, started); !letThrough || err != nil {
					require.ErrorIs(t, err, work.ErrStopped)
				}
				for _, key := range k.Keys() {
					assert.NotContains(t, key, "worker", "it is not registered any more")
				}
				assert.Equal(t, pooltest.Count[event.WorkerStarted](k.Spy), pooltest.Count[event.WorkerStopped](k.Spy))
			})
		}
	})
}

func TestAStopOfAStartRespectsItsCtx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.Redis, options.Connection = "", deaf{redisPool(t, s), make(chan struct{}), make(chan struct{})}
		silence := options.Connection.(deaf)
		pool := work.NewWorkerPool(nil, 2, options).Job("a", pooltest.Nothing)
		started := make(chan error, 1)
		go func() { started <- pool.Start(k.Ctx()) }()
		pooltest.Receive(t, silence.reached)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		var stop *work.StopError
		require.ErrorAs(t, pool.Stop(ended), &stop)
		require.ErrorIs(t, stop, context.Canceled)
		close(silence.open)
		require.ErrorIs(t, pooltest.Receive(t, started), work.ErrStopped)
		require.NoError(t, pool.Stop(k.Ctx()))
	})
}

// deaf is a Connection whose first call returns when it is told to, whatever its ctx says.
type deaf struct {
	work.Connection
	reached, open chan struct{}
}

func (d deaf) Driver() (redisconn.Driver, error) {
	driver, err := d.Connection.Driver()
	return &deafDriver{Driver: driver, deaf: d}, err
}

type deafDriver struct {
	redisconn.Driver
	deaf  deaf
	first sync.Once
}

func (d *deafDriver) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	d.first.Do(func() { close(d.deaf.reached); <-d.deaf.open })
	return d.Driver.Pipeline(ctx, calls...)
}

func TestTheEndOfTheCtxOfStartBeginsAGracefulStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		checkins, leave := make(chan *work.Job), make(chan struct{})
		pool := work.NewWorkerPool(nil, 2, k.Options()).Job("a", func(ctx context.Context, job *work.Job) error {
			checkins <- job
			<-leave
			return ctx.Err()
		})
		ctx, cancel := context.WithCancel(context.Background())
		require.NoError(t, pool.Start(ctx))
		k.Enqueue("a")
		job := pooltest.Receive(t, checkins)
		assert.False(t, job.Checkin("before"))
		cancel()
		pooltest.Receive(t, pooltest.UntilStopping(pool))
		assert.True(t, job.Checkin("after"))
		close(leave)
		require.NoError(t, pool.Stop(k.Ctx()), "the job ended well: its ctx is not the one of Start")
		k.Empty("a")
	})
}

func TestRunEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 2, k.Options()).Job("a", pooltest.Nothing)
		ctx, cancel := context.WithCancel(context.Background())
		ran := make(chan error, 1)
		go func() { ran <- pool.Run(ctx) }()
		pooltest.Await[event.WorkerStarted](t, k.Spy, nil)
		cancel()
		require.NoError(t, pooltest.Receive(t, ran))

		pool = work.NewWorkerPool(nil, 2, k.Options()).Job("a", pooltest.Nothing)
		err := pool.Run(ctx)
		require.ErrorIs(t, err, context.Canceled, "a start with an ended ctx fails")
		require.False(t, errors.As(err, new(*work.StopError)))
		require.NoError(t, pool.Stop(k.Ctx()))
	})
}

func TestRunReturnsWhenSomebodyElseStopsThePool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 2, k.Options()).Job("a", pooltest.Nothing)
		ran := make(chan error, 1)
		go func() { ran <- pool.Run(context.Background()) }()
		pooltest.Await[event.WorkerStarted](t, k.Spy, nil)
		require.NoError(t, pool.Stop(k.Ctx()))
		require.NoError(t, pooltest.Receive(t, ran))
	})
}

// TestAnyOrderOfCallsOfAPool: whatever is called at the same time, all calls return, and nothing is left.
func TestAnyOrderOfCallsOfAPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for range 15 {
			k := newKit(t, s)
			pool := work.NewWorkerPool(nil, 2, k.Options()).Job("a", pooltest.Nothing)
			ctx, cancel := context.WithCancel(k.Ctx())
			var calls sync.WaitGroup
			for _, call := range []func(){
				func() { _ = pool.Start(ctx) },
				func() { _ = pool.Run(ctx) },
				func() { _ = pool.Drain(ctx) },
				func() { _, _ = pool.Enqueuer().Enqueue(ctx, "a") },
				func() { _ = pool.Stop(ctx) },
				func() { _ = pool.Stop(ctx) },
			} {
				calls.Go(call)
			}
			calls.Wait()
			cancel()
			require.NoError(t, pool.Stop(context.Background()))
			for _, key := range k.Keys() {
				assert.NotContains(t, key, "worker")
			}
		}
	})
}

// redisPool is a client that a program made itself.
func redisPool(t *testing.T, s redistest.Server) work.Connection {
	t.Helper()
	pool := &redis.Pool{MaxIdle: 4, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", s.Addr()) }}
	t.Cleanup(func() { assert.NoError(t, pool.Close()) })
	return work.Redigo(pool)
}
