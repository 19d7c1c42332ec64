package work

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

var errLuck = errors.New("no luck")

// outcomeCase is an error that a handler returns and what must become of the job.
type outcomeCase struct {
	name  string
	err   error
	shelf string
	after time.Duration
	fails int
}

func wrapped(err error) error { return fmt.Errorf("while exporting: %w", err) }

func TestWhatAHandlerAsksForBecomesOfTheJob(t *testing.T) {
	t.Parallel()
	const century = 100 * 365 * 24 * time.Hour
	cases := []outcomeCase{
		{"error", errLuck, "retry", time.Hour, 1},
		{"RetryIn", RetryIn(time.Minute, errLuck), "retry", time.Minute, 1},
		{"RetryIn without error", RetryIn(time.Minute, nil), "retry", time.Minute, 1},
		{"RetryIn wrapped", wrapped(RetryIn(time.Minute, errLuck)), "retry", time.Minute, 1},
		{"RetryIn too long", RetryIn(1<<63-1, errLuck), "retry", century, 1},
		{"Snooze", Snooze(time.Minute), "scheduled", time.Minute, 0},
		{"Snooze wrapped", wrapped(Snooze(time.Minute)), "scheduled", time.Minute, 0},
		{"Snooze too long", Snooze(1<<63 - 1), "scheduled", century, 0},
		{"Release", Release(errLuck), "scheduled", time.Second, 0},
		{"Release wrapped", wrapped(Release(nil)), "scheduled", time.Second, 0},
		{"Bury", Bury(errLuck), "morgue", 0, 1},
		{"Bury without error", Bury(nil), "morgue", 0, 1},
		{"Bury wrapped", wrapped(Bury(errLuck)), "morgue", 0, 1},
		{"Bury joined", errors.Join(errLuck, Bury(errLuck)), "morgue", 0, 1},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options())
		ids, began := map[string]string{}, time.Now()
		for _, c := range cases {
			pool.JobWithOptions(c.name, JobOptions{Retries: 1, Backoff: hourly}, func() error { return c.err })
			ids[c.name] = k.enqueue(c.name).ID
		}
		held := k.number("HLEN", "jobs")
		k.start(pool)
		k.drained(pool)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) { c.check(t, k, ids[c.name], began) })
		}
		assert.Equal(t, held, k.number("HLEN", "jobs"), "all records are kept")
		assert.Zero(t, k.number("HLEN", "claimed"))
	})
}

func (c outcomeCase) check(t *testing.T, k *kit, id string, began time.Time) {
	kept := k.trail(id)
	assert.Equal(t, c.fails, kept.Fails)
	assert.Len(t, kept.Errors, c.fails)
	if c.shelf == "morgue" {
		k.due("morgue", id)
		assert.Equal(t, "its handler asked for it", kept.Reason)
		assert.Equal(t, c.err.Error(), kept.Errors[0].Error)
	} else {
		most := c.after
		if c.after < time.Minute {
			most = 8 * c.after // it may have been due and released again before this looks
		}
		due := k.due(c.shelf, id)
		assert.WithinRange(t, due, began.Add(c.after-2*time.Millisecond), time.Now().Add(most+2*time.Millisecond))
		assert.WithinDuration(t, k.due(c.shelf, id), time.UnixMilli(kept.RunAt), time.Second)
	}
	assert.Equal(t, c.name, k.text("HGET", "names", id))
	first := seenBy(t, k.spy, id)[1]
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
		"RetryIn": RetryIn(time.Second, errLuck), "Release": Release(errLuck), "Bury": Bury(errLuck),
		"Discard": Discard(errLuck),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, err, errLuck)
			assert.EqualError(t, err, "no luck", "the text is the program's own")
		})
	}
	assert.Equal(t, "discard", Discard(nil).Error())
	assert.Equal(t, "snooze for 1s", Snooze(time.Second).Error())
	assert.NoError(t, errors.Unwrap(Release(nil)))
}

func TestASnoozeUsesNoAttempt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		runs := make(chan [2]int, 4)
		times := 0
		k.start(NewWorkerPool(nil, 1, k.options()).JobWithOptions("a", JobOptions{Retries: -1}, func(job *Job) error {
			runs <- [2]int{job.Attempt, job.RetriesLeft}
			if times++; times < 3 {
				return Snooze(0)
			}
			return errLuck
		}))
		id := k.enqueue("a").ID
		buried := await(t, k.spy, ofJob[event.JobBuried](id))
		for range 3 {
			assert.Equal(t, [2]int{1, 0}, receive(t, runs))
		}
		assert.Equal(t, "out of retries", buried.Reason)
		assert.Equal(t, 2, count[event.JobSnoozed](k.spy))
		assert.Equal(t, 100*time.Millisecond, await[event.JobSnoozed](t, k.spy, nil).For)
	})
}

func TestRetriesOfTheEnqueueBeatTheJobs(t *testing.T) {
	t.Parallel()
	type row struct {
		name    string
		option  int
		enqueue []EnqueueOption
		left    int
	}
	rows := []row{
		{"default", 0, nil, 25}, {"none", -1, nil, 0}, {"option", 3, nil, 3},
		{"enqueue", 3, []EnqueueOption{Retries(7)}, 7}, {"enqueue none", 3, []EnqueueOption{Retries(0)}, 0},
		{"enqueue negative", 3, []EnqueueOption{Retries(-5)}, 0},
		{"enqueue more than none", -1, []EnqueueOption{Retries(2)}, 2},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		left := map[string]int{}
		pool := NewWorkerPool(nil, 1, k.options())
		for _, row := range rows {
			pool.JobWithOptions(row.name, JobOptions{Retries: row.option, Backoff: hourly}, func(job *Job) error {
				left[job.Name] = job.RetriesLeft
				return errLuck
			})
			_, err := k.enq.With(row.enqueue...).Enqueue(k.ctx(), row.name)
			require.NoError(t, err)
		}
		k.start(pool)
		k.drained(pool)
		buried := 0
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.left, left[row.name]) })
			if row.left == 0 {
				buried++
			}
		}
		assert.Equal(t, buried, k.number("ZCARD", "morgue"))
		assert.Equal(t, len(rows)-buried, k.number("ZCARD", "retry"))
	})
}

func TestOutOfRetriesWithSkipMorgueIsDropped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := JobOptions{Retries: -1, SkipMorgue: true}
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("plain", options, func() error { return errLuck }).
			JobWithOptions("retryIn", options, func() error { return RetryIn(time.Hour, errLuck) }).
			JobWithOptions("bury", options, func() error { return Bury(errLuck) }).
			JobWithOptions("args", options, func(int) error { return nil }))
		for _, name := range []string{"plain", "retryIn"} {
			discarded := await(t, k.spy, ofJob[event.JobDiscarded](k.enqueue(name).ID))
			require.ErrorIs(t, discarded.Err, errLuck)
		}
		k.drained(pool)
		k.empty("plain", "retryIn")
		await(t, k.spy, ofJob[event.JobBuried](k.enqueue("bury").ID))
		await(t, k.spy, ofJob[event.JobBuried](k.enqueue("args", "no number").ID))
	})
}

func TestADiscardedJobIsRememberedForAMinute(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		discard := func(context.Context) (int, error) { return 1, wrapped(Discard(errLuck)) }
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			Job("short", discard).
			JobWithOptions("long", JobOptions{Retention: time.Hour}, discard))
		began := time.Now()
		for name, kept := range map[string]time.Duration{"short": time.Minute, "long": time.Hour} {
			id := k.enqueue(name).ID
			assert.ErrorIs(t, await(t, k.spy, ofJob[event.JobDiscarded](id)).Err, errLuck)
			k.drained(pool)
			_, err := Result[int](k.ctx(), k.enq, id)
			var none *NoResultError
			require.ErrorAs(t, err, &none)
			assert.Equal(t, NoResultError{ID: id, State: "discarded"}, *none)
			k.duration(began, "outcomes:until", id, kept)
		}
		k.empty("short", "long")
	})
}
