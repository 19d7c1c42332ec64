package inspect_test

import (
	"context"
	"errors"
	"fmt"
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

// inEveryState lets a name have jobs in every state but that of running, two of each; those that wait have locks, and
// each of the others that waits for its time.
func (k *kit) inEveryState(name string) {
	k.T.Helper()
	keep, unique := work.Retention(time.Hour), work.Unique(work.UniqueOptions{})
	fail := func(what string) *work.WorkerPool {
		return k.Start(work.NewWorkerPool(nil, 2, k.Options()).
			JobWithOptions(name, work.JobOptions{Retries: 5, Backoff: pooltest.Hourly,
				Limit: work.Limit{Concurrent: 9}},
				func(n int) error {
					return map[string]error{"retry": errors.New("no luck"), "bury": work.Bury(pooltest.ErrLuck),
						"discard": work.Discard(nil), "done": nil}[what]
				}))
	}
	for n, what := range []string{"retry", "bury", "discard", "done"} {
		for m := range 2 {
			_, err := k.Enq.With(keep).Enqueue(k.Ctx(), name, 10*n+m)
			require.NoError(k.T, err)
		}
		pool := fail(what)
		k.Until("they have run",
			func() bool { return k.Number("LLEN", "queue:"+name)+k.Number("HLEN", "claimed") == 0 })
		require.NoError(k.T, k.Stop(pool))
	}
	for n := range 2 {
		for what, in := range map[string]time.Duration{"queued": 0, "scheduled": time.Hour, "stalled": time.Hour,
			"cancelled": time.Hour, "deleted": time.Hour} {
			receipt, err := k.Enq.With(keep, unique).EnqueueIn(k.Ctx(), name, in, fmt.Sprint(what, n))
			require.NoError(k.T, err)
			switch what {
			case "stalled":
				require.NoError(k.T, k.hands().Stall(k.Ctx(), receipt.ID))
			case "cancelled":
				k.Cancel(receipt.ID)
			case "deleted":
				require.NoError(k.T, k.hands().Delete(k.Ctx(), receipt.ID))
			}
		}
	}
}

// everyState is how many that are.
var everyState = inspect.DestroyedCounts{Waiting: 2, Scheduled: 2, Retrying: 2, Stalled: 2, Dead: 2, Ended: 8}

func TestADestroyedQueueLeavesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.inEveryState("other")
		count := func() map[string]int {
			counts := map[string]int{}
			for key, command := range map[string]string{"jobs": "HLEN", "trail": "HLEN", "unique": "HLEN",
				"names": "HLEN", "scheduled": "ZCARD", "retry": "ZCARD", "morgue": "ZCARD", "stalled": "ZCARD",
				"outcomes": "HLEN", "outcomes:until": "ZCARD", "queues": "ZCARD", "ready": "SCARD",
				"errors": "HLEN", "limits": "HLEN"} {
				counts[key] = k.Number(command, key)
			}
			return counts
		}
		before := count()
		k.inEveryState("doomed")
		require.NoError(t, k.hands().PauseQueue(k.Ctx(), "doomed"))
		preview, err := k.hands().DestroyQueue(k.Ctx(), "doomed", inspect.DestroyOptions{DryRun: true})
		require.NoError(t, err)
		assert.Equal(t, inspect.DestroyReport{DestroyedCounts: everyState}, preview)
		assert.Equal(t, 18, preview.Sum())

		var steps []int
		report, err := k.hands().DestroyQueue(k.Ctx(), "doomed", inspect.DestroyOptions{
			Progress: func(c inspect.DestroyedCounts) { steps = append(steps, c.Sum()) }})
		require.NoError(t, err)
		want := everyState
		want.Ended += 10 // what is kept of those that were deleted
		assert.Equal(t, inspect.DestroyReport{DestroyedCounts: want, Forgotten: true}, report)
		assert.IsNonDecreasing(t, steps)
		assert.Equal(t, report.Sum(), steps[len(steps)-1])
		assert.Equal(t, before, count())
		assert.Empty(t, k.Remains(":doomed"), "keys of its own")
		points, err := k.hands().History(k.Ctx(), inspect.HistoryOptions{Names: []string{"doomed"}})
		require.NoError(t, err)
		for _, point := range points["doomed"] {
			assert.Zero(t, point.Done+point.Failed)
		}
		_, err = k.hands().Queue(k.Ctx(), "doomed")
		require.ErrorIs(t, err, inspect.ErrNoQueue)
		k.healthy("other")

		report, err = k.hands().DestroyQueue(k.Ctx(), "doomed", inspect.DestroyOptions{})
		require.NoError(t, err)
		assert.Equal(t, inspect.DestroyReport{Forgotten: true}, report, "again, and of what is not known")
	})
}

// Whoever stops in the midst of it leaves less, and whoever calls again comes to the end: after each step.
func TestADestructionGoesOnWhereItWasBroken(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.inEveryState("doomed")
		broken := 0
		for {
			ctx, cancel := context.WithCancel(k.Ctx())
			_, err := k.hands().DestroyQueue(ctx, "doomed",
				inspect.DestroyOptions{Progress: func(inspect.DestroyedCounts) { cancel() }})
			cancel()
			if err == nil {
				break
			}
			require.ErrorIs(t, err, context.Canceled)
			assert.Contains(t, err.Error(), "is paused")
			paused, _, err := k.hands().Paused(k.Ctx())
			require.NoError(t, err)
			assert.Equal(t, []string{"doomed"}, paused)
			broken++
		}
		assert.Greater(t, broken, 5)
		assert.Empty(t, k.Remains(":doomed"))
		assert.Zero(t, k.Number("EXISTS", "jobs"))
		k.healthy()
	})
}

// Jobs that run are cancelled and waited for; a worker that is there goes on serving the name, with its limit.
func TestAQueueIsDestroyedUnderItsWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		began := make(chan bool, 10)
		pool := k.Start(work.NewWorkerPool(nil, 5, k.Options()).
			JobWithOptions("doomed", work.JobOptions{Limit: work.Limit{Concurrent: 3}, Retention: time.Hour},
				func(ctx context.Context, waits bool) error {
					began <- true
					if waits {
						<-ctx.Done()
					}
					return ctx.Err()
				}))
		for range 8 {
			k.Enqueue("doomed", true)
		}
		for range 3 {
			<-began
		}
		awaited := make(chan error, 1)
		id := k.Later("doomed", time.Hour, true).ID
		go func() { awaited <- k.Enq.WaitEnd(k.Ctx(), id) }()
		k.Until("somebody waits", func() bool { return k.Number("HEXISTS", "waited", id) == 1 })
		report, err := k.hands().DestroyQueue(k.Ctx(), "doomed", inspect.DestroyOptions{})
		require.NoError(t, err)
		assert.Equal(t, inspect.DestroyReport{DestroyedCounts: inspect.DestroyedCounts{Running: 3, Waiting: 5,
			Scheduled: 1, Ended: 3}, Forgotten: true}, report)
		var ended *work.NoResultError
		require.ErrorAs(t, pooltest.Receive(t, awaited), &ended)
		assert.Equal(t, "deleted", ended.State)
		assert.Empty(t, began, "nothing began any more")

		limits, err := k.hands().Limits(k.Ctx())
		require.NoError(t, err)
		require.Len(t, limits, 1)
		assert.Equal(t, 3, limits[0].Limit.Concurrent)
		assert.False(t, limits[0].Paused)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](k.Enqueue("doomed", false).ID))
		require.NoError(t, k.Stop(pool))
		k.healthy()
	})
}

// What is enqueued when all else has gone is in a queue of its own, that is not paused.
func TestWhatIsEnqueuedDuringADestructionIsNotStuck(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.inEveryState("doomed")
		id := ""
		report, err := k.hands().DestroyQueue(k.Ctx(), "doomed", inspect.DestroyOptions{
			Progress: func(c inspect.DestroyedCounts) {
				if c.Ended > 0 && id == "" {
					id = k.Enqueue("doomed").ID
				}
			}})
		require.NoError(t, err)
		assert.False(t, report.Forgotten)
		queue, err := k.hands().Queue(k.Ctx(), "doomed")
		require.NoError(t, err)
		assert.Equal(t, 1, queue.Waiting)
		assert.False(t, queue.Paused)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("doomed", func() error { return nil }))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
	})
}

// Shelves are gone through page by page, however few of their jobs are of the queue.
func TestALargeQueueIsDestroyed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var entries []work.Entry
		for n := range 2200 {
			entries = append(entries, work.Entry{Name: []string{"doomed", "other"}[n%2],
				In: time.Duration(n%4/2) * time.Hour})
		}
		_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		report, err := k.hands().DestroyQueue(k.LongCtx(), "doomed", inspect.DestroyOptions{})
		require.NoError(t, err)
		assert.Equal(t, inspect.DestroyedCounts{Waiting: 550, Scheduled: 550}, report.DestroyedCounts)
		assert.Equal(t, 550, k.Number("ZCARD", "scheduled"))
		assert.Equal(t, 1100, k.Number("HLEN", "jobs"))
	})
}
