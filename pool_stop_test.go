package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// inLine returns the ids in a queue, the one at the front first.
func (k *kit) inLine(queue string) []string {
	k.t.Helper()
	ids, err := redis.Strings(k.do("LRANGE", "queue:"+queue, 0, -1), nil)
	require.NoError(k.t, err)
	for i, j := 0, len(ids)-1; i < j; i, j = i+1, j-1 {
		ids[i], ids[j] = ids[j], ids[i]
	}
	return ids
}

// noWorker checks that nothing of a worker is left in Redis.
func (k *kit) noWorker() {
	k.t.Helper()
	assert.Zero(k.t, k.number("HLEN", "claimed"))
	assert.Zero(k.t, k.number("SCARD", "workers"))
	assert.Zero(k.t, k.number("SCARD", "dead"))
	for _, key := range k.keys() {
		assert.False(k.t, strings.HasPrefix(key, "worker"), key)
		assert.NotEqual(k.t, "lease", key)
	}
}

func TestStopWaitsForRunningJobs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave := make(chan *Job), make(chan struct{})
		pool := NewWorkerPool(nil, 3, k.options()).Job("a", func(ctx context.Context, job *Job) error {
			entered <- job
			<-leave
			return ctx.Err() // nil: the stop is patient
		})
		require.NoError(t, pool.Start(k.ctx()))
		for range 3 {
			k.enqueue("a")
			receive(t, entered)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Stop(k.ctx()) }()
		receive(t, untilStopping(pool))
		close(leave)
		require.NoError(t, receive(t, stopped))
		k.empty("a")
		k.noWorker()
	})
}

func TestAHandlerThatEndsWithItsCtxIsGivenBackAndNamed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered := make(chan struct{}, 3)
		causes := make(chan error, 3)
		options := k.options()
		options.ShutdownTimeout = 20 * time.Millisecond
		pool := NewWorkerPool(nil, 3, options).Job("a", func(ctx context.Context) error {
			entered <- struct{}{}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return fmt.Errorf("given up: %w", ctx.Err())
		})
		require.NoError(t, pool.Start(k.ctx()))
		job := k.enqueue("a")
		receive(t, entered)
		err := pool.Stop(k.ctx())
		require.ErrorIs(t, receive(t, causes), ErrShutdown)
		var stop *StopError
		require.ErrorAs(t, err, &stop)
		require.Len(t, stop.Released, 1)
		assert.Equal(t, job.ID, stop.Released[0].ID)
		assert.Empty(t, stop.Stuck)
		require.NoError(t, stop.Err)
		assert.EqualError(t, err, "the worker pool did not stop in good order: jobs given back (1): a "+job.ID)
		assert.Equal(t, []string{job.ID}, k.inLine("a"))
		assert.Zero(t, k.number("HLEN", "trail"), "no attempt was used")
		k.noWorker()

		attempts := make(chan int, 1)
		next := NewWorkerPool(nil, 1, k.options()).
			Job("a", func(job *Job) error { attempts <- job.Attempt; return nil })
		k.start(next)
		assert.Equal(t, 1, receive(t, attempts))
	})
}

func TestAnErrorOfAHandlersOwnIsItsFailureAlsoInAStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered := make(chan struct{}, 1)
		options := k.options()
		options.ShutdownTimeout = -1
		pool := NewWorkerPool(nil, 1, options).Job("a", func(ctx context.Context) error {
			close(entered)
			<-ctx.Done()
			return errors.New("no luck")
		})
		require.NoError(t, pool.Start(k.ctx()))
		k.enqueue("a")
		receive(t, entered)
		require.NoError(t, pool.Stop(k.ctx()))
		assert.Equal(t, 1, count[event.JobFailed](k.spy))
		assert.Equal(t, 1, k.number("ZCARD", "retry"))
		k.noWorker()
	})
}

func TestAHandlerThatIgnoresItsCtxIsStuckAndItsJobRunsElsewhere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave, left := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
		options := k.options()
		options.ShutdownTimeout = -1
		pool := NewWorkerPool(nil, 1, options).Job("a", func() error {
			close(entered)
			<-leave
			close(left)
			return errors.New("nobody hears this")
		})
		require.NoError(t, pool.Start(k.ctx()))
		job := k.enqueue("a")
		receive(t, entered)
		behind := k.enqueue("a")

		err := pool.Stop(k.ctx())
		var stop *StopError
		require.ErrorAs(t, err, &stop)
		require.Len(t, stop.Stuck, 1)
		assert.Equal(t, job.ID, stop.Stuck[0].ID)
		assert.False(t, stop.Stuck[0].Begun.IsZero())
		assert.Empty(t, stop.Released)
		assert.EqualError(t, err, "the worker pool did not stop in good order: handlers that did not return (1): a "+
			""+job.ID)
		assert.Equal(t, ErrShutdown, await[event.JobStuck](t, k.spy, nil).Cause)
		assert.Equal(t, []string{job.ID, behind.ID}, k.inLine("a"), "it stands in front of what came after it")
		k.noWorker()

		ran := make(chan string, 2)
		next := NewWorkerPool(nil, 1, k.options()).Job("a", func(job *Job) error { ran <- job.ID; return nil })
		k.start(next)
		assert.Equal(t, job.ID, receive(t, ran))
		close(leave)
		receive(t, left)
		assert.Equal(t, behind.ID, receive(t, ran))
		assert.Zero(t, count[event.JobFailed](k.spy), "what it returns later does not count")
	})
}

func TestWhatDidNotBeginGoesBackInOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var want []string
		var entries []Entry
		for range 200 {
			entries = append(entries, Entry{Name: "a"})
		}
		receipts, err := k.enq.EnqueueMany(k.ctx(), entries)
		require.NoError(t, err)
		for _, receipt := range receipts {
			want = append(want, receipt.ID)
		}
		pool := NewWorkerPool(nil, 200, k.options()).Job("a", nothing)
		// The stop begins after the fetch has claimed and before a processor has taken anything up.
		require.NoError(t, pool.prepare())
		w := newWorker(pool, 200, true)
		require.NoError(t, w.join(k.ctx()))
		w.halting.Store(true)
		w.begin()
		fetched := func() int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.unbegun)
		}
		require.Eventually(t, func() bool { return fetched() == 200 }, patience, time.Millisecond)
		require.Nil(t, w.stop(pool.hurried, patience).orNil())
		assert.Equal(t, want, k.inLine("a"))
		assert.Equal(t, 200, count[event.JobReleased](k.spy))
		assert.Zero(t, count[event.JobStarted](k.spy))
		k.noWorker()
		pool.closeConnection()
	})
}

func TestAStopLeavesATokenForOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered := make(chan struct{}, 1)
		options := k.options()
		options.ShutdownTimeout = -1
		first := NewWorkerPool(nil, 1, options).Job("a", func(ctx context.Context) error {
			entered <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
		require.NoError(t, first.Start(k.ctx()))
		k.enqueue("a")
		receive(t, entered)
		ran := make(chan struct{}, 1)
		k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func() error { ran <- struct{}{}; return nil }))
		var stop *StopError
		require.ErrorAs(t, first.Stop(k.ctx()), &stop)
		receive(t, ran)
	})
}

func TestASecondStopThatIsInAHurryHurriesTheFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered := make(chan struct{}, 1)
		options := k.options()
		options.ShutdownTimeout = time.Hour
		pool := NewWorkerPool(nil, 1, options).Job("a", func(ctx context.Context) error {
			close(entered)
			<-ctx.Done()
			return ctx.Err()
		})
		require.NoError(t, pool.Start(k.ctx()))
		job := k.enqueue("a")
		receive(t, entered)
		patient := make(chan error, 1)
		go func() { patient <- pool.Stop(context.Background()) }()
		receive(t, untilStopping(pool))
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		require.Error(t, pool.Stop(ended))
		var stop *StopError
		require.ErrorAs(t, receive(t, patient), &stop)
		require.Len(t, stop.Released, 1, "a healthy Redis takes it back even now")
		assert.Equal(t, []string{job.ID}, k.inLine("a"))
		k.noWorker()
	})
}
