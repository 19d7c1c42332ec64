package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// An attempt whose worker was killed is known with that worker, and with when it began, also where the worker ran
// several jobs.
func TestAnAttemptWhoseWorkerWasKilledIsKnown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var ids []string
		for n := range 3 {
			receipt, err := k.Enq.With(work.Retention(time.Hour)).Enqueue(k.Ctx(), "n", n)
			require.NoError(t, err)
			ids = append(ids, receipt.ID)
		}
		began := k.killedWith(ids...)
		again := k.killedWith(ids[0])
		last := k.Start(work.NewWorkerPool(nil, 3, k.Options()).Job("n", func(int) error { return nil }))
		for n, id := range ids {
			want := []*inspect.JobInfo{began[id]}
			outcomes := []string{"1 crashed ", "1 succeeded "}
			if n == 0 {
				want, outcomes = append(want, again[id]), append(outcomes[:1], outcomes...)
			}
			info := k.over(id)
			require.Equal(t, outcomes, outcomesOf(t, info))
			for n, running := range want {
				crashed := info.Attempts[n]
				assert.Equal(t, running.Worker, crashed.Worker)
				assert.False(t, crashed.Begun.Before(running.BegunAt), "%s, not %s", running.BegunAt, crashed.Begun)
				assert.False(t, n > 0 && crashed.Begun.Before(info.Attempts[n-1].Ended))
			}
			assert.Equal(t, k.ID(last), info.Attempts[len(want)].Worker)
			assert.Zero(t, info.Fails)
			assert.Zero(t, info.AttemptsLeftOut)
		}
	})
}

// killedWith has a worker die that runs the first jobs of the queue n, each of those, and another one bring them back.
// It returns what was known of them before.
func (k *kit) killedWith(ids ...string) map[string]*inspect.JobInfo {
	k.T.Helper()
	started := make(chan bool, len(ids))
	victim := k.Start(work.NewWorkerPool(nil, len(ids), k.Another(pooltest.NewSpy())).
		Job("n", func(ctx context.Context, _ int) error {
			started <- true
			<-ctx.Done()
			return ctx.Err()
		}))
	running := map[string]*inspect.JobInfo{}
	for range ids {
		pooltest.Receive(k.T, started)
	}
	for _, id := range ids {
		info, err := k.hands().Job(k.Ctx(), id)
		require.NoError(k.T, err)
		require.Equal(k.T, work.StateRunning, info.State)
		require.Equal(k.T, k.ID(victim), info.Worker)
		running[id] = info
	}
	k.Crash(victim)
	reaper := k.Start(work.NewWorkerPool(nil, 1, k.Another(pooltest.NewSpy())).Job("m", pooltest.Nothing))
	k.Until("all have come back", func() bool { return k.Number("HLEN", "claimed") == 0 })
	require.NoError(k.T, k.Stop(reaper))
	return running
}

// What is kept of a job goes after its retention, while a pool runs.
func TestARunningPoolRemovesWhatIsKeptAfterItsRetention(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Tidy(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("done", work.JobOptions{Retention: time.Hour}, pooltest.Nothing).
			JobWithOptions(`od"d`, work.JobOptions{Retention: time.Hour},
				func() error { return work.Discard(errors.New("no")) }))
		past := []string{k.Enqueue("done").ID, k.Enqueue(`od"d`).ID}
		for _, id := range past {
			k.over(id)
		}
		stays := k.Enqueue("done").ID
		k.over(stays)
		require.Len(t, k.Remains("details:"), 2)
		for _, id := range past {
			k.Do("ZADD", "outcomes:until", 1, id)
		}
		for _, id := range past {
			k.Until("it is forgotten", func() bool {
				_, err := k.hands().Job(k.Ctx(), id)
				return errors.Is(err, work.ErrNotFound)
			})
		}
		assert.Len(t, k.Remains("details:"), 1)
		assert.Len(t, k.Remains("ended:"), 1)
		page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateSucceeded, Name: "done"})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 1)
		assert.Equal(t, stays, page.Jobs[0].ID)
		k.healthy()
	})
}

// A job that is cancelled or deleted in the middle of a long queue is listed at once, and once, also when a worker has
// come by it.
func TestAJobThatEndsDeepInItsQueueIsListedAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		enq := k.Enq.With(work.Retention(time.Hour), work.Meta("m", "1"))
		var ids []string
		for n := range 2 {
			receipt, err := enq.Enqueue(k.Ctx(), "n", n)
			require.NoError(t, err)
			ids = append(ids, receipt.ID)
		}
		k.crowd(work.StateQueued, inspect.FarReach+100) // before them
		for from := 0; from < inspect.FarReach; from += 500 {
			var behind []any
			for n := from; n < from+500; n++ {
				behind = append(behind, fmt.Sprint("behind", n))
			}
			k.Do("LPUSH", "queue:n", behind...)
		}
		require.NoError(t, k.hands().Delete(k.Ctx(), ids[0]))
		require.Equal(t, work.CancelEnded, k.Cancel(ids[1]).Effect)
		listed := func() map[work.State]*inspect.JobInfo {
			of := map[work.State]*inspect.JobInfo{}
			for n, state := range []work.State{work.StateDeleted, work.StateCancelled} {
				page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: state, Name: "n"})
				require.NoError(t, err)
				require.Len(t, page.Jobs, 1)
				assert.Equal(t, ids[n], page.Jobs[0].ID)
				assert.Equal(t, map[string]string{"m": "1"}, page.Jobs[0].Meta)
				assert.Equal(t, fmt.Sprintf("[%d]", n), string(page.Jobs[0].Args))
				assert.Empty(t, page.Jobs[0].Attempts)
				of[state] = page.Jobs[0]
				of[state].AsOf = time.Time{}
			}
			return of
		}
		before := listed()
		require.NotNil(t, k.Do("LPOS", "queue:n", ids[0]), "it stands there still")

		k.Do("LTRIM", "queue:n", inspect.FarReach, inspect.FarReach+1)
		require.ElementsMatch(t, ids, k.InLine("n"))
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(int) error { return errors.New("it ran") }))
		k.Until("a worker has come by", func() bool { return k.Number("SCARD", "cancelled") == 0 })
		assert.Equal(t, before, listed())
		for state, info := range before {
			now := k.over(info.ID)
			now.AsOf = time.Time{}
			assert.Equal(t, state, now.State)
			assert.Equal(t, info, now)
		}
	})
}

// A job may be retried, put off and given up; what is kept of it stays for the retention of its enqueue, and else for
// that of its name.
func TestTheRetentionOfAnEnqueueGoesBeforeThatOfTheName(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		name, enqueue, want time.Duration
	}{
		"of the name":              {name: 5 * time.Hour, want: 5 * time.Hour},
		"of the enqueue":           {enqueue: 3 * time.Hour, want: 3 * time.Hour},
		"shorter than of the name": {name: 5 * time.Hour, enqueue: 3 * time.Hour, want: 3 * time.Hour},
		"for ever":                 {enqueue: math.MaxInt64, want: 100 * 365 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				enq := k.Enq
				if tt.enqueue > 0 {
					enq = enq.With(work.Retention(tt.enqueue))
				}
				story, err := enq.Enqueue(k.Ctx(), "story")
				require.NoError(t, err)
				late, err := enq.With(work.ExpireIn(time.Millisecond)).Enqueue(k.Ctx(), "late")
				require.NoError(t, err)
				k.Until("its time is over", func() bool {
					info, err := k.hands().Job(k.Ctx(), late.ID)
					return err == nil && info.AsOf.Sub(info.EnqueuedAt) > 10*time.Millisecond
				})
				attempt := 0 // of one job on one processor
				options := work.JobOptions{Retention: tt.name,
					Backoff: func(*work.Job, error) time.Duration { return time.Millisecond }}
				k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					JobWithOptions("late", options, pooltest.Nothing).
					JobWithOptions("story", options, func() error {
						switch attempt++; attempt {
						case 1:
							return errors.New("first try")
						case 2:
							return work.Snooze(time.Millisecond)
						}
						return work.Discard(errors.New("no use"))
					}))
				info, expired := k.over(story.ID), k.over(late.ID)
				assert.Equal(t, []string{"1 failed first try", "2 snoozed ", "2 discarded no use"}, outcomesOf(t, info))
				assert.Equal(t, work.StateDiscarded, info.State)
				assert.Equal(t, 1, info.Fails)
				assert.Equal(t, work.StateExpired, expired.State)
				assert.Empty(t, expired.Attempts)
				for _, job := range []*inspect.JobInfo{info, expired} {
					until, err := strconv.ParseFloat(k.Text("ZSCORE", "outcomes:until", job.ID), 64)
					require.NoError(t, err)
					kept := time.UnixMilli(int64(until)).Sub(job.EndedAt)
					assert.InDelta(t, tt.want.Hours(), kept.Hours(), 1)
					page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: job.State, Name: job.Name})
					require.NoError(t, err)
					require.Len(t, page.Jobs, 1)
					page.Jobs[0].AsOf = job.AsOf
					assert.Equal(t, job, page.Jobs[0])
				}
			})
		})
	}
}

// A retention of next to nothing lists the job until the janitor comes by.
func TestARetentionOfAMillisecondSettlesAndGoes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Tidy(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("n", work.JobOptions{Retention: time.Millisecond}, pooltest.Nothing))
		for range 3 {
			k.Enqueue("n")
		}
		k.Drained(pool)
		k.Until("nothing is kept", func() bool { return len(k.Remains("details:"))+k.Number("HLEN", "outcomes") == 0 })
		k.healthy()
	})
}

// A job that is cancelled is known with what had happened to it, whether it waits or runs.
func TestACancelledJobIsKnownWithItsAttempts(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]bool{"while it waits": false, "while it runs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				again := time.Hour
				if runs {
					again = time.Millisecond
				}
				started := make(chan bool, 2)
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).JobWithOptions("n",
					work.JobOptions{Backoff: func(*work.Job, error) time.Duration { return again }},
					func(ctx context.Context, job *work.Job, _ int) error {
						started <- true
						if job.Attempt == 1 {
							return errors.New("no luck")
						}
						job.Checkin("waiting")
						<-ctx.Done()
						return ctx.Err()
					}))
				receipt, err := k.Enq.With(work.Retention(time.Hour), work.Tags("red")).Enqueue(k.Ctx(), "n", 7)
				require.NoError(t, err)
				pooltest.Receive(t, started)
				want, attempts := work.StateRetrying, []string{"1 failed no luck"}
				if runs {
					pooltest.Receive(t, started)
					want, attempts = work.StateRunning, append(attempts, "2 cancelled ")
				}
				k.Until("it is "+string(want), func() bool {
					info, err := k.hands().Job(k.Ctx(), receipt.ID)
					return err == nil && info.State == want
				})
				k.Cancel(receipt.ID)
				info := k.over(receipt.ID)
				assert.Equal(t, work.StateCancelled, info.State)
				assert.Equal(t, attempts, outcomesOf(t, info))
				assert.Equal(t, k.ID(pool), info.Attempts[len(attempts)-1].Worker)
				assert.Equal(t, "[7]", string(info.Args))
				assert.Equal(t, []string{"red"}, info.Tags)
				assert.Equal(t, 1, info.Fails)
				assert.Len(t, info.Errors, 1)
				assert.Equal(t, runs, info.Checkin != nil)
				page, err := k.hands().Page(k.Ctx(), inspect.PageOptions{State: work.StateCancelled, Name: "n"})
				require.NoError(t, err)
				require.Len(t, page.Jobs, 1)
				page.Jobs[0].AsOf = info.AsOf
				assert.Equal(t, info, page.Jobs[0])
			})
		})
	}
}
