package outcomes_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// outcomeCase is an error that a handler returns and what must become of the job.
type outcomeCase struct {
	name  string
	err   error
	shelf string
	after time.Duration
	fails int
}

func TestWhatAHandlerAsksForBecomesOfTheJob(t *testing.T) {
	t.Parallel()
	const century = 100 * 365 * 24 * time.Hour
	cases := []outcomeCase{
		{"error", pooltest.ErrLuck, "retry", time.Hour, 1},
		{"RetryIn", work.RetryIn(time.Minute, pooltest.ErrLuck), "retry", time.Minute, 1},
		{"RetryIn without error", work.RetryIn(time.Minute, nil), "retry", time.Minute, 1},
		{"RetryIn wrapped", pooltest.Wrapped(work.RetryIn(time.Minute, pooltest.ErrLuck)), "retry", time.Minute, 1},
		{"RetryIn too long", work.RetryIn(1<<63-1, pooltest.ErrLuck), "retry", century, 1},
		{"Snooze", work.Snooze(time.Minute), "scheduled", time.Minute, 0},
		{"Snooze wrapped", pooltest.Wrapped(work.Snooze(time.Minute)), "scheduled", time.Minute, 0},
		{"Snooze too long", work.Snooze(1<<63 - 1), "scheduled", century, 0},
		{"Release", work.Release(pooltest.ErrLuck), "scheduled", time.Second, 0},
		{"Release wrapped", pooltest.Wrapped(work.Release(nil)), "scheduled", time.Second, 0},
		{"Bury", work.Bury(pooltest.ErrLuck), "morgue", 0, 1},
		{"Bury without error", work.Bury(nil), "morgue", 0, 1},
		{"Bury wrapped", pooltest.Wrapped(work.Bury(pooltest.ErrLuck)), "morgue", 0, 1},
		{"Bury joined", errors.Join(pooltest.ErrLuck, work.Bury(pooltest.ErrLuck)), "morgue", 0, 1},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options())
		ids, began := map[string]string{}, time.Now()
		for _, c := range cases {
			pool.JobWithOptions(c.name, work.JobOptions{Retries: 1, Backoff: pooltest.Hourly},
				func() error { return c.err })
			ids[c.name] = k.Enqueue(c.name).ID
		}
		held := k.Number("HLEN", "jobs")
		k.Start(pool)
		k.Drained(pool)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.check(t, k, ids[c.name], began) })
		}
		assert.Equal(t, held, k.Number("HLEN", "jobs"), "all records are kept")
		k.Until("nothing is claimed, but for what is released and due again in between", func() bool {
			return k.Number("HLEN", "claimed") == 0
		})
	})
}

func (c outcomeCase) check(t *testing.T, k *kit, id string, began time.Time) {
	kept := k.Trail(id)
	assert.Equal(t, c.fails, kept.Fails)
	assert.Len(t, kept.Errors, c.fails)
	if c.shelf == "morgue" {
		k.Due("morgue", id)
		assert.Equal(t, "its handler asked for it", kept.Reason)
		assert.Equal(t, c.err.Error(), kept.Errors[0].Error)
	} else {
		most := c.after
		if c.after < time.Minute {
			most = 8 * c.after // it may have been due and released again before this looks
		}
		var due time.Time
		k.Until("it waits as its trail says, and does not run again just now", func() bool {
			score, err := redis.Float64(k.Do("ZSCORE", c.shelf, id), nil)
			due = time.UnixMilli(int64(score)) // the fraction is for the order
			return err == nil && due.Sub(time.UnixMilli(k.Trail(id).RunAt)).Abs() <= time.Second
		})
		assert.WithinRange(t, due, began.Add(c.after-2*time.Millisecond), time.Now().Add(most+2*time.Millisecond))
	}
	assert.Equal(t, c.name, k.Text("HGET", "names", id))
	first := pooltest.SeenBy(t, k.Spy, id)[1]
	switch e := first.(type) {
	case event.JobFailed:
		assert.Equal(t, c.err, e.Err)
		assert.Equal(t, c.after, e.RetryIn)
	case event.JobSnoozed:
		assert.Equal(t, c.err, e.Err)
		assert.Equal(t, c.after, e.For)
	case event.JobBuried:
		assert.Equal(t, c.err, e.Err)
	}
	wanted := map[string]event.Event{"retry": event.JobFailed{}, "scheduled": event.JobSnoozed{},
		"morgue": event.JobBuried{}}
	assert.IsType(t, wanted[c.shelf], first)
}

func TestErrorsAreFoundThroughWhatAHandlerAsksFor(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"RetryIn": work.RetryIn(time.Second,
			pooltest.ErrLuck), "Release": work.Release(pooltest.ErrLuck), "Bury": work.Bury(pooltest.ErrLuck),
		"Discard": work.Discard(pooltest.ErrLuck),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, err, pooltest.ErrLuck)
			assert.EqualError(t, err, "no luck", "the text is the program's own")
		})
	}
	assert.Equal(t, "discard", work.Discard(nil).Error())
	assert.Equal(t, "snooze for 1s", work.Snooze(time.Second).Error())
	assert.NoError(t, errors.Unwrap(work.Release(nil)))
}

func TestASnoozeUsesNoAttempt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		runs := make(chan [2]int, 4)
		times := 0
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("a", work.JobOptions{Retries: -1}, func(job *work.Job) error {
				runs <- [2]int{job.Attempt, job.RetriesLeft}
				if times++; times < 3 {
					return work.Snooze(0)
				}
				return pooltest.ErrLuck
			}))
		id := k.Enqueue("a").ID
		buried := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](id))
		for range 3 {
			assert.Equal(t, [2]int{1, 0}, pooltest.Receive(t, runs))
		}
		assert.Equal(t, "out of retries", buried.Reason)
		assert.Equal(t, 2, pooltest.Count[event.JobSnoozed](k.Spy))
		assert.Equal(t, 100*time.Millisecond, pooltest.Await[event.JobSnoozed](t, k.Spy, nil).For)
	})
}

func TestRetriesOfTheEnqueueBeatTheJobs(t *testing.T) {
	t.Parallel()
	type row struct {
		name    string
		option  int
		enqueue []work.EnqueueOption
		left    int
	}
	rows := []row{
		{"default", 0, nil, 25}, {"none", -1, nil, 0}, {"option", 3, nil, 3},
		{"enqueue", 3, []work.EnqueueOption{work.Retries(7)}, 7},
		{"enqueue none", 3, []work.EnqueueOption{work.Retries(0)}, 0},
		{"enqueue negative", 3, []work.EnqueueOption{work.Retries(-5)}, 0},
		{"enqueue more than none", -1, []work.EnqueueOption{work.Retries(2)}, 2},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		left := map[string]int{}
		pool := work.NewWorkerPool(nil, 1, k.Options())
		for _, row := range rows {
			pool.JobWithOptions(row.name, work.JobOptions{Retries: row.option, Backoff: pooltest.Hourly},
				func(job *work.Job) error {
					left[job.Name] = job.RetriesLeft
					return pooltest.ErrLuck
				})
			_, err := k.Enq.With(row.enqueue...).Enqueue(k.Ctx(), row.name)
			require.NoError(t, err)
		}
		k.Start(pool)
		k.Drained(pool)
		buried := 0
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.left, left[row.name]) })
			if row.left == 0 {
				buried++
			}
		}
		assert.Equal(t, buried, k.Number("ZCARD", "morgue"))
		assert.Equal(t, len(rows)-buried, k.Number("ZCARD", "retry"))
	})
}

func TestOutOfRetriesWithSkipMorgueIsDropped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := work.JobOptions{Retries: -1, SkipMorgue: true}
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("plain", options, func() error { return pooltest.ErrLuck }).
			JobWithOptions("retryIn", options, func() error { return work.RetryIn(time.Hour, pooltest.ErrLuck) }).
			JobWithOptions("bury", options, func() error { return work.Bury(pooltest.ErrLuck) }).
			JobWithOptions("args", options, func(int) error { return nil }))
		for _, name := range []string{"plain", "retryIn"} {
			discarded := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDiscarded](k.Enqueue(name).ID))
			require.ErrorIs(t, discarded.Err, pooltest.ErrLuck)
		}
		k.Drained(pool)
		k.Empty("plain", "retryIn")
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](k.Enqueue("bury").ID))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](k.Enqueue("args", "no number").ID))
	})
}

func TestADiscardedJobIsRememberedForAMinute(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		discard := func(context.Context) (int, error) { return 1, pooltest.Wrapped(work.Discard(pooltest.ErrLuck)) }
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("short", discard).
			JobWithOptions("long", work.JobOptions{Retention: time.Hour}, discard))
		began := time.Now()
		for name, kept := range map[string]time.Duration{"short": time.Minute, "long": time.Hour} {
			id := k.Enqueue(name).ID
			assert.ErrorIs(t, pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDiscarded](id)).Err, pooltest.ErrLuck)
			k.Drained(pool)
			_, err := work.Result[int](k.Ctx(), k.Enq, id)
			var none *work.NoResultError
			require.ErrorAs(t, err, &none)
			assert.Equal(t, work.NoResultError{ID: id, State: "discarded"}, *none)
			k.DueIn(began, "outcomes:until", id, kept)
		}
		k.Empty("short", "long")
	})
}
