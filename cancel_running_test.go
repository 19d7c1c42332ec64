package work

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// What a handler returns once its ctx has ended does not matter.
func TestARunningJobIsCancelledWhateverItsHandlerReturns(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context) (int, error){
		"the cause":      func(ctx context.Context) (int, error) { return 0, context.Cause(ctx) },
		"a result":       func(context.Context) (int, error) { return 5, nil },
		"an error":       func(context.Context) (int, error) { return 0, errLuck },
		"RetryIn":        func(context.Context) (int, error) { return 0, RetryIn(time.Hour, errLuck) },
		"Snooze":         func(context.Context) (int, error) { return 0, Snooze(time.Hour) },
		"Release":        func(context.Context) (int, error) { return 0, Release(nil) },
		"Bury":           func(context.Context) (int, error) { return 0, Bury(errLuck) },
		"Discard":        func(context.Context) (int, error) { return 0, Discard(errLuck) },
		"a panic":        func(context.Context) (int, error) { panic("over") },
		"cause of panic": func(ctx context.Context) (int, error) { panic(context.Cause(ctx)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				begun, causes := make(chan string, 2), make(chan error, 2)
				pool := k.start(NewWorkerPool(nil, 1, k.options()).
					JobWithOptions("a", JobOptions{Retention: time.Hour},
						func(ctx context.Context, job *Job) (int, error) {
							begun <- job.ID
							<-ctx.Done()
							causes <- context.Cause(ctx)
							return end(ctx)
						}))
				id := k.enqueue("a").ID
				receive(t, begun)
				assert.Equal(t, CancelResult{ID: id, Effect: CancelFlagged, State: StateCancelled}, k.cancel(id))
				require.ErrorIs(t, receive(t, causes), ErrCancelled)
				cancelled := await[event.JobCancelled](t, k.spy, nil)
				assert.Equal(t, id, cancelled.ID)
				assert.Equal(t, 1, cancelled.Attempt)
				k.drained(pool)
				assert.Len(t, seenBy(t, k.spy, id), 2, "it began, and was cancelled: %v", seenBy(t, k.spy, id))
				assert.Equal(t, stateCancelled, k.outcomeOf(id).State)
				assert.Empty(t, k.outcomeOf(id).Result)
				assert.Greater(t, k.due("outcomes:until", id), time.Now().Add(time.Hour-patience),
					"kept for its retention")
				k.empty("a")
				k.unflagged()
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
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			Middleware(func(ctx context.Context, _ *Job, next NextFunc) error {
				ctx, cancel := context.WithTimeout(context.WithValue(ctx, key{}, 1), time.Hour)
				defer cancel()
				return next(ctx)
			}).
			JobWithOptions("a", JobOptions{Timeout: time.Hour}, func(ctx context.Context, job *Job) error {
				begun <- job.ID
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return ctx.Err()
			}))
		id := k.enqueue("a").ID
		receive(t, begun)
		k.cancel(id)
		require.ErrorIs(t, receive(t, causes), ErrCancelled)
		k.drained(pool)
		assert.Zero(t, count[event.JobFailed](k.spy))
	})
}

// A handler that asks Checkin, or its middleware that asks Ending, learns of it as well.
func TestCheckinAndEndingTellThatAJobIsCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, stop, endings := make(chan string, 2), make(chan bool, 2), make(chan Ending, 2)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func(ctx context.Context, job *Job) error {
			assert.False(t, job.Checkin("at work"))
			begun <- job.ID
			<-ctx.Done()
			stop <- job.Checkin("at its end")
			ending, failed := job.Ending(errLuck)
			assert.False(t, failed)
			endings <- ending
			return nil
		}))
		id := k.enqueue("a").ID
		receive(t, begun)
		k.cancel(id)
		assert.True(t, receive(t, stop))
		assert.Equal(t, EndingCancel, receive(t, endings))
		k.drained(pool)
	})
}

func TestAHandlerThatIgnoresItsCancellationIsStuckAndItsJobStillCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		pool := NewWorkerPool(nil, 1, k.options()).Job("deaf", func() error { <-release; return nil })
		pool.stuckAfter = 5 * time.Millisecond
		k.start(pool)
		id := k.enqueue("deaf").ID
		await(t, k.spy, ofJob[event.JobStarted](id))
		k.cancel(id)
		stuck := await(t, k.spy, ofJob[event.JobStuck](id))
		require.ErrorIs(t, stuck.Cause, ErrCancelled)
		assert.Equal(t, CancelFlagged, k.cancel(id).Effect, "again, which does no harm")
		assert.Zero(t, count[event.JobCancelled](k.spy), "it runs on")
		close(release)
		await(t, k.spy, ofJob[event.JobCancelled](id))
		k.drained(pool)
		assert.Equal(t, 1, count[event.JobCancelled](k.spy))
		assert.Equal(t, 1, count[event.JobStuck](k.spy))
		assert.Zero(t, count[event.JobDone](k.spy))
		k.empty("deaf")
		k.unflagged()
	})
}

// The hint never comes: the heartbeat brings it.
func TestACancellationWhoseHintIsLostComesWithTheHeartbeat(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		causes := make(chan error, 2)
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", func(ctx context.Context) error {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		})
		k.tamper(pool, &tampered{deaf: true})
		k.start(pool)
		id := k.enqueue("a").ID
		await(t, k.spy, ofJob[event.JobStarted](id))
		require.Equal(t, CancelFlagged, k.cancel(id).Effect)
		require.ErrorIs(t, receive(t, causes), ErrCancelled)
		await(t, k.spy, ofJob[event.JobCancelled](id))
	})
}

// The hint alone is enough: the heartbeats say that nothing is to be cancelled.
func TestTheHintOfACancellationNeedsNoHeartbeat(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		causes := make(chan error, 2)
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", func(ctx context.Context) error {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		})
		k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			replies, err := pass(ctx, calls...)
			if nameOf(calls[0]) == "beat" && err == nil {
				const flags = 7
				replies[0].Value.([]any)[flags] = int64(0)
			}
			return replies, err
		}})
		k.start(pool)
		id := k.enqueue("a").ID
		await(t, k.spy, ofJob[event.JobStarted](id))
		require.Equal(t, CancelFlagged, k.cancel(id).Effect)
		require.ErrorIs(t, receive(t, causes), ErrCancelled)
		await(t, k.spy, ofJob[event.JobCancelled](id))
	})
}

func TestAWorkerAsksForFlagsOnlyWhileThereAreSome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", func() error { <-release; return nil })
		driver := k.tamper(pool, &tampered{deaf: true})
		k.start(pool)
		id := k.enqueue("a").ID
		await(t, k.spy, ofJob[event.JobStarted](id))
		driver.untilSent(t, "beat", 2)
		asked, _ := driver.sent("SMISMEMBER")
		assert.Zero(t, asked)
		k.do("SADD", "cancelled", "another")
		driver.untilSent(t, "SMISMEMBER", 1)
		close(release)
		await(t, k.spy, ofJob[event.JobDone](id))
		assert.Zero(t, count[event.JobCancelled](k.spy))
	})
}

// The worker dies before it has heard of it: the flag stays with the job.
func TestACancellationSurvivesTheDeathOfAWorker(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun := make(chan string, 2)
		first := NewWorkerPool(nil, 1, k.another(newSpy())).Job("a", func(ctx context.Context, job *Job) error {
			begun <- job.ID
			<-ctx.Done()
			return ctx.Err()
		})
		require.NoError(t, first.Start(context.Background()))
		id := k.enqueue("a").ID
		receive(t, begun)
		first.crash()
		assert.Equal(t, CancelFlagged, k.cancel(id).Effect)
		next := k.start(NewWorkerPool(nil, 1, k.options()).
			Job("a", func(job *Job) error { begun <- job.ID; return nil }))
		assert.Equal(t, id, await[event.JobCancelled](t, k.spy, nil).ID)
		k.drained(next)
		assert.Empty(t, begun, "it did not run again")
		assert.Equal(t, stateCancelled, k.outcomeOf(id).State)
		k.empty("a")
		k.unflagged()
	})
}

// claim has a worker claim a job that waits, beside its fetcher.
func (k *kit) claim(worker, queue, id string) *rdb.FetchedJob {
	k.t.Helper()
	element := "9:" + id
	record := k.text("HGET", "jobs", id)
	require.Equal(k.t, 1, k.number("LREM", "queue:"+queue, 0, id))
	k.do("LPUSH", "worker:"+worker+":inprocess:"+queue, element)
	k.do("HSET", "claimed", id, fmt.Sprintf("%s 9 %d %s", worker, time.Now().UnixMilli(), queue))
	return &rdb.FetchedJob{Claim: rdb.Claim{Queue: queue, Element: element}, ID: id, Record: []byte(record)}
}

// A run that was fetched and has not begun when its job is cancelled does not begin.
func TestARunThatIsCalledOffBeforeItBeginsDoesNotBegin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		gate, ran := make(chan struct{}), make(chan string, 2)
		options := k.options()
		options.Observers = append(options.Observers, ObserverFunc(func(e event.Event) {
			if started, is := e.(event.JobStarted); is && started.Name == "first" {
				<-gate // the processor goes no further
			}
		}))
		pool := k.start(NewWorkerPool(nil, 1, options).
			Job("first", func() error { return nil }).
			Job("second", func(job *Job) error { ran <- job.ID; return nil }))
		k.enqueue("first")
		await[event.JobStarted](t, k.spy, nil)
		id := k.enqueue("second").ID
		w := pool.workers[0]
		r := &run{}
		r.fill(w, w.claimant(), w.registrations["second"], k.claim(pool.id(), "second", id))
		w.claimant().hold([]*run{r})
		w.slots.hold(1)
		w.slots.occupy(1)
		require.Equal(t, CancelFlagged, k.cancel(id).Effect)
		receive(t, r.attempt.Done())
		(&processor{worker: w}).process(r)
		await(t, k.spy, ofJob[event.JobCancelled](id))
		close(gate)
		k.drained(pool)
		assert.Empty(t, ran)
		assert.Zero(t, count[event.ClaimGone](k.spy))
		k.empty("first", "second")
		k.unflagged()
	})
}
