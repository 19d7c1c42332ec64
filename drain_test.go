package work

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func TestDrainOutsideOfTheLifeOfAPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", nothing)
		require.ErrorIs(t, pool.Drain(k.ctx()), ErrNotStarted)
		require.NoError(t, pool.Start(k.ctx()))
		require.NoError(t, pool.Drain(k.ctx()), "there is nothing")
		require.NoError(t, pool.Stop(k.ctx()))
		require.ErrorIs(t, pool.Drain(k.ctx()), ErrStopped)

		pool = NewWorkerPool(nil, 1, k.options()).Job("a", nothing)
		require.NoError(t, pool.Stop(k.ctx()))
		require.ErrorIs(t, pool.Drain(k.ctx()), ErrStopped)
	})
}

func TestDrainWaitsForWhatRunsAndWhatItEnqueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var ended atomic.Int64
		pool := NewWorkerPool(nil, 4, k.options())
		pool.Job("a", func(ctx context.Context, depth int) error {
			defer ended.Add(1)
			if depth == 0 {
				return nil
			}
			_, err := pool.Enqueuer().EnqueueMany(ctx, []Entry{
				{Name: "a", Args: []any{depth - 1}}, {Name: "a", Args: []any{depth - 1}},
			})
			return err
		})
		k.start(pool)
		k.enqueue("a", 6)
		drained := make(chan error, 5)
		for range cap(drained) {
			go func() {
				err := pool.Drain(k.ctx())
				if err == nil && ended.Load() != 127 {
					err = errors.New("it returned while jobs were left")
				}
				drained <- err
			}()
		}
		for range cap(drained) {
			require.NoError(t, receive(t, drained))
		}
		k.empty("a")
	})
}

func TestDrainWaitsForRetriesThatAreDueAndNotForOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		attempts := make(chan int, 3)
		k.do("ZADD", "retry", 1, "stranger") // due, of a name that nobody here serves
		k.do("HSET", "names", "stranger", "other")
		k.do("HSET", "jobs", "stranger", `{"jid":"stranger","name":"other","args":[],"t":1}`)
		pool := k.start(NewWorkerPool(nil, 2, k.options()).
			JobWithOptions("later", JobOptions{Backoff: func(*Job, error) time.Duration { return time.Hour }},
				func() error { return errors.New("no luck") }).
			Job("a", func(job *Job) error { attempts <- job.Attempt; return nil }))
		k.enqueue("later")
		_, err := k.enq.EnqueueIn(k.ctx(), "a", time.Hour)
		require.NoError(t, err)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Equal(t, 1, count[event.JobFailed](k.spy))
		assert.Empty(t, attempts)

		k.do("ZADD", "scheduled", "XX", 1, k.strings("ZRANGE", "scheduled", 0, -1)[0]) // now it is due
		require.NoError(t, pool.Drain(k.ctx()))
		require.Len(t, attempts, 1)
	})
}

func TestDrainEndsWithItsCtxAndWithThePool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave := make(chan struct{}), make(chan struct{})
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", func() error { close(entered); <-leave; return nil })
		require.NoError(t, pool.Start(k.ctx()))
		k.enqueue("a")
		k.enqueue("a")
		receive(t, entered)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, pool.Drain(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, pool.Drain(ctx), context.DeadlineExceeded, "also one that has ended before")

		drained := make(chan error, 1)
		go func() { drained <- pool.Drain(k.ctx()) }()
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Stop(k.ctx()) }()
		receive(t, untilStopping(pool))
		close(leave)
		require.NoError(t, receive(t, stopped))
		require.ErrorIs(t, receive(t, drained), ErrStopped)
	})
}

func TestDrainWaitsForOtherWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave := make(chan struct{}), make(chan struct{})
		k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func() error { close(entered); <-leave; return nil }))
		k.enqueue("a")
		receive(t, entered)
		idle := k.start(NewWorkerPool(nil, 1, k.options()).Job("a", nothing))
		drained := make(chan error, 1)
		go func() { drained <- idle.Drain(k.ctx()) }()
		ctx, cancel := context.WithTimeout(context.Background(), 2*drainInterval)
		defer cancel()
		require.ErrorIs(t, idle.Drain(ctx), context.DeadlineExceeded)
		require.Empty(t, drained)
		close(leave)
		require.NoError(t, receive(t, drained))
	})
}

func TestADrainThatIsOverNamesWhatIsServedNow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entered, leave := make(chan struct{}, 2), make(chan struct{}) // the stop may begin the second job, too
		opts := k.options()
		opts.Only = []string{"early"}
		pool := k.start(NewWorkerPool(nil, 4, opts).Job("early", nothing).
			JobWithOptions("late", JobOptions{MaxRunning: 1},
				func() error { entered <- struct{}{}; <-leave; return nil }))
		t.Cleanup(func() { close(leave) })
		require.NoError(t, pool.Serve(k.ctx(), "late"))
		require.NoError(t, pool.Withdraw(k.ctx(), "early"))
		for _, name := range []string{"early", "late", "late"} {
			k.enqueue(name)
		}
		receive(t, entered)
		err := pool.Drain(briefly())
		assert.ErrorContains(t, err, `queue "late" has 1 waiting and 1 running: this pool runs at most 1 at once`)
		assert.NotContains(t, err.Error(), "early", "it was withdrawn")
	})
}

// A pool that has not moved what is due: it is named although nothing of it waits in its queue.
func TestADrainThatIsOverNamesWhatIsDue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for _, name := range []string{"a", "other"} {
			_, err := k.enq.EnqueueIn(k.ctx(), name, time.Hour)
			require.NoError(t, err)
		}
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", nothing)
		pool.store = k.enq.core.store
		pool.registered["a"].away = &atomic.Bool{}
		assert.Empty(t, pool.whatIsLeft(), "it is not due yet")
		for _, id := range k.strings("ZRANGE", "scheduled", 0, -1) {
			k.do("ZADD", "scheduled", "XX", 1, id)
		}
		assert.Equal(t, ` (queue "a" has 0 waiting and 0 running, and more that is due)`, pool.whatIsLeft())
	})
}
