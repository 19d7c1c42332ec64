package enqueuing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// A job knows which jobs its attempts have enqueued, the last 20 of them, whichever way those ended.
func TestAJobKnowsWhatItHasEnqueued(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := pooltest.NewKit(t, s)
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.DSN(), Namespace: k.Namespace,
			EnqueueNames: []string{"child"}}).
			JobWithOptions("parent", work.JobOptions{Backoff: func(*work.Job, error) time.Duration { return 0 }},
				func(ctx context.Context, job *work.Job) error {
					enq := work.EnqueuerFromContext(ctx)
					id := fmt.Sprint("of-attempt-", job.Attempt)
					if _, err := enq.With(work.ID(id)).EnqueueIn(ctx, "child", time.Hour); err != nil {
						return err
					}
					again, err := enq.With(work.ID(id)).EnqueueIn(ctx, "child", time.Hour)
					if err != nil || !again.Duplicate {
						return errors.Join(err, errors.New("it is there already"))
					}
					if job.Attempt == 1 {
						return errors.New("tried again")
					}
					entries := make([]work.Entry, 25)
					for n := range entries {
						entries[n] = work.Entry{Name: "child", In: time.Hour,
							Options: []work.EnqueueOption{work.ID(fmt.Sprint("many-", n))}}
					}
					_, err = enq.EnqueueMany(ctx, entries)
					return err
				})
		enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(k.Namespace))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, enq.Close()) })
		_, err = enq.With(work.ID("p"), work.Retention(time.Hour)).Enqueue(t.Context(), "parent")
		require.NoError(t, err)
		require.NoError(t, pool.Start(t.Context()))
		var job *inspect.JobInfo
		require.Eventually(t, func() bool {
			job, err = inspect.Of(pool).Job(t.Context(), "p")
			return err == nil && job.State == work.StateSucceeded
		}, time.Minute, 10*time.Millisecond)
		require.Len(t, job.Children, 20)
		assert.Equal(t, []string{"many-5", "many-24"}, []string{job.Children[0], job.Children[19]})
		assert.Equal(t, 7, job.ChildrenLeftOut, "one of each attempt, what was there already once, and 25")
		child, err := inspect.Of(pool).Job(t.Context(), "of-attempt-1")
		require.NoError(t, err)
		assert.Equal(t, "p", child.Parent)
		assert.Empty(t, child.Children)
		require.NoError(t, pool.Stop(t.Context()))
	})
}
