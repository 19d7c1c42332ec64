package work

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

func nothing() error { return nil }

func TestStartTwiceAndAfterStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 2, k.options()).Job("a", nothing)
		require.NoError(t, pool.Start(k.ctx()))
		require.ErrorIs(t, pool.Start(k.ctx()), ErrStarted)
		require.ErrorIs(t, pool.Run(k.ctx()), ErrStarted)
		k.enqueue("a")
		require.NoError(t, pool.Drain(k.ctx()), "the first start stands")
		require.NoError(t, pool.Stop(k.ctx()))
		require.NoError(t, pool.Stop(k.ctx()))
		require.ErrorIs(t, pool.Start(k.ctx()), ErrStopped)
		require.ErrorIs(t, pool.Run(k.ctx()), ErrStopped)
		assert.Equal(t, 1, count[event.WorkerStarted](k.spy))
		assert.Equal(t, 1, count[event.WorkerStopped](k.spy))
	})
}

func TestStopBeforeStart(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 2, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent()}).Job("a", nothing)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, pool.Stop(ended), "there is nothing to wait for")
	require.NoError(t, pool.Stop(context.Background()))
	require.ErrorIs(t, pool.Start(context.Background()), ErrStopped)
	_, err := pool.Enqueuer().Enqueue(context.Background(), "a")
	require.ErrorIs(t, err, ErrClosed)
}

func TestStopByManyAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave := make(chan struct{}), make(chan struct{})
		pool := NewWorkerPool(nil, 2, k.options()).Job("a", func() error { close(entered); <-leave; return nil })
		require.NoError(t, pool.Start(k.ctx()))
		k.enqueue("a")
		receive(t, entered)
		results := make(chan error, 10)
		for range cap(results) {
			go func() { results <- pool.Stop(k.ctx()) }()
		}
		select {
		case err := <-results:
			require.Failf(t, "a stop returned while a job ran", "%v", err)
		case <-untilStopping(pool):
		}
		close(leave)
		for range cap(results) {
			require.NoError(t, receive(t, results))
		}
		k.empty("a")
	})
}

// untilStopping is closed when Checkin answers true.
func untilStopping(pool *WorkerPool) <-chan struct{} {
	stopping := make(chan struct{})
	go func() {
		defer close(stopping)
		for !pool.workers[0].stopping() {
			select {
			case <-pool.stopped:
				return
			default:
				runtime.Gosched()
			}
		}
	}()
	return stopping
}

// gate is a Connection whose calls wait until they are let through.
type gate struct {
	Connection
	reached chan struct{} // receives for each call of the script
	open    chan struct{}
}

func (g gate) Driver() (rdb.Driver, error) {
	driver, err := g.Connection.Driver()
	return gatedDriver{driver, g}, err
}

type gatedDriver struct {
	rdb.Driver
	gate gate
}

func (d gatedDriver) Pipeline(ctx context.Context, calls ...rdb.Call) ([]rdb.Reply, error) {
	if nameOf(calls[0]) == "register" {
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
				options := k.options()
				options.Redis, options.Connection = "", g
				pool := NewWorkerPool(nil, 2, options).Job("a", nothing)
				started := make(chan error, 1)
				go func() { started <- pool.Start(k.ctx()) }()
				receive(t, g.reached)
				require.ErrorIs(t, pool.Start(k.ctx()), ErrStarted)
				require.ErrorIs(t, pool.Drain(k.ctx()), ErrNotStarted)
				assert.NotNil(t, pool.Enqueuer(), "a start that waits for Redis blocks nobody")
				if letThrough {
					close(g.open)
				}
				require.NoError(t, pool.Stop(k.ctx()))
				if err := receive(t, started); !letThrough || err != nil {
					require.ErrorIs(t, err, ErrStopped)
				}
				for _, key := range k.keys() {
					assert.NotContains(t, key, "worker", "it is not registered any more")
				}
				assert.Equal(t, count[event.WorkerStarted](k.spy), count[event.WorkerStopped](k.spy))
			})
		}
	})
}

func TestAStopOfAStartRespectsItsCtx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.Redis, options.Connection = "", deaf{redisPool(t, s), make(chan struct{}), make(chan struct{})}
		silence := options.Connection.(deaf)
		pool := NewWorkerPool(nil, 2, options).Job("a", nothing)
		started := make(chan error, 1)
		go func() { started <- pool.Start(k.ctx()) }()
		receive(t, silence.reached)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		var stop *StopError
		require.ErrorAs(t, pool.Stop(ended), &stop)
		require.ErrorIs(t, stop, context.Canceled)
		close(silence.open)
		require.ErrorIs(t, receive(t, started), ErrStopped)
		require.NoError(t, pool.Stop(k.ctx()))
	})
}

// deaf is a Connection whose first call returns when it is told to, whatever its ctx says.
type deaf struct {
	Connection
	reached, open chan struct{}
}

func (d deaf) Driver() (rdb.Driver, error) {
	driver, err := d.Connection.Driver()
	return &deafDriver{Driver: driver, deaf: d}, err
}

type deafDriver struct {
	rdb.Driver
	deaf  deaf
	first sync.Once
}

func (d *deafDriver) Pipeline(ctx context.Context, calls ...rdb.Call) ([]rdb.Reply, error) {
	d.first.Do(func() { close(d.deaf.reached); <-d.deaf.open })
	return d.Driver.Pipeline(ctx, calls...)
}

func TestTheEndOfTheCtxOfStartBeginsAGracefulStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		checkins, leave := make(chan *Job), make(chan struct{})
		pool := NewWorkerPool(nil, 2, k.options()).Job("a", func(ctx context.Context, job *Job) error {
			checkins <- job
			<-leave
			return ctx.Err()
		})
		ctx, cancel := context.WithCancel(context.Background())
		require.NoError(t, pool.Start(ctx))
		k.enqueue("a")
		job := receive(t, checkins)
		assert.False(t, job.Checkin("before"))
		cancel()
		receive(t, untilStopping(pool))
		assert.True(t, job.Checkin("after"))
		close(leave)
		require.NoError(t, pool.Stop(k.ctx()), "the job ended well: its ctx is not the one of Start")
		k.empty("a")
	})
}

func TestRunEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 2, k.options()).Job("a", nothing)
		ctx, cancel := context.WithCancel(context.Background())
		ran := make(chan error, 1)
		go func() { ran <- pool.Run(ctx) }()
		await[event.WorkerStarted](t, k.spy, nil)
		cancel()
		require.NoError(t, receive(t, ran))

		pool = NewWorkerPool(nil, 2, k.options()).Job("a", nothing)
		err := pool.Run(ctx)
		require.ErrorIs(t, err, context.Canceled, "a start with an ended ctx fails")
		require.False(t, errors.As(err, new(*StopError)))
		require.NoError(t, pool.Stop(k.ctx()))
	})
}

func TestRunReturnsWhenSomebodyElseStopsThePool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 2, k.options()).Job("a", nothing)
		ran := make(chan error, 1)
		go func() { ran <- pool.Run(context.Background()) }()
		await[event.WorkerStarted](t, k.spy, nil)
		require.NoError(t, pool.Stop(k.ctx()))
		require.NoError(t, receive(t, ran))
	})
}

// TestAnyOrderOfCallsOfAPool: whatever is called at the same time, all calls return, and nothing is left.
func TestAnyOrderOfCallsOfAPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for range 15 {
			k := newKit(t, s)
			pool := NewWorkerPool(nil, 2, k.options()).Job("a", nothing)
			ctx, cancel := context.WithCancel(k.ctx())
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
			for _, key := range k.keys() {
				assert.NotContains(t, key, "worker")
			}
		}
	})
}

// redisPool is a client that a program made itself.
func redisPool(t *testing.T, s redistest.Server) Connection {
	t.Helper()
	pool := &redis.Pool{MaxIdle: 4, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", s.Addr()) }}
	t.Cleanup(func() { assert.NoError(t, pool.Close()) })
	return Redigo(pool)
}
