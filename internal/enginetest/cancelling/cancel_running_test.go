package cancelling_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// What a handler returns once its ctx has ended does not matter.
func TestARunningJobIsCancelledWhateverItsHandlerReturns(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context) (int, error){
		"the cause":      func(ctx context.Context) (int, error) { return 0, context.Cause(ctx) },
		"a result":       func(context.Context) (int, error) { return 5, nil },
		"an error":       func(context.Context) (int, error) { return 0, pooltest.ErrLuck },
		"RetryIn":        func(context.Context) (int, error) { return 0, work.RetryIn(time.Hour, pooltest.ErrLuck) },
		"Snooze":         func(context.Context) (int, error) { return 0, work.Snooze(time.Hour) },
		"Release":        func(context.Context) (int, error) { return 0, work.Release(nil) },
		"Bury":           func(context.Context) (int, error) { return 0, work.Bury(pooltest.ErrLuck) },
		"Discard":        func(context.Context) (int, error) { return 0, work.Discard(pooltest.ErrLuck) },
		"a panic":        func(context.Context) (int, error) { panic("over") },
		"cause of panic": func(ctx context.Context) (int, error) { panic(context.Cause(ctx)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				begun, causes := make(chan string, 2), make(chan error, 2)
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					JobWithOptions("a", work.JobOptions{Retention: time.Hour},
						func(ctx context.Context, job *work.Job) (int, error) {
							begun <- job.ID
							<-ctx.Done()
							causes <- context.Cause(ctx)
							return end(ctx)
						}))
				id := k.Enqueue("a").ID
				pooltest.Receive(t, begun)
				assert.Equal(t, work.CancelResult{ID: id, Effect: work.CancelFlagged, State: work.StateCancelled},
					k.Cancel(id))
				require.ErrorIs(t, pooltest.Receive(t, causes), work.ErrCancelled)
				cancelled := pooltest.Await[event.JobCancelled](t, k.Spy, nil)
				assert.Equal(t, id, cancelled.ID)
				assert.Equal(t, 1, cancelled.Attempt)
				k.Drained(pool)
				assert.Len(t, pooltest.SeenBy(t, k.Spy, id), 2, "it began, and was cancelled: %v",
					pooltest.SeenBy(t, k.Spy, id))
				assert.Equal(t, record.Cancelled, k.outcomeOf(id).State)
				assert.Empty(t, k.outcomeOf(id).Result)
				assert.Greater(t, k.Due("outcomes:until", id), time.Now().Add(time.Hour-pooltest.Patience),
					"kept for its retention")
				k.Empty("a")
				k.Unflagged()
			})
		})
	}
}

func TestTheCauseIsSeenBelowTheTimeoutsOfMiddleware(t *testing.T) {
	t.Parallel()
	type key struct{}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, causes := make(chan string, 2), make(chan error, 2)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Middleware(func(ctx context.Context, _ *work.Job, next work.NextFunc) error {
				ctx, cancel := context.WithTimeout(context.WithValue(ctx, key{}, 1), time.Hour)
				defer cancel()
				return next(ctx)
			}).
			JobWithOptions("a", work.JobOptions{Timeout: time.Hour}, func(ctx context.Context, job *work.Job) error {
				begun <- job.ID
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return ctx.Err()
			}))
		id := k.Enqueue("a").ID
		pooltest.Receive(t, begun)
		k.Cancel(id)
		require.ErrorIs(t, pooltest.Receive(t, causes), work.ErrCancelled)
		k.Drained(pool)
		assert.Zero(t, pooltest.Count[event.JobFailed](k.Spy))
	})
}

// A handler that asks Checkin, or its middleware that asks Ending, learns of it as well.
func TestCheckinAndEndingTellThatAJobIsCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, stop, endings := make(chan string, 2), make(chan bool, 2), make(chan work.Ending, 2)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func(ctx context.Context, job *work.Job) error {
				assert.False(t, job.Checkin("at work"))
				begun <- job.ID
				<-ctx.Done()
				stop <- job.Checkin("at its end")
				ending, failed := job.Ending(pooltest.ErrLuck)
				assert.False(t, failed)
				endings <- ending
				return nil
			}))
		id := k.Enqueue("a").ID
		pooltest.Receive(t, begun)
		k.Cancel(id)
		assert.True(t, pooltest.Receive(t, stop))
		assert.Equal(t, work.EndingCancel, pooltest.Receive(t, endings))
		k.Drained(pool)
	})
}

func TestAHandlerThatIgnoresItsCancellationIsStuckAndItsJobStillCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("deaf", func() error { <-release; return nil })
		pooltest.Times(pool).Stuck = 5 * time.Millisecond
		k.Start(pool)
		id := k.Enqueue("deaf").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobStarted](id))
		k.Cancel(id)
		stuck := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobStuck](id))
		require.ErrorIs(t, stuck.Cause, work.ErrCancelled)
		assert.Equal(t, work.CancelFlagged, k.Cancel(id).Effect, "again, which does no harm")
		assert.Zero(t, pooltest.Count[event.JobCancelled](k.Spy), "it runs on")
		close(release)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobCancelled](id))
		k.Drained(pool)
		assert.Equal(t, 1, pooltest.Count[event.JobCancelled](k.Spy))
		assert.Equal(t, 1, pooltest.Count[event.JobStuck](k.Spy))
		assert.Zero(t, pooltest.Count[event.JobDone](k.Spy))
		k.Empty("deaf")
		k.Unflagged()
	})
}

// The hint never comes: the heartbeat brings it.
func TestACancellationWhoseHintIsLostComesWithTheHeartbeat(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		causes := make(chan error, 2)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", func(ctx context.Context) error {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		})
		k.TamperWith(pool, &pooltest.Tampered{Deaf: true})
		k.Start(pool)
		id := k.Enqueue("a").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobStarted](id))
		require.Equal(t, work.CancelFlagged, k.Cancel(id).Effect)
		require.ErrorIs(t, pooltest.Receive(t, causes), work.ErrCancelled)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobCancelled](id))
	})
}

// The hint alone is enough: the heartbeats say that nothing is to be cancelled.
func TestTheHintOfACancellationNeedsNoHeartbeat(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		causes := make(chan error, 2)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", func(ctx context.Context) error {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		})
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			if pooltest.NameOf(calls[0]) == "beat" && err == nil {
				const flags = 7
				replies[0].Value.([]any)[flags] = int64(0)
			}
			return replies, err
		}})
		k.Start(pool)
		id := k.Enqueue("a").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobStarted](id))
		require.Equal(t, work.CancelFlagged, k.Cancel(id).Effect)
		require.ErrorIs(t, pooltest.Receive(t, causes), work.ErrCancelled)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobCancelled](id))
	})
}

func TestAWorkerAsksForFlagsOnlyWhileThereAreSome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() error { <-release; return nil })
		driver := k.TamperWith(pool, &pooltest.Tampered{Deaf: true})
		k.Start(pool)
		id := k.Enqueue("a").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobStarted](id))
		driver.UntilSent(t, "beat", 2)
		asked, _ := driver.Sent("SMISMEMBER")
		assert.Zero(t, asked)
		k.Do("SADD", "cancelled", "another")
		driver.UntilSent(t, "SMISMEMBER", 1)
		close(release)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		assert.Zero(t, pooltest.Count[event.JobCancelled](k.Spy))
	})
}

// The worker dies before it has heard of it: the flag stays with the job.
func TestACancellationSurvivesTheDeathOfAWorker(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun := make(chan string, 2)
		first := work.NewWorkerPool(nil, 1, k.Another(pooltest.NewSpy())).
			Job("a", func(ctx context.Context, job *work.Job) error {
				begun <- job.ID
				<-ctx.Done()
				return ctx.Err()
			})
		require.NoError(t, first.Start(context.Background()))
		id := k.Enqueue("a").ID
		pooltest.Receive(t, begun)
		k.Crash(first)
		assert.Equal(t, work.CancelFlagged, k.Cancel(id).Effect)
		next := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func(job *work.Job) error { begun <- job.ID; return nil }))
		assert.Equal(t, id, pooltest.Await[event.JobCancelled](t, k.Spy, nil).ID)
		k.Drained(next)
		assert.Empty(t, begun, "it did not run again")
		assert.Equal(t, record.Cancelled, k.outcomeOf(id).State)
		k.Empty("a")
		k.Unflagged()
	})
}
