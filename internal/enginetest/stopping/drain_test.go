package stopping_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestDrainOutsideOfTheLifeOfAPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
		require.ErrorIs(t, pool.Drain(k.Ctx()), work.ErrNotStarted)
		require.NoError(t, pool.Start(k.Ctx()))
		require.NoError(t, pool.Drain(k.Ctx()), "there is nothing")
		require.NoError(t, pool.Stop(k.Ctx()))
		require.ErrorIs(t, pool.Drain(k.Ctx()), work.ErrStopped)

		pool = work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
		require.NoError(t, pool.Stop(k.Ctx()))
		require.ErrorIs(t, pool.Drain(k.Ctx()), work.ErrStopped)
	})
}

func TestDrainWaitsForWhatRunsAndWhatItEnqueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var ended atomic.Int64
		pool := work.NewWorkerPool(nil, 4, k.Options())
		pool.Job("a", func(ctx context.Context, depth int) error {
			defer ended.Add(1)
			if depth == 0 {
				return nil
			}
			_, err := pool.Enqueuer().EnqueueMany(ctx, []work.Entry{
				{Name: "a", Args: []any{depth - 1}}, {Name: "a", Args: []any{depth - 1}},
			})
			return err
		})
		k.Start(pool)
		k.Enqueue("a", 6)
		drained := make(chan error, 5)
		for range cap(drained) {
			go func() {
				err := pool.Drain(k.Ctx())
				if err == nil && ended.Load() != 127 {
					err = errors.New("it returned while jobs were left")
				}
				drained <- err
			}()
		}
		for range cap(drained) {
			require.NoError(t, pooltest.Receive(t, drained))
		}
		k.Empty("a")
	})
}

func TestDrainWaitsForRetriesThatAreDueAndNotForOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		attempts := make(chan int, 3)
		k.Do("ZADD", "retry", 1, "stranger") // due, of a name that nobody here serves
		k.Do("HSET", "names", "stranger", "other")
		k.Do("HSET", "jobs", "stranger", `{"jid":"stranger","name":"other","args":[],"t":1}`)
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).
			JobWithOptions("later", work.JobOptions{Backoff: func(*work.Job, error) time.Duration { return time.Hour }},
				func() error { return errors.New("no luck") }).
			Job("a", func(job *work.Job) error { attempts <- job.Attempt; return nil }))
		k.Enqueue("later")
		_, err := k.Enq.EnqueueIn(k.Ctx(), "a", time.Hour)
		require.NoError(t, err)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, 1, pooltest.Count[event.JobFailed](k.Spy))
		assert.Empty(t, attempts)

		k.Do("ZADD", "scheduled", "XX", 1, k.Strings("ZRANGE", "scheduled", 0, -1)[0]) // now it is due
		require.NoError(t, pool.Drain(k.Ctx()))
		require.Len(t, attempts, 1)
	})
}

func TestDrainEndsWithItsCtxAndWithThePool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave := make(chan struct{}), make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() error { close(entered); <-leave; return nil })
		require.NoError(t, pool.Start(k.Ctx()))
		k.Enqueue("a")
		k.Enqueue("a")
		pooltest.Receive(t, entered)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, pool.Drain(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, pool.Drain(ctx), context.DeadlineExceeded, "also one that has ended before")

		drained := make(chan error, 1)
		go func() { drained <- pool.Drain(k.Ctx()) }()
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Stop(k.Ctx()) }()
		pooltest.Receive(t, pooltest.UntilStopping(pool))
		close(leave)
		require.NoError(t, pooltest.Receive(t, stopped))
		require.ErrorIs(t, pooltest.Receive(t, drained), work.ErrStopped)
	})
}

func TestDrainWaitsForOtherWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave := make(chan struct{}), make(chan struct{})
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() error { close(entered); <-leave; return nil }))
		k.Enqueue("a")
		pooltest.Receive(t, entered)
		idle := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing))
		drained := make(chan error, 1)
		go func() { drained <- idle.Drain(k.Ctx()) }()
		ctx, cancel := context.WithTimeout(context.Background(), 2*enginetest.DrainInterval)
		defer cancel()
		require.ErrorIs(t, idle.Drain(ctx), context.DeadlineExceeded)
		require.Empty(t, drained)
		close(leave)
		require.NoError(t, pooltest.Receive(t, drained))
	})
}

func TestADrainThatIsOverNamesWhatIsServedNow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave := make(chan struct{}, 2), make(chan struct{}) // the stop may begin the second job, too
		opts := k.Options()
		opts.Only = []string{"early"}
		pool := k.Start(work.NewWorkerPool(nil, 4, opts).Job("early", pooltest.Nothing).
			JobWithOptions("late", work.JobOptions{MaxRunning: 1},
				func() error { entered <- struct{}{}; <-leave; return nil }))
		t.Cleanup(func() { close(leave) })
		require.NoError(t, pool.Serve(k.Ctx(), "late"))
		require.NoError(t, pool.Withdraw(k.Ctx(), "early"))
		for _, name := range []string{"early", "late", "late"} {
			k.Enqueue(name)
		}
		pooltest.Receive(t, entered)
		err := pool.Drain(briefly())
		assert.ErrorContains(t, err, `queue "late" has 1 waiting and 1 running: this pool runs at most 1 at once`)
		assert.NotContains(t, err.Error(), "early", "it was withdrawn")
	})
}

// briefly is a ctx that ends at once.
func briefly() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
