package work

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func TestLookNowFollowsAClockThatWasSet(t *testing.T) {
	t.Parallel()
	server := redistest.Embedded(t)
	k := newKit(t, server)
	attempts := make(chan int, 2)
	pool := k.start(NewWorkerPool(nil, 1, k.options()).
		JobWithOptions("a", JobOptions{Backoff: hourly}, func(job *Job) error {
			attempts <- job.Attempt
			if job.Attempt == 1 {
				return errors.New("no luck")
			}
			return nil
		}))
	enq := pool.Enqueuer()
	for _, by := range []time.Duration{48 * time.Hour, 72 * time.Hour} {
		at := time.Now().Add(by)
		server.Embedded().SetTime(at)
		pool.LookNow(k.ctx())
		assert.WithinDuration(t, at, pool.clock.now(), patience)
		assert.WithinDuration(t, at, enq.core.clock.now(), patience)
	}
	receipt, err := enq.With(ExpireIn(2*time.Hour)).EnqueueIn(k.ctx(), "a", time.Hour)
	require.NoError(t, err)
	for attempt := range 2 {
		server.Embedded().Advance(time.Hour)
		pool.LookNow(k.ctx())
		require.Equal(t, attempt+1, receive(t, attempts))
		await(t, k.spy, ofJob[event.JobFailed](receipt.ID))
		k.drained(pool)
	}
	await(t, k.spy, ofJob[event.JobDone](receipt.ID))
}

func TestLookNowReturnsWhateverThePoolDoes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", nothing)
		pool.Enqueuer()
		pool.LookNow(k.ctx())
		require.NoError(t, pool.Start(k.ctx()))
		pool.LookNow(k.ctx())
		ended, cancel := context.WithCancel(k.ctx())
		cancel()
		pool.LookNow(ended)
		require.NoError(t, pool.Stop(k.ctx()))
		pool.LookNow(context.Background())
	})
}

func TestNextDueIsTheFirstOfTheServedNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("a", JobOptions{Backoff: func(*Job, error) time.Duration { return 3 * time.Hour }},
				func() error { return errors.New("no luck") })
		_, err := pool.NextDue(k.ctx())
		require.ErrorIs(t, err, ErrNotStarted)
		k.start(pool)
		due, err := pool.NextDue(k.ctx())
		require.NoError(t, err)
		assert.Zero(t, due)

		entries := make([]Entry, 501) // more than a page
		for i := range entries {
			entries[i] = Entry{Name: "strange", In: time.Minute}
		}
		_, err = k.enq.EnqueueMany(k.ctx(), entries)
		require.NoError(t, err)
		k.enqueue("a")
		failed := await[event.JobFailed](t, k.spy, nil)
		k.drained(pool)
		due, err = pool.NextDue(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, k.due("retry", failed.ID), due)

		receipt, err := k.enq.EnqueueIn(k.ctx(), "a", 2*time.Hour)
		require.NoError(t, err)
		due, err = pool.NextDue(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, k.due("scheduled", receipt.ID), due)

		require.NoError(t, pool.Stop(k.ctx()))
		_, err = pool.NextDue(k.ctx())
		require.ErrorIs(t, err, ErrStopped)
	})
}

func TestSyncClockAsksRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Embedded(t)
	enq, err := NewEnqueuer(server.DSN())
	require.NoError(t, err)
	at := time.Now().Add(-48 * time.Hour)
	server.Embedded().SetTime(at)
	require.NoError(t, enq.SyncClock(t.Context()))
	assert.WithinDuration(t, at, enq.core.clock.now(), patience)
	require.NoError(t, enq.Close())
	require.ErrorIs(t, enq.SyncClock(t.Context()), ErrClosed)
}
