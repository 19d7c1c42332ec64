package worktest

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
)

func TestRedisRunsPoolsAndIsClosedWithTheTest(t *testing.T) {
	t.Parallel()
	var r *Redis
	require.Empty(t, failing(t, func(t testing.TB) {
		r = New(t)
		enq := r.Enqueuer(t)
		receipt, err := enq.Enqueue(t.Context(), "a", 7)
		require.NoError(t, err)
		got := make(chan int, 1)
		r.Start(t, work.NewWorkerPool(nil, 1, r.Options()).Job("a", func(n int) error { got <- n; return nil }))
		assert.Equal(t, work.EndingDone, WaitEnded(t, r, receipt.ID).Ending)
		assert.Equal(t, 7, <-got)
		job, err := r.Inspector(t).Job(t.Context(), receipt.ID)
		if !errors.Is(err, work.ErrNotFound) { // nobody waited for it before it ended
			require.NoError(t, err)
			assert.Equal(t, work.StateSucceeded, job.State, "its end is in Redis")
		}
		assert.Contains(t, r.DSN(), "redis://127.0.0.1:")
	}))
	_, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(r.DSN(), "redis://"), "/0"))
	require.Error(t, err, "it is closed")
	assert.Equal(t, 1, CountOf[event.WorkerStopped](r.Spy()), "so is the pool")
}

func TestEachRedisIsEmptyAtFirst(t *testing.T) {
	t.Parallel()
	a, b := New(t), New(t)
	receipt, err := a.Enqueuer(t).Enqueue(t.Context(), "a")
	require.NoError(t, err)
	_, err = b.Inspector(t).Job(t.Context(), receipt.ID)
	require.ErrorIs(t, err, work.ErrNotFound)
	AssertNoneEnqueued(t, b)
}

func TestAdvanceMakesJobsDueAtOnce(t *testing.T) {
	t.Parallel()
	r := New(t)
	r.Hold(t)
	began := r.Now()
	attempts := make(chan time.Time, 4)
	pool := r.Start(t, work.NewWorkerPool(nil, 1, r.Options()).
		JobWithOptions("a", work.JobOptions{Backoff: func(*work.Job, error) time.Duration { return 12 * time.Hour }},
			func(job *work.Job) error {
				attempts <- r.Now()
				if job.Attempt == 1 {
					return errLuck
				}
				return nil
			}))
	receipt, err := pool.Enqueuer().EnqueueIn(t.Context(), "a", time.Hour)
	require.NoError(t, err)
	Drain(t, pool)
	require.Empty(t, attempts)
	r.Advance(t, time.Hour-time.Millisecond)
	Drain(t, pool)
	require.Empty(t, attempts, "a millisecond is missing")
	r.Advance(t, time.Millisecond)
	assert.Equal(t, 12*time.Hour,
		WaitFor(t, r.Spy(), func(e event.JobFailed) bool { return e.ID == receipt.ID }).RetryIn)
	Drain(t, pool)
	r.Advance(t, 12*time.Hour)
	assert.Equal(t, work.EndingDone, WaitEnded(t, r, receipt.ID).Ending)
	assert.Equal(t, []time.Duration{time.Hour, 13 * time.Hour},
		[]time.Duration{(<-attempts).Sub(began), (<-attempts).Sub(began)})
}

// A clock that has run ahead must be known to who names a time by it: else the job has expired when it is enqueued.
func TestEnqueuersGoByTheMovedClock(t *testing.T) {
	t.Parallel()
	r := New(t)
	early := r.Enqueuer(t)
	pool := r.Start(t, work.NewWorkerPool(nil, 1, r.Options()).Job("a", func() error { return nil }))
	fromPool := pool.Enqueuer()
	for range 3 {
		r.Advance(t, 24*time.Hour)
		for name, enq := range map[string]*work.Enqueuer{"made before": early, "made after": r.Enqueuer(t),
			"of the pool": fromPool} {
			receipt, err := enq.With(work.ExpireIn(time.Hour)).Enqueue(t.Context(), "a")
			require.NoError(t, err)
			assert.Equal(t, work.EndingDone, WaitEnded(t, r, receipt.ID).Ending, name)
		}
	}
}

func TestAWaitingJobExpiresAsTheClockIsMoved(t *testing.T) {
	t.Parallel()
	r := New(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	pool := r.Start(t, work.NewWorkerPool(nil, 1, r.Options()).
		Job("first", func() error { close(entered); <-leave; return nil }).
		Job("second", func() error { return nil }))
	_, err := pool.Enqueuer().Enqueue(t.Context(), "first")
	require.NoError(t, err)
	<-entered
	receipt, err := pool.Enqueuer().With(work.ExpireIn(time.Hour)).Enqueue(t.Context(), "second")
	require.NoError(t, err)
	r.Advance(t, 2*time.Hour)
	close(leave)
	assert.Equal(t, EndingExpired, WaitEnded(t, r, receipt.ID).Ending)
}

func TestHandlersThatRunSurviveALeapOfTheClock(t *testing.T) {
	t.Parallel()
	r := New(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	var ended atomic.Value
	pool := r.Start(t, work.NewWorkerPool(nil, 2, r.Options()).Job("long", func(ctx context.Context) error {
		close(entered)
		<-leave
		ended.Store(context.Cause(ctx) == nil)
		return nil
	}))
	receipt, err := pool.Enqueuer().Enqueue(t.Context(), "long")
	require.NoError(t, err)
	<-entered
	for range 5 {
		r.Advance(t, 7*24*time.Hour)
	}
	close(leave)
	assert.Equal(t, work.EndingDone, WaitEnded(t, r, receipt.ID).Ending)
	assert.Equal(t, true, ended.Load())
	assert.Zero(t, CountOf[event.WorkerFenced](r.Spy())+CountOf[event.ClaimGone](r.Spy()))
}

func TestMistakesOfATestAreSaid(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		test func(t testing.TB)
		want string
	}{
		"a pool that cannot start": {func(t testing.TB) {
			r := New(t)
			r.Start(t, work.NewWorkerPool(nil, 0, r.Options()))
		},
			"the pool did not start: "},
		"a clock that goes back": {func(t testing.TB) { New(t).Advance(t, -time.Second) },
			"the clock cannot be moved by -1s"},
		"an option that cannot be": {func(t testing.TB) { New(t).Enqueuer(t, work.MaxArgsSize(-1)) },
			"no Enqueuer can be made: MaxArgsSize is -1"},
		"a pool that is not started": {func(t testing.TB) {
			Drain(t, work.NewWorkerPool(nil, 1, New(t).Options()).Job("a", func() error { return nil }))
		}, "start it with r.Start(t, pool)"},
		"a handler that does not return": {func(t testing.TB) {
			r, entered := New(t), make(chan struct{})
			pool := r.Start(t, work.NewWorkerPool(nil, 1, r.Options()).Job("deaf", func(ctx context.Context) error {
				close(entered)
				<-ctx.Done()
				return ctx.Err()
			}))
			_, err := pool.Enqueuer().Enqueue(t.Context(), "deaf")
			require.NoError(t, err)
			<-entered
		}, "the pool did not stop in good order"},
		"a job that does not end": {func(t testing.TB) { over(t); WaitEnded(t, New(t), "x") },
			`job "x" has not ended. There were no events: is the Spy among the Observers of the pool, and the pool started?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, failing(t, row.test), row.want)
		})
	}
}

func TestThePoolLogsToTheTest(t *testing.T) {
	t.Parallel()
	fake := runFake(t, func(t testing.TB) {
		r := New(t)
		pool := r.Start(t, work.NewWorkerPool(nil, 1, r.Options()).
			Job("a", func() error { return errLuck }).Job("b", func() error { return work.Snooze(time.Hour) }))
		_, err := pool.Enqueuer().EnqueueMany(t.Context(), []work.Entry{{Name: "a"}, {Name: "b"}})
		require.NoError(t, err)
		Drain(t, pool)
	})
	require.Empty(t, fake.errors)
	require.Len(t, fake.logged, 1, "nothing below warnings")
	assert.Contains(t, fake.logged[0], `level=WARN msg="work: job failed, will be retried" job=a`)
}
