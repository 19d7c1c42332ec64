package turns_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// enqueue stores n jobs of a key, and returns their ids.
func (k *kit) enqueue(t *testing.T, name, key string, n int, opts ...work.EnqueueOption) []string {
	t.Helper()
	entries := make([]work.Entry, n)
	for i := range entries {
		entries[i] = work.Entry{Name: name, Args: []any{key},
			Options: append([]work.EnqueueOption{work.Key(key)}, opts...)}
	}
	receipts, err := k.Enq.EnqueueMany(k.Ctx(), entries)
	require.NoError(t, err)
	ids := make([]string, n)
	for i, receipt := range receipts {
		ids[i] = receipt.ID
	}
	return ids
}

// clean fails where anything is left of jobs, or the doctor finds something.
func (k *kit) clean(t *testing.T, names ...string) {
	t.Helper()
	for _, key := range []string{"turns", "keyed", "parked", "holding", "waking"} {
		assert.Zero(t, k.Number("EXISTS", key), key)
	}
	k.Empty(names...)
	found, err := k.ByHand().Findings(k.Ctx(), time.Second)
	require.NoError(t, err)
	assert.Empty(t, found)
}

func TestTheKeysOfCustomersHaveTurns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueue(t, "sync", "large", 200)
		k.enqueue(t, "sync", "small", 10)
		var mu sync.Mutex
		var order []string
		pool := k.Tidy(work.NewWorkerPool(nil, 1, k.Options()).Job("sync", func(_ context.Context, key string) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, key)
			return nil
		}))
		k.Drained(pool)
		require.Len(t, order, 210)
		assert.NotContains(t, order[40:], "small", "the ten of the small one were not behind the 200")
		k.clean(t, "sync")
	})
}

// All that may happen to an attempt, at random places: each job succeeds in the end, and nothing is left.
func TestWhateverHappensToAttemptsEachKeyedJobEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for c := range 7 {
			k.enqueue(t, "sync", fmt.Sprintf("c%d", c), 10+c, work.Weight(1+c), work.Retention(time.Hour))
		}
		var mu sync.Mutex
		tries, done := map[string]int{}, 0
		pool := k.Tidy(work.NewWorkerPool(nil, 5, k.Options()).JobWithOptions("sync",
			work.JobOptions{Retries: 5, Backoff: func(*work.Job, error) time.Duration { return time.Millisecond }},
			func(ctx context.Context, _ string) error {
				job := work.JobFromContext(ctx)
				mu.Lock()
				defer mu.Unlock()
				tries[job.ID]++
				switch n := len(tries); {
				case tries[job.ID] > 1:
				case n%4 == 0:
					return errors.New("fails once")
				case n%4 == 1:
					return work.Snooze(time.Millisecond)
				case n%4 == 2:
					return work.Release(errors.New("not now"))
				}
				done++
				return nil
			}))
		k.Until("all have ended", func() bool { return k.Number("EXISTS", "jobs") == 0 })
		require.NoError(t, k.Stop(pool))
		assert.Equal(t, 70+21, done)
		k.clean(t, "sync")
	})
}

func TestAKeyedJobIsSeenAndEndedByHandWhereverItStands(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.Inspector()
		plain := k.Enqueue("sync", "plain").ID
		ids := k.enqueue(t, "sync", "x", 8)
		found, err := k.ByHand().Findings(k.Ctx(), time.Second)
		require.NoError(t, err)
		for _, finding := range found { // nobody serves it
			assert.Equal(t, "unserved", finding.Check, finding.Text)
		}
		later := k.enqueue(t, "sync", "y", 1, work.Unique(work.UniqueOptions{Key: "one"}))[0]

		queue, err := i.Queue(k.Ctx(), "sync")
		require.NoError(t, err)
		assert.Equal(t, 10, queue.Waiting)
		counts, err := i.Counts(k.Ctx())
		require.NoError(t, err)
		assert.Equal(t, 10, counts.Queued)
		for _, newest := range []bool{false, true} {
			var listed []string
			for cursor := ""; ; {
				page, err := i.Page(k.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "sync", Limit: 3,
					Cursor: cursor, Newest: newest})
				require.NoError(t, err)
				for _, job := range page.Jobs {
					listed = append(listed, job.ID)
					assert.Equal(t, work.StateQueued, job.State)
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			assert.ElementsMatch(t, append(slices.Clone(ids), plain, later), listed)
		}
		job, err := i.Job(k.Ctx(), ids[3])
		require.NoError(t, err)
		assert.Equal(t, work.StateQueued, job.State)
		assert.Equal(t, 4, job.Ahead, "three of its key and one of another")

		assert.Equal(t, work.CancelEnded, k.Cancel(ids[0]).Effect)
		require.NoError(t, i.Delete(k.Ctx(), ids[1]))
		require.NoError(t, i.MoveToFront(k.Ctx(), ids[7]))
		require.NoError(t, i.Delete(k.Ctx(), later))
		assert.Zero(t, k.Number("HLEN", "unique"), "its lock is free")
		removed, err := i.Purge(k.Ctx(), "sync", inspect.PurgeOptions{})
		require.NoError(t, err)
		assert.Equal(t, 7, removed)
		k.clean(t, "sync")
	})
}

func TestAQueueOfKeyedJobsIsDestroyed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueue(t, "sync", "x", 600)
		_, err := k.Inspector().DestroyQueue(k.Ctx(), "sync", inspect.DestroyOptions{})
		require.NoError(t, err)
		for _, key := range []string{"turns", "keyed", "passes", "turning", "jobs"} {
			assert.Zero(t, k.Number("EXISTS", key), key)
		}
	})
}

func TestKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		long := strings.Repeat("k", 201)
		for _, opts := range [][]work.EnqueueOption{
			{work.Key("")}, {work.Key(long)}, {work.Key("a\x00b")}, {work.Key("a"), work.Weight(0)},
			{work.Key("a"), work.Weight(101)}, {work.Weight(2)},
		} {
			_, err := k.Enq.With(opts...).Enqueue(k.Ctx(), "sync")
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.Regexp(t, "Key|Weight", invalid.Error())
			assert.NotEmpty(t, invalid.Remedy)
		}
		k.enqueue(t, "sync", strings.Repeat("k", 200), 1, work.Weight(100))
		k.enqueue(t, "sync", "k", 1, work.Weight(1))
		assert.Equal(t, 2, k.Number("HLEN", "jobs"))
	})
}

// Which number a queue has is known in one place only: without it nobody comes by its jobs, but the doctor.
func TestJobsOfAQueueThatHasLostItsNumberAreFound(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueue(t, "sync", "x", 5)
		k.Do("UNLINK", "turning")
		k.enqueue(t, "other", "x", 1) // which has the number now
		found, err := k.ByHand().Repairs(k.Ctx(), time.Second)
		require.NoError(t, err)
		astray := 0
		for _, finding := range found {
			if finding.Check == "wrong-queue" {
				astray++
			}
		}
		assert.Equal(t, 5, astray, "%+v", found)
		pool := k.Tidy(work.NewWorkerPool(nil, 2, k.Options()).Job("sync", func(string) error { return nil }).
			Job("other", func(string) error { return nil }))
		k.Until("all have ended", func() bool { return k.Number("EXISTS", "jobs") == 0 })
		require.NoError(t, k.Stop(pool))
		k.clean(t, "sync", "other")
	})
}

// The handler may enqueue more for the same customer, and who observes the job knows whose it is.
func TestWhoseAJobIsIsKnownWhereItRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("sync", func(ctx context.Context, job *work.Job, key string) error {
				_, err := work.EnqueuerFromContext(ctx).With(work.Key(job.Key)).Enqueue(ctx, "page", key)
				return err
			}).
			Job("page", func(job *work.Job, key string) error {
				if job.Key != key {
					return fmt.Errorf("of %q and not %q", job.Key, key)
				}
				return nil
			}))
		id := k.enqueue(t, "sync", "x", 1)[0]
		k.Drained(pool)
		for _, seen := range pooltest.SeenBy(t, k.Spy, id) {
			assert.Equal(t, "x", seen.(interface{ Ref() event.JobRef }).Ref().Key)
		}
		done := pooltest.Await(t, k.Spy, func(e event.JobDone) bool { return e.Name == "page" })
		assert.Equal(t, "x", done.Key)
	})
}

// Jobs of schedules wait by turns as others do: at once, by hand, and when they are late by a jitter.
func TestJobsOfSchedulesWaitByTurns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.Inspector()
		require.NoError(t, i.AddSchedule(k.Ctx(), "@every 1s", "sync", work.PeriodicOptions{ID: "tick", Key: "x",
			Weight: 3},
			"x"))
		require.NoError(t, i.AddSchedule(k.Ctx(), "@yearly", "sync", work.PeriodicOptions{ID: "rare", Key: "y"}, "y"))
		receipt, err := i.RunScheduleNow(k.Ctx(), "rare")
		require.NoError(t, err)
		assert.Equal(t, 1, k.Number("ZCARD", "turns"))
		job, err := i.Job(k.Ctx(), receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, work.StateQueued, job.State)
		assert.Equal(t, "y", job.Options.Key)
		assert.Equal(t, 1, job.Options.Weight)

		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", func() error { return nil }))
		k.Until("a tick has come", func() bool { return k.Number("ZCARD", "turns") > 1 })
		require.NoError(t, i.PauseSchedule(k.Ctx(), "tick"))
		require.NoError(t, k.Stop(pool))
		assert.Zero(t, k.Number("EXISTS", "queue:sync"))
		page, err := i.Page(k.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "sync"})
		require.NoError(t, err)
		assert.Equal(t, "x", page.Jobs[0].Options.Key)
		assert.Equal(t, 3, page.Jobs[0].Options.Weight)
	})
}
