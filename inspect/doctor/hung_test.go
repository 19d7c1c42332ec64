package doctor

import (
	"context"
	"fmt"
	"slices"
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

// TestAWorkerOfWhichEveryProcessorHangs: the doctor, a job that waits and its queue say so, until a handler returns.
// Another worker that serves the queue takes its jobs.
func TestAWorkerOfWhichEveryProcessorHangs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		over, release := make(chan string, 10), make(chan struct{})
		options := k.Options()
		options.Prefetch = work.NoPrefetch
		deaf := func(ctx context.Context, job *work.Job) error {
			<-ctx.Done()
			over <- job.ID
			<-release
			return nil
		}
		pool := k.Start(work.NewWorkerPool(nil, 2, options).
			JobWithOptions("deaf", work.JobOptions{Timeout: time.Nanosecond}, deaf))
		id, i := pooltest.WorkerID(pool), k.inspector()
		hung := func() int {
			w, err := i.Worker(k.Ctx(), id)
			require.NoError(t, err)
			assert.Equal(t, w.Hung == 2, w.Hangs())
			return w.Hung
		}
		queue := func() (workers, hung int) {
			q, err := i.Queue(k.Ctx(), "deaf")
			require.NoError(t, err)
			return q.Workers, q.Hung
		}
		why := func(id string) []inspect.WaitKind {
			job, err := i.Job(k.Ctx(), id)
			require.NoError(t, err)
			kinds := []inspect.WaitKind{}
			for _, reason := range job.Why {
				kinds = append(kinds, reason.Kind)
			}
			return kinds
		}
		findings := func() (found []Finding) {
			diagnosis, err := Examine(k.Ctx(), i, Options{Patience: 20 * time.Millisecond})
			require.NoError(t, err)
			return slices.DeleteFunc(diagnosis.Findings, func(f Finding) bool { return f.Check != CheckHungWorker })
		}

		first := k.Enqueue("deaf").ID
		pooltest.Receive(t, over)
		k.Until("one of two is told", func() bool { return hung() == 1 })
		_, hanging := queue()
		assert.Zero(t, hanging, "the other processor is free")
		assert.Empty(t, findings())

		second := k.Enqueue("deaf").ID
		pooltest.Receive(t, over)
		waiting := k.Enqueue("deaf").ID
		k.Until("both are told", func() bool { return hung() == 2 })
		found := findings()
		require.Len(t, found, 1)
		assert.Equal(t, SeverityError, found[0].Severity)
		assert.Equal(t, id, found[0].ID)
		assert.Contains(t, found[0].Detail, fmt.Sprintf(": handlers do not return although their time is up; "+
			"it holds, the oldest first, %q (deaf), %q (deaf)", first, second))
		assert.Contains(t, found[0].Detail, "2 processors, which is all that it has, for ")
		assert.Contains(t, found[0].Remedy, "restart the process of this worker")
		workers, hanging := queue()
		assert.Equal(t, []int{1, 1}, []int{workers, hanging})
		assert.Equal(t, []inspect.WaitKind{inspect.WaitHung}, why(waiting))

		spy := pooltest.NewSpy()
		k.Start(work.NewWorkerPool(nil, 1, k.Another(spy)).Job("deaf", pooltest.Nothing))
		pooltest.Await(t, spy, pooltest.OfJob[event.JobDone](waiting))
		workers, hanging = queue()
		assert.Equal(t, []int{2, 1}, []int{workers, hanging})
		close(release)
		k.Until("none hangs", func() bool { return hung() == 0 })
		assert.Empty(t, findings())
		k.Drained(pool)
	})
}
