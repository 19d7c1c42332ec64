package worktest

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
)

var errLuck = errors.New("no luck")

// app is the context of the jobs under test.
type app struct{ tenant string }

func (a *app) Tenant(ctx context.Context, job *work.Job, next work.NextFunc) error {
	a.tenant = job.Meta["tenant"]
	return next(ctx)
}

// Say answers with the tenant that the middleware found, and tells, logs and returns what it is asked to.
func (a *app) Say(ctx context.Context, job *work.Job, n int64, words ...string) (string, error) {
	for _, word := range words {
		job.Checkin(word)
	}
	if err := job.Progress(map[string]int64{"n": n}); err != nil {
		return "", err
	}
	job.Logger().Debug("not for the log of a job")
	job.Logger().With("n", n).Info("said", "words", len(words))
	slog.Info("not of the job")
	return a.tenant, nil
}

// unreachable is a pool as production has it: with a Redis that is not there.
func unreachable() *work.WorkerPool {
	return work.NewWorkerPool(app{}, 15, work.WorkerOptions{Redis: "redis://127.0.0.1:1/0"}).Middleware((*app).Tenant)
}

// TestRunTellsWhatItsJobEnqueued: the job itself is not among it, and nothing goes to the Redis of the pool.
func TestRunTellsWhatItsJobEnqueued(t *testing.T) {
	t.Parallel()
	pool := unreachable().
		Job("order", func(ctx context.Context, items ...string) error {
			for _, item := range items {
				if _, err := work.EnqueuerFromContext(ctx).EnqueueIn(ctx, "ship", time.Hour, item); err != nil {
					return err
				}
			}
			return nil
		}).
		Job("ship", func(string) error { return nil })
	outcome := RunEntry(t, pool, work.Entry{Name: "order", Args: []any{"pen", "ink"}, Source: 7})
	require.NoError(t, outcome.Err)
	require.Len(t, outcome.Enqueued(), 2)
	assert.Equal(t, outcome.ID, outcome.Enqueued()[0].Settings.Parent)
	AssertEnqueued(t, outcome, "ship", "pen")
	AssertWanted(t, outcome, Want{Name: "ship", Args: []any{"ink"}, In: time.Hour, Source: 7, Times: 1})
	AssertNotEnqueued(t, outcome, "order")
	AssertNoneEnqueued(t, Run(t, pool, "order"))
}

func TestRunTellsAllThatAJobDid(t *testing.T) {
	t.Parallel()
	pool := unreachable().Job("say", (*app).Say)
	outcome := RunEntry(t, pool, work.Entry{Name: "say", Args: []any{int64(1234567890123456789), "a", "b"},
		Options: []work.EnqueueOption{work.Meta("tenant", "ant")}})
	assert.Equal(t, work.EndingDone, outcome.Ending)
	require.NoError(t, outcome.Err)
	assert.Equal(t, "ant", ResultOf[string](t, outcome))
	assert.Equal(t, []string{"a", "b"}, outcome.Checkins)
	require.Len(t, outcome.Progress, 1)
	assert.JSONEq(t, `{"n":1234567890123456789}`, string(outcome.Progress[0]))
	require.Len(t, outcome.Log, 1)
	assert.Equal(t, inspect.LogLine{
		Number: 1, Time: outcome.Log[0].Time, Level: slog.LevelInfo, Message: "said", Attempt: 1,
		Attrs: []byte(`{"n":1234567890123456789,"words":2}`),
	}, outcome.Log[0])

	again := Run(t, pool, "say", 7) // the pool is as it was
	assert.Equal(t, "", ResultOf[string](t, again))
	assert.NotEqual(t, outcome.ID, again.ID)
	assert.Empty(t, again.Checkins)
}

func TestRunTellsHowAnAttemptEnded(t *testing.T) {
	t.Parallel()
	type row struct {
		returned error
		options  work.JobOptions
		ending   work.Ending
		in       time.Duration
		reason   string
	}
	for name, row := range map[string]row{
		"done": {ending: work.EndingDone},
		"an error": {returned: errLuck,
			options: work.JobOptions{Backoff: func(*work.Job, error) time.Duration { return time.Hour }},
			ending:  work.EndingRetry, in: time.Hour},
		"out of retries": {returned: errLuck, options: work.JobOptions{Retries: -1}, ending: work.EndingBury,
			reason: "out of retries"},
		"skip morgue": {returned: errLuck, options: work.JobOptions{Retries: -1, SkipMorgue: true},
			ending: work.EndingDiscard},
		"retry in": {returned: work.RetryIn(0, errLuck), ending: work.EndingRetry, in: 100 * time.Millisecond},
		"snooze":   {returned: work.Snooze(0), ending: work.EndingSnooze, in: 100 * time.Millisecond},
		"release":  {returned: work.Release(errLuck), ending: work.EndingSnooze, in: time.Second},
		"bury":     {returned: work.Bury(errLuck), ending: work.EndingBury, reason: "its handler asked for it"},
		"discard":  {returned: work.Discard(errLuck), ending: work.EndingDiscard},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{}).
				JobWithOptions("a", row.options, func() error { calls++; return row.returned })
			outcome := Run(t, pool, "a")
			assert.Equal(t, row.ending, outcome.Ending)
			assert.Equal(t, row.in, outcome.In)
			assert.Equal(t, row.reason, outcome.Reason)
			assert.Equal(t, errors.Is(row.returned, errLuck), errors.Is(outcome.Err, errLuck))
			assert.Equal(t, 1, calls, "one attempt, however soon the next is due")
			assert.Nil(t, outcome.Result)
		})
	}
}

func TestRunOfAPanicGivesItsStack(t *testing.T) {
	t.Parallel()
	outcome := Run(t, work.NewWorkerPool(nil, 1, work.WorkerOptions{}).Job("a", func() error { panic("no luck") }), "a")
	var panicked *work.PanicError
	require.ErrorAs(t, outcome.Err, &panicked)
	assert.Equal(t, "no luck", panicked.Value)
	assert.Contains(t, panicked.Stack, "run_test.go")
}

func TestRunMovesTheClockToTheTimeOfTheEntry(t *testing.T) {
	t.Parallel()
	var due time.Time
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{}).
		Job("a", func(job *work.Job) error { due = job.RunAt; return nil })
	at := time.Now().Add(24 * time.Hour).Truncate(time.Millisecond)
	assert.Equal(t, work.EndingDone, RunEntry(t, pool, work.Entry{Name: "a", At: at}).Ending)
	assert.Equal(t, at, due)
	assert.Equal(t, work.EndingDone, RunEntry(t, pool, work.Entry{Name: "a", In: 24 * time.Hour}).Ending)
	late := work.Entry{Name: "a", Options: []work.EnqueueOption{work.ExpireAt(time.Now().Add(-time.Hour))}}
	assert.Equal(t, EndingExpired, RunEntry(t, pool, late).Ending)
}

func TestRunFailsTheTestWhenTheJobCannotBeRun(t *testing.T) {
	t.Parallel()
	add := func(a, b int) error { return nil }
	for name, row := range map[string]struct {
		pool *work.WorkerPool
		args []any
		want string
	}{
		"args that do not fit": {work.NewWorkerPool(nil, 1, work.WorkerOptions{}).Job("add", add), []any{1, "two"},
			`args of job "add" do not fit its handler`},
		"a name of nobody": {work.NewWorkerPool(nil, 1, work.WorkerOptions{}).Job("sub", add), []any{1, 2},
			`job "add" is not registered with this pool: register it with Job`},
		"a mistake elsewhere": {work.NewWorkerPool(nil, 1, work.WorkerOptions{}).Job("add", add).Job("sub", 7),
			[]any{1, 2}, `job "sub"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, failing(t, func(t testing.TB) { Run(t, row.pool, "add", row.args...) }), row.want)
		})
	}
}

func TestRunGivesUpOnAJobThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	text := failing(t, func(t testing.TB) {
		Run(t, work.NewWorkerPool(nil, 1, work.WorkerOptions{}).
			Job("a", func(ctx context.Context, job *work.Job) error {
				job.Checkin("row 7")
				over(t)
				<-ctx.Done()
				return nil
			}), "a")
	})
	assert.Contains(t, text, `job "a" has not ended. There were these events:`)
	assert.Contains(t, text, ", attempt 1, Message: row 7")
}

func TestResultOfSaysWhyThereIsNone(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{}).
		Job("fails", func() (int, error) { return 0, errLuck }).
		Job("text", func() (string, error) { return "seven", nil })
	fails, text := Run(t, pool, "fails"), Run(t, pool, "text")
	assert.Equal(t, "worktest: the job has no result: it ended as retry, error: no luck",
		failing(t, func(t testing.TB) { ResultOf[int](t, fails) }))
	assert.Contains(t, failing(t, func(t testing.TB) { ResultOf[int](t, text) }),
		`the result "seven" does not fit a int`)
}

func BenchmarkRun(b *testing.B) {
	pool := work.NewWorkerPool(nil, 15, work.WorkerOptions{}).Job("a", func(int) error { return nil })
	for b.Loop() {
		Run(b, pool, "a", 7)
	}
}

func TestARunSeesItsKey(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{}).
		Job("sync", func(ctx context.Context, job *work.Job) (string, error) {
			_, err := work.EnqueuerFromContext(ctx).With(work.Key(job.Key)).Enqueue(ctx, "sync")
			return job.Key, err
		})
	outcome := RunEntry(t, pool, work.Entry{Name: "sync", Options: []work.EnqueueOption{work.Key("customer-7")}})
	assert.Equal(t, "customer-7", ResultOf[string](t, outcome))
	AssertWanted(t, outcome, Want{Name: "sync", Options: []work.EnqueueOption{work.Key("customer-7")}})
}
