package worktest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
)

// diary notes when what ran, by the clock of a Redis.
type diary struct {
	mu    sync.Mutex
	r     *Redis
	began time.Time
	lines []string
}

func (d *diary) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, d.r.Now().Sub(d.began).String()+" "+what)
}

func newDiary(t *testing.T) *diary {
	r := New(t)
	r.Hold(t)
	return &diary{r: r, began: r.Now()}
}

func inHours(job *work.Job, _ error) time.Duration { return time.Duration(job.Attempt) * time.Hour }

func TestDrainAllRunsRetriesAndScheduledJobsInTheOrderOfTheirTimes(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	options := d.r.Options()
	options.EnqueueNames = []string{"strange"}
	pool := d.r.Start(t, work.NewWorkerPool(nil, 3, options).
		JobWithOptions("fails", work.JobOptions{Retries: 3, Backoff: inHours},
			func() error { d.note("fails"); return errLuck }).
		Job("later", func(ctx context.Context) error { d.note("later"); return nil }))
	enq := pool.Enqueuer()
	receipt, err := enq.Enqueue(t.Context(), "fails")
	require.NoError(t, err)
	_, err = enq.EnqueueIn(t.Context(), "later", 2*time.Hour)
	require.NoError(t, err)
	_, err = enq.EnqueueIn(t.Context(), "strange", time.Minute) // of another program
	require.NoError(t, err)
	DrainAll(t, d.r, pool)
	assert.Equal(t, []string{"0s fails", "1h0m0s fails", "2h0m0s later", "3h0m0s fails", "6h0m0s fails"}, d.lines)
	assert.Equal(t, work.EndingBury, WaitEnded(t, d.r, receipt.ID).Ending)
	DrainAll(t, d.r, pool)
	assert.Len(t, d.lines, 5, "nothing is left")
}

func TestDrainAllOfManyRetriesTakesNoTime(t *testing.T) {
	t.Parallel()
	r := New(t)
	pool := r.Start(t, work.NewWorkerPool(nil, 3, r.Options()).Job("fails", func() error { return errLuck }))
	_, err := pool.Enqueuer().Enqueue(t.Context(), "fails")
	require.NoError(t, err)
	began := r.Now()
	DrainAll(t, r, pool)
	assert.Equal(t, 25, CountOf[event.JobFailed](r.Spy()))
	assert.Equal(t, 1, CountOf[event.JobBuried](r.Spy()))
	assert.Greater(t, r.Now().Sub(began), 14*24*time.Hour, "some three weeks of it")
}

func TestDrainForRunsTicksAndStopsAtItsEnd(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	// half past six
	d.r.moveTo(t.Context(), func(now time.Time) time.Time {
		return now.Truncate(24 * time.Hour).
			Add(30*time.Hour + 30*time.Minute)
	})
	d.began = d.r.Now()
	pool := d.r.Start(t, work.NewWorkerPool(nil, 3, d.r.Options()).
		Job("hourly", func() error { d.note("hourly"); return nil }).
		Job("pings", func() error { d.note("pings"); return work.Snooze(70 * time.Minute) }).
		Periodic("@hourly", "hourly"))
	_, err := pool.Enqueuer().Enqueue(t.Context(), "pings")
	require.NoError(t, err)
	DrainFor(t, d.r, pool, 3*time.Hour)
	assert.Equal(t, []string{"0s pings", "30m0s hourly", "1h10m0s pings", "1h30m0s hourly", "2h20m0s pings",
		"2h30m0s hourly"}, d.lines)
	assert.Equal(t, d.began.Add(3*time.Hour), d.r.Now())
	DrainFor(t, d.r, pool, 0)
	assert.Len(t, d.lines, 6)
}

func TestDrainsSayWhyTheyGiveUp(t *testing.T) {
	t.Parallel()
	snooze := func(context.Context) error { return work.Snooze(time.Hour) }
	started := func(t testing.TB, handler func(context.Context) error) (*Redis, *work.WorkerPool) {
		r := New(t)
		pool := r.Start(t, work.NewWorkerPool(nil, 1, r.Options()).Job("a", handler))
		_, err := pool.Enqueuer().Enqueue(context.Background(), "a")
		require.NoError(t, err)
		return r, pool
	}
	for name, row := range map[string]struct {
		test func(t testing.TB)
		want string
	}{
		"the test is over": {func(t testing.TB) {
			r, pool := started(t, func(ctx context.Context) error { over(t); return snooze(ctx) })
			DrainAll(t, r, pool)
		}, "context canceled"},
		"a deaf handler": {func(t testing.TB) {
			_, pool := started(t, func(ctx context.Context) error { over(t); <-ctx.Done(); return nil })
			Drain(t, pool)
		}, "a handler that does not return, a queue that is paused, or a limit?"},
		"a time before now": {func(t testing.TB) { r, pool := started(t, snooze); DrainFor(t, r, pool, -1) },
			"give zero or more"},
		"a pool that is not started": {func(t testing.TB) {
			r := New(t)
			DrainFor(t, r, work.NewWorkerPool(nil, 1, r.Options()).Job("a", snooze), time.Hour)
		}, "start it with r.Start(t, pool)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, failing(t, row.test), row.want)
		})
	}
	t.Run("too many moves", func(t *testing.T) {
		t.Parallel()
		r, pool := started(t, snooze)
		require.ErrorContains(t, drainAll(t.Context(), r, pool, 5),
			"the clock was moved 5 times, and a job is still to run at ")
	})
}
