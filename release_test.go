package work

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
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
			k.enqueueAs(fmt.Sprint(before), "a")
			k.do("HSET", "trail", fmt.Sprint(before), fmt.Sprintf(`{"fails":2,"releases":%d}`, before))
		}
		var begun sync.WaitGroup
		begun.Add(len(waits))
		goes := make(chan struct{})
		pool := k.start(NewWorkerPool(nil, len(waits), k.options()).Job("a", func(job *Job) error {
			assert.Equal(t, 3, job.Attempt)
			begun.Done()
			<-goes
			return Release(errLuck)
		}))
		begun.Wait()
		// those that wait for a second only must not begin again
		require.NoError(t, k.inspector().PauseQueue(k.ctx(), "a"))
		close(goes)
		require.Eventually(t, func() bool { return k.number("HLEN", "claimed") == 0 }, patience, time.Millisecond)
		ended := time.Now()
		require.NoError(t, k.stop(pool))
		for before, wait := range waits {
			t.Run(fmt.Sprintf("after %d", before), func(t *testing.T) {
				id := fmt.Sprint(before)
				kept := k.trail(id)
				assert.WithinRange(t, time.UnixMilli(kept.RunAt), began.Add(wait-2*time.Millisecond),
					ended.Add(wait+2*time.Millisecond))
				if wait > 4*time.Second { // others may be due by now
					assert.WithinDuration(t, k.due("scheduled", id), time.UnixMilli(kept.RunAt), patience)
				}
				assert.Equal(t, min(max(before, 0), maxCount)+1, kept.Releases)
				assert.Equal(t, 2, kept.Fails, "it is no failure")
			})
		}
	})
}

func TestAnythingElseEndsTheRowOfReleases(t *testing.T) {
	t.Parallel()
	outcomes := map[string]error{
		"failure": errLuck, "RetryIn": RetryIn(time.Hour, errLuck), "Snooze": Snooze(time.Hour), "Bury": Bury(nil),
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options())
		for name, outcome := range outcomes {
			pool.JobWithOptions(name, JobOptions{Backoff: hourly}, func() error { return outcome })
			k.enqueueAs(name, name)
			k.do("HSET", "trail", name, `{"releases":4}`)
		}
		pool.Job("success", func() error { return nil })
		k.enqueueAs("success", "success")
		k.do("HSET", "trail", "success", `{"releases":4}`)
		k.start(pool)
		k.drained(pool)
		for name := range outcomes {
			t.Run(name, func(t *testing.T) { assert.Zero(t, k.trail(name).Releases) })
		}
		assert.Empty(t, k.text("HGET", "trail", "success"))
	})
}

func (k *kit) enqueueAs(id, name string, args ...any) {
	k.t.Helper()
	_, err := k.enq.With(ID(id)).Enqueue(k.ctx(), name, args...)
	require.NoError(k.t, err)
}

func TestAReleaseDuringAStopGoesToTheFront(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun := make(chan struct{})
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", func(job *Job) error {
			close(begun)
			for !job.Checkin("not yet") {
			}
			return wrapped(Release(errLuck))
		})
		require.NoError(t, pool.Start(k.ctx()))
		k.enqueueAs("first", "a")
		receive(t, begun)
		k.enqueueAs("second", "a")
		k.enqueueAs("third", "a")
		require.NoError(t, k.stop(pool), "it was the handler's own wish")
		waiting, err := redis.Strings(k.do("LRANGE", "queue:a", 0, -1), nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"third", "second", "first"}, waiting, "the next one to run is the last")
		released := await(t, k.spy, ofJob[event.JobReleased]("first"))
		require.ErrorIs(t, released.Err, errLuck)
		assert.Zero(t, k.number("HLEN", "trail"), "no attempt was used")
		assert.Zero(t, count[event.JobSnoozed](k.spy))
	})
}

func TestAHandlerCutShortByAStopIsGivenBackUnlessItSaysOtherwise(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.ShutdownTimeout = -1
		begun := make(chan struct{}, 5)
		handler := func(answer func(error) error) func(job *Job) error {
			return func(job *Job) error {
				begun <- struct{}{}
				<-job.run.ctx.Done()
				return answer(job.run.ctx.Err())
			}
		}
		pool := NewWorkerPool(nil, 5, options).
			Job("gives up", handler(wrapped)).
			Job("has an error of its own", handler(func(error) error { return errLuck })).
			Job("asks to be buried", handler(Bury)).
			Job("cannot be asked", handler(func(error) error { return &hostile{is: boom[bool]} })).
			Job("panics", handler(func(err error) error { panic(errLuck) }))
		require.NoError(t, pool.Start(k.ctx()))
		for _, name := range []string{"gives up", "has an error of its own", "asks to be buried", "cannot be asked",
			"panics"} {
			k.enqueueAs(name, name)
			receive(t, begun)
		}
		var stopped *StopError
		require.ErrorAs(t, k.stop(pool), &stopped)
		require.Len(t, stopped.Released, 1)
		assert.Equal(t, "gives up", stopped.Released[0].ID)
		assert.Empty(t, stopped.Stuck)
		assert.Equal(t, 1, k.number("LLEN", "queue:gives up"))
		k.due("retry", "has an error of its own")
		k.due("retry", "panics")
		k.due("retry", "cannot be asked")
		k.due("morgue", "asks to be buried")
	})
}
