package inspect_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

var errDisk = errors.New("the disk is full")

// shortly is long enough for a handler to be called, and the time of attempts that are to be over soon.
const shortly = 20 * time.Millisecond

// What is a timeout, and what is not, is told alike by middleware, the event, the job in the morgue and a search.
func TestAJobThatDiesByATimeoutIsToldSo(t *testing.T) {
	t.Parallel()
	late := func(err error) func(context.Context) error {
		return func(ctx context.Context) error { <-ctx.Done(); return err }
	}
	for name, row := range map[string]struct {
		timeout time.Duration
		handler func(context.Context) error
		timeUp  bool
		is      error // that the error still is
	}{
		"the error of its ctx": {timeout: shortly, is: context.DeadlineExceeded, timeUp: true,
			handler: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		"the cause of its ctx": {timeout: shortly, timeUp: true,
			handler: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }},
		"an error of its own, late": {timeout: shortly, handler: late(errDisk), timeUp: true, is: errDisk},
		"another backoff, late": {timeout: shortly, handler: late(work.RetryIn(0, errDisk)), timeUp: true,
			is: errDisk},
		"an error of its own, in time": {timeout: time.Hour, is: errDisk,
			handler: func(context.Context) error { return errDisk }},
		"the error of a shorter ctx": {timeout: time.Hour, handler: inItsOwnTime, is: context.DeadlineExceeded},
		"an error that says so, in time": {timeout: time.Hour, is: work.ErrTimeout,
			handler: func(context.Context) error { return work.ErrTimeout }},
		"its own verdict, late": {timeout: shortly, handler: late(work.Bury(errDisk)), is: errDisk},
		"a panic, late": {timeout: shortly, is: errDisk,
			handler: func(ctx context.Context) error { <-ctx.Done(); panic(errDisk) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				seen := make(chan error, 1)
				k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					Middleware(func(ctx context.Context, _ *work.Job, next work.NextFunc) error {
						err := next(ctx)
						seen <- err
						return err
					}).
					JobWithOptions("n", work.JobOptions{Retries: -1, Timeout: row.timeout}, row.handler))
				id := k.Enqueue("n").ID
				buried := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](id))
				kind, outcome := event.FailureKind(""), "failed"
				if row.timeUp {
					kind, outcome = event.FailureTimeout, "timeout"
				}
				assert.Equal(t, kind, buried.Failure)
				var timeout *work.TimeoutError
				assert.Equal(t, row.timeUp, errors.As(buried.Err, &timeout))
				if row.timeUp {
					assert.Equal(t, row.timeout, timeout.Limit)
					require.ErrorIs(t, buried.Err, work.ErrTimeout)
					assert.Contains(t, buried.Err.Error(), "the attempt had 20ms")
					assert.Equal(t, buried.Err, pooltest.Receive(t, seen))
				}
				if row.is != nil {
					require.ErrorIs(t, buried.Err, row.is)
				}
				k.Until("it is dead", func() bool { return k.Number("ZCARD", "morgue") == 1 })
				info, err := k.hands().Job(k.Ctx(), id)
				require.NoError(t, err)
				assert.Equal(t, kind, info.Failure)
				assert.Equal(t, outcome, info.Attempts[0].Outcome)
				assert.Equal(t, 1, info.Fails)
				assert.Len(t, k.timedOut(inspect.Selection{State: work.StateDead}), len(kind)/len("timeout"))
			})
		})
	}
}

// inItsOwnTime gives up before the time of the attempt is up.
func inItsOwnTime(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	<-short.Done()
	return short.Err()
}

// timedOut are the ids of those of the selection that failed by a timeout.
func (k *kit) timedOut(selection inspect.Selection) (ids []string) {
	k.T.Helper()
	selection.Failure = event.FailureTimeout
	page, err := k.hands().Search(k.Ctx(), selection, inspect.SearchOptions{Ended: selection.State == ""})
	require.NoError(k.T, err)
	for _, job := range page.Jobs {
		ids = append(ids, job.ID)
	}
	return ids
}

// A handler that does its work is not late, whatever the time.
func TestAJobThatIsDoneAfterItsTimeIsDone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("n", work.JobOptions{Timeout: shortly, Retention: time.Hour},
				func(ctx context.Context) error { <-ctx.Done(); return nil }))
		info := k.over(k.Enqueue("n").ID)
		assert.Equal(t, work.StateSucceeded, info.State)
		assert.Empty(t, info.Failure)
		assert.Empty(t, k.timedOut(inspect.Selection{}))
	})
}

// A handler that failed in time has failed, whatever time the middleware around it takes.
func TestMiddlewareDoesNotMakeAFailureATimeout(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Middleware(func(ctx context.Context, _ *work.Job, next work.NextFunc) error {
				err := next(ctx)
				<-ctx.Done()
				return err
			}).
			JobWithOptions("n", work.JobOptions{Retries: -1, Timeout: 200 * time.Millisecond},
				func() error { return errDisk }))
		buried := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](k.Enqueue("n").ID))
		assert.Empty(t, buried.Failure)
		assert.Equal(t, errDisk, buried.Err)
	})
}

// Each attempt says for itself how it failed, in every state in which its job may be, and in the history.
func TestTimeoutsOfAttempts(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		attempt := 0
		wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("story", work.JobOptions{Timeout: shortly, Retention: time.Hour,
				Backoff: func(*work.Job, error) time.Duration { return time.Millisecond },
			}, func(ctx context.Context) error {
				if attempt++; attempt == 1 {
					return wait(ctx)
				}
				return nil
			}).
			JobWithOptions("again", work.JobOptions{Timeout: shortly, Backoff: pooltest.Hourly}, wait).
			JobWithOptions("dropped", work.JobOptions{Timeout: shortly, Retries: -1, SkipMorgue: true,
				Retention: time.Hour}, wait).
			JobWithOptions("brief", work.JobOptions{Timeout: shortly, Retries: -1, SkipMorgue: true}, wait))
		story := k.over(k.Enqueue("story").ID)
		assert.Equal(t, "timeout", story.Attempts[0].Outcome)
		assert.Equal(t, 1, story.Fails)
		assert.Len(t, story.Errors, 1)
		assert.Empty(t, story.Failure, "it did not end so")

		again := k.Enqueue("again").ID
		failed := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](again))
		assert.Equal(t, event.FailureTimeout, failed.Failure)
		k.Until("it waits", func() bool { return k.Number("ZCARD", "retry") == 1 })

		dropped := k.Enqueue("dropped").ID
		info := k.over(dropped)
		assert.Equal(t, event.FailureTimeout, info.Failure)
		assert.Equal(t, work.StateDiscarded, info.State)
		assert.Equal(t, "timeout", info.Attempts[0].Outcome)
		assert.Equal(t, event.FailureTimeout,
			pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDiscarded](dropped)).Failure)
		assert.ElementsMatch(t, []string{again, dropped}, k.timedOut(inspect.Selection{}))

		brief := k.over(k.Enqueue("brief").ID)
		assert.Equal(t, event.FailureTimeout, brief.Failure, "also where nothing but the outcome is kept")
		_, err := work.Result[work.NoResult](k.Ctx(), k.Enq, brief.ID)
		require.ErrorIs(t, err, work.ErrTimeout)

		require.NoError(t, k.Stop(pool))
		points, err := k.hands().History(k.Ctx(), inspect.HistoryOptions{})
		require.NoError(t, err)
		var timedOut int64
		for _, ofName := range points {
			for _, point := range ofName {
				timedOut += point.TimedOut
			}
		}
		assert.EqualValues(t, 4, timedOut)
	})
}

// What kills a job after a timeout tells how it died; whoever waits for it is told the same.
func TestADeathThatIsNoTimeout(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for id, trail := range map[string]string{
			"crashed": `"reason":"crashes"}`,
			"late":    `"reason":"out of retries","failure":"timeout"}`,
		} {
			k.Do("HSET", "jobs", id, `{"jid":"`+id+`","name":"n","args":[],"t":1}`)
			k.Do("HSET", "trail", id,
				`{"fails":1,"errors":[{"at":1,"attempt":1,"worker":"w","error":"e","kind":"timeout"}],`+trail)
			k.Do("HSET", "names", id, "n")
			k.Do("ZADD", "morgue", 5, id)
		}
		assert.Equal(t, []string{"late"}, k.timedOut(inspect.Selection{State: work.StateDead}))
		_, err := work.Wait[int](k.Ctx(), k.Enq, "late")
		require.ErrorIs(t, err, work.ErrTimeout)
		_, err = work.Wait[int](k.Ctx(), k.Enq, "crashed")
		require.Error(t, err)
		require.NotErrorIs(t, err, work.ErrTimeout)
		require.NoError(t, k.hands().RetryNow(k.Ctx(), "late"))
		info, err := k.hands().Job(k.Ctx(), "late")
		require.NoError(t, err)
		assert.Equal(t, event.FailureTimeout, info.Failure, "its last failure")
		_, err = k.hands().Search(k.Ctx(), inspect.Selection{Failure: "other"}, inspect.SearchOptions{})
		var invalid *work.InvalidError
		require.ErrorAs(t, err, &invalid)
	})
}
