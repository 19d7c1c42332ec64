package work

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// watchContext is the context of the jobs in these tests.
type watchContext struct {
	watches chan [2]int64
	traced  []string
}

func (c *watchContext) Trace(ctx context.Context, job *Job, next NextFunc) error {
	c.traced = append(c.traced, job.ID)
	return next(ctx)
}

func (c *watchContext) CreateWatch(ctx context.Context, job *Job, userID, suggestionID int64) error {
	if len(c.traced) != 1 || c.traced[0] != job.ID || JobFromContext(ctx) != job {
		return errors.New("the context is not the job's own")
	}
	c.watches <- [2]int64{userID, suggestionID}
	return nil
}

func TestAJobRunsWithItsArgsThroughMiddleware(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		watches := make(chan [2]int64, 2)
		pool := k.start(NewWorkerPool(watchContext{watches: watches}, 5, k.options()).
			Middleware((*watchContext).Trace).
			Job("create_watch", (*watchContext).CreateWatch))
		k.enqueue("create_watch", int64(9007199254740993), int64(7))
		assert.Equal(t, [2]int64{9007199254740993, 7}, receive(t, watches))
		_, err := pool.Enqueuer().Enqueue(k.ctx(), "create_watch", 1, 2)
		require.NoError(t, err)
		assert.Equal(t, [2]int64{1, 2}, receive(t, watches))
		require.NoError(t, pool.Drain(k.ctx()))
		k.empty("create_watch")
	})
}

func TestManyJobsOfManyNamesRunOnceEach(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var mu sync.Mutex
		ran := map[string]int{}
		pool := NewWorkerPool(nil, 20, k.options())
		names := []string{"a", "b", "c", "d", "e", "f", "g"}
		for _, name := range names {
			pool.Job(name, func(job *Job) error {
				mu.Lock()
				defer mu.Unlock()
				ran[job.ID]++
				return nil
			})
		}
		var entries []Entry
		for i := range 3000 {
			entries = append(entries, Entry{Name: names[i%len(names)]})
		}
		receipts, err := k.enq.EnqueueMany(k.ctx(), entries)
		require.NoError(t, err)
		k.start(pool)
		require.NoError(t, pool.Drain(k.ctx()))
		require.Len(t, ran, 3000)
		for _, receipt := range receipts {
			require.Equal(t, 1, ran[receipt.ID])
		}
		k.empty(names...)
	})
}

func TestAFailedJobIsRetriedAndThenBuriedWithItsErrors(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.start(NewWorkerPool(nil, 2, k.options()).JobWithOptions("fails", JobOptions{
			Retries: 2, Backoff: func(*Job, error) time.Duration { return time.Millisecond },
		}, func(job *Job) error { return errors.New("no luck") }))
		receipt := k.enqueue("fails")
		buried := await[event.JobBuried](t, k.spy, nil)
		assert.Equal(t, receipt.ID, buried.ID)
		assert.Equal(t, 3, buried.Attempt)
		assert.Equal(t, 2, count[event.JobFailed](k.spy))
	})
}

func TestAScheduledJobRunsWhenItIsDue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		started := make(chan time.Time, 1)
		k.start(NewWorkerPool(nil, 1, k.options()).
			Job("later", func(job *Job) error { started <- time.Now(); return nil }))
		before := time.Now()
		_, err := k.enq.EnqueueIn(k.ctx(), "later", 300*time.Millisecond)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, receive(t, started).Sub(before), 290*time.Millisecond)
	})
}
