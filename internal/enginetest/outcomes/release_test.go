package outcomes_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redistest"
)

func TestReleasesInARowWaitLonger(t *testing.T) {
	t.Parallel()
	waits := map[int]time.Duration{
		0: time.Second, 1: 2 * time.Second, 2: 4 * time.Second, 3: 8 * time.Second, 4: 16 * time.Second,
		5: 32 * time.Second,
		6: time.Minute, 7: time.Minute, 1000: time.Minute, 1<<63 - 1: time.Minute, -5: time.Second,
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		began := time.Now()
		for before := range waits {
			k.EnqueueAs(fmt.Sprint(before), "a")
			k.Do("HSET", "trail", fmt.Sprint(before), fmt.Sprintf(`{"fails":2,"releases":%d}`, before))
		}
		var begun sync.WaitGroup
		begun.Add(len(waits))
		goes := make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, len(waits), k.Options()).Job("a", func(job *work.Job) error {
			assert.Equal(t, 3, job.Attempt)
			begun.Done()
			<-goes
			return work.Release(pooltest.ErrLuck)
		}))
		begun.Wait()
		// those that wait for a second only must not begin again
		require.NoError(t, k.ByHand().PauseQueue(k.Ctx(), "a"))
		close(goes)
		require.Eventually(t, func() bool { return k.Number("HLEN", "claimed") == 0 }, pooltest.Patience,
			time.Millisecond)
		ended := time.Now()
		require.NoError(t, k.Stop(pool))
		for before, wait := range waits {
			t.Run(fmt.Sprintf("after %d", before), func(t *testing.T) {
				id := fmt.Sprint(before)
				kept := k.Trail(id)
				assert.WithinRange(t, time.UnixMilli(kept.RunAt), began.Add(wait-2*time.Millisecond),
					ended.Add(wait+2*time.Millisecond))
				if wait > 4*time.Second { // others may be due by now
					assert.WithinDuration(t, k.Due("scheduled", id), time.UnixMilli(kept.RunAt), pooltest.Patience)
				}
				assert.Equal(t, min(max(before, 0), record.MaxCount)+1, kept.Releases)
				assert.Equal(t, 2, kept.Fails, "it is no failure")
			})
		}
	})
}

func TestAnythingElseEndsTheRowOfReleases(t *testing.T) {
	t.Parallel()
	outcomes := map[string]error{
		"failure": pooltest.ErrLuck, "RetryIn": work.RetryIn(time.Hour,
			pooltest.ErrLuck), "Snooze": work.Snooze(time.Hour),
		"Bury": work.Bury(nil),
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options())
		for name, outcome := range outcomes {
			pool.JobWithOptions(name, work.JobOptions{Backoff: pooltest.Hourly}, func() error { return outcome })
			k.EnqueueAs(name, name)
			k.Do("HSET", "trail", name, `{"releases":4}`)
		}
		pool.Job("success", func() error { return nil })
		k.EnqueueAs("success", "success")
		k.Do("HSET", "trail", "success", `{"releases":4}`)
		k.Start(pool)
		k.Drained(pool)
		for name := range outcomes {
			t.Run(name, func(t *testing.T) { assert.Zero(t, k.Trail(name).Releases) })
		}
		assert.Empty(t, k.Text("HGET", "trail", "success"))
	})
}

func TestAReleaseDuringAStopGoesToTheFront(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun := make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", func(job *work.Job) error {
			close(begun)
			for !job.Checkin("not yet") {
			}
			return pooltest.Wrapped(work.Release(pooltest.ErrLuck))
		})
		require.NoError(t, pool.Start(k.Ctx()))
		k.EnqueueAs("first", "a")
		pooltest.Receive(t, begun)
		k.EnqueueAs("second", "a")
		k.EnqueueAs("third", "a")
		require.NoError(t, k.Stop(pool), "it was the handler's own wish")
		waiting, err := redis.Strings(k.Do("LRANGE", "queue:a", 0, -1), nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"third", "second", "first"}, waiting, "the next one to run is the last")
		released := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobReleased]("first"))
		require.ErrorIs(t, released.Err, pooltest.ErrLuck)
		assert.Zero(t, k.Number("HLEN", "trail"), "no attempt was used")
		assert.Zero(t, pooltest.Count[event.JobSnoozed](k.Spy))
	})
}

func TestAHandlerCutShortByAStopIsGivenBackUnlessItSaysOtherwise(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.ShutdownTimeout = -1
		begun := make(chan struct{}, 5)
		handler := func(answer func(error) error) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				begun <- struct{}{}
				<-ctx.Done()
				return answer(ctx.Err())
			}
		}
		pool := work.NewWorkerPool(nil, 5, options).
			Job("gives up", handler(pooltest.Wrapped)).
			Job("has an error of its own", handler(func(error) error { return pooltest.ErrLuck })).
			Job("asks to be buried", handler(work.Bury)).
			Job("cannot be asked", handler(func(error) error { return &hostile{is: boom[bool]} })).
			Job("panics", handler(func(err error) error { panic(pooltest.ErrLuck) }))
		require.NoError(t, pool.Start(k.Ctx()))
		for _, name := range []string{"gives up", "has an error of its own", "asks to be buried", "cannot be asked",
			"panics"} {
			k.EnqueueAs(name, name)
			pooltest.Receive(t, begun)
		}
		var stopped *work.StopError
		require.ErrorAs(t, k.Stop(pool), &stopped)
		require.Len(t, stopped.Released, 1)
		assert.Equal(t, "gives up", stopped.Released[0].ID)
		assert.Empty(t, stopped.Stuck)
		assert.Equal(t, 1, k.Number("LLEN", "queue:gives up"))
		k.Due("retry", "has an error of its own")
		k.Due("retry", "panics")
		k.Due("retry", "cannot be asked")
		k.Due("morgue", "asks to be buried")
	})
}
