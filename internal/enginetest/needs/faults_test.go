package needs_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// gpuQueue is the queue of jobs of the name render that need a gpu.
var gpuQueue = needs.Queue("render", []string{"gpu"})

// The jobs of a worker that dies go back to where they waited, in their order, and run where their labels are.
func TestJobsOfADeadWorkerStillNeedTheirLabels(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		plain, begun := newRecorder(), make(chan int, 10)
		k.Start(work.NewWorkerPool(nil, 4, k.Options()).Job("render", plain.handle)) // it reaps
		dies := work.NewWorkerPool(nil, 3, k.labelled("gpu")).
			Job("render", func(ctx context.Context, n int) error { begun <- n; <-ctx.Done(); return nil })
		k.TamperWith(dies, &pooltest.Tampered{})
		k.Start(dies)
		for n := range 5 {
			k.needing("render", n, "gpu")
		}
		for range 3 {
			pooltest.Receive(t, begun)
		}
		k.Crash(dies)
		k.Until("its jobs are back", func() bool { return k.Number("LLEN", "queue:"+gpuQueue) == 5 })
		gpu := newRecorder()
		k.Start(work.NewWorkerPool(nil, 1, k.labelled("gpu")).Job("render", gpu.handle))
		assert.Equal(t, []int{0, 1, 2, 3, 4}, gpu.ran(t, 5))
		plain.idle(t)
	})
}

// A stop gives back what has not ended, to the queue from which it came.
func TestAStopGivesBackWhatNeedsLabels(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun := make(chan int, 10)
		o := k.labelled("gpu")
		o.ShutdownTimeout = -1
		first := work.NewWorkerPool(nil, 1, o).
			Job("render", func(ctx context.Context, n int) error { begun <- n; <-ctx.Done(); return ctx.Err() })
		require.NoError(t, first.Start(k.Ctx()))
		for n := range 3 {
			k.needing("render", n, "gpu")
		}
		pooltest.Receive(t, begun)
		var stopped *work.StopError
		require.ErrorAs(t, k.Stop(first), &stopped)
		assert.Equal(t, 3, k.Number("LLEN", "queue:"+gpuQueue))
		gpu := newRecorder()
		k.Start(work.NewWorkerPool(nil, 1, k.labelled("gpu")).Job("render", gpu.handle))
		assert.Equal(t, []int{0, 1, 2}, gpu.ran(t, 3))
	})
}

// A job that runs is stored again after a loss of data, in its place under the limit of its name.
func TestWhatIsRestoredStillNeedsItsLabels(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g, o := pooltest.NewGauge(), k.Options()
		o.Labels, o.RestoreRunning = []string{"gpu"}, true
		p := k.Start(work.NewWorkerPool(nil, 2, o).JobWithOptions("render",
			work.JobOptions{Limit: work.Limit{Concurrent: 1}}, func(int) error { return g.Handle() }))
		t.Cleanup(g.Release)
		receipt := k.needing("render", 1, "gpu")
		g.Began(t, 1)
		k.Unlink("jobs", "trail", "queues", "claimed", "workers", "epoch", "crashes", "lease", "lanes", "names",
			"limits", "running:render", "worker:"+pooltest.WorkerID(p)+":info",
			"worker:"+pooltest.WorkerID(p)+":inprocess:"+gpuQueue)
		assert.Equal(t, 1, pooltest.Await[event.DataLost](t, k.Spy, nil).Restored)
		k.Until("its limit counts it again", func() bool { return k.Number("SCARD", "running:render") == 1 })
		job, err := k.Inspector().Job(k.Ctx(), receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, work.StateRunning, job.State)
		assert.Equal(t, "render", job.Name)
		k.needing("render", 2, "gpu")
		g.Pass(t, 1)
		g.Began(t, 1)
		g.Pass(t, 1)
		k.Drained(p)
		assert.EqualValues(t, 1, g.Most.Load())
	})
}

// A program that knows of no labels may have put a job where all workers look. One without its labels neither runs nor
// buries it: it has it wait where it belongs.
func TestAJobInTheWrongQueueIsHandedOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		plain, gpu := newRecorder(), newRecorder()
		receipt := k.needing("render", 1, "gpu")
		k.Do("DEL", "queue:"+gpuQueue)
		k.Do("LPUSH", "queue:render", receipt.ID)
		k.Do("SADD", "ready", "render")
		k.Do("LPUSH", "wake:render", "1")
		p := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("render", plain.handle))
		k.Until("it waits where it belongs", func() bool { return k.Number("LLEN", "queue:"+gpuQueue) == 1 })
		k.Drained(p)
		k.Start(work.NewWorkerPool(nil, 1, k.labelled("gpu")).Job("render", gpu.handle))
		gpu.ran(t, 1)
		plain.idle(t)
	})
}

// A message that told of a queue was lost: the pool looks when it listens again.
func TestAPoolLooksForWhatItHasNotHeardOf(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Store(gpuQueue, "j", `{"jid":"j","name":"render","args":[7],"t":1,"needs":["gpu"]}`)
		gpu := newRecorder()
		k.Start(work.NewWorkerPool(nil, 1, k.labelled("gpu")).Job("render", gpu.handle))
		assert.Equal(t, []int{7}, gpu.ran(t, 1))
	})
}

// In a namespace of several partitions such jobs may be in any, and those of a name that is limited in one.
func TestJobsThatNeedLabelsInPartitions(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const parts = 3
		m := &partition.Map{Version: 1, States: make([]partition.State, parts), Buckets: make([]int, partition.Buckets)}
		for i := range m.States {
			m.States[i] = partition.Open
		}
		for bucket := range m.Buckets {
			m.Buckets[bucket] = bucket % parts
		}
		stores := make([]*rdb.Store, parts)
		for i := range stores {
			stores[i] = rdb.NewStore(k.Raw().Driver(), partition.Namespace(k.Namespace, i))
			_, err := stores[i].WriteMap(k.Ctx(), m.Version, m.Encode(), -1)
			require.NoError(t, err)
		}
		require.NoError(t, inside.Enqueuer(k.Enq).Partitions.Refresh(k.Ctx()))
		g, gpu := pooltest.NewGauge(), newRecorder()
		for n := range 12 {
			k.needing("render", n, "gpu")
		}
		for n := range 12 {
			k.needing("scarce", n, "gpu")
			k.Enqueue("scarce", n)
		}
		for i, store := range stores {
			waiting, err := store.Length(k.Ctx(), gpuQueue, "")
			require.NoError(t, err)
			assert.Equal(t, 4, waiting, "in partition %d", i)
		}
		queue, err := k.Inspector().Queue(k.Ctx(), "scarce")
		require.NoError(t, err)
		assert.Equal(t, 24, queue.Waiting)
		require.Len(t, queue.Needs, 1)
		assert.Equal(t, 12, queue.Needs[0].Waiting)
		var found []string
		for cursor, first := "", true; first || cursor != ""; first = false {
			page, err := k.Inspector().Page(k.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "scarce",
				Limit:  5,
				Cursor: cursor})
			require.NoError(t, err)
			found, cursor = append(found, ids(page.Jobs)...), page.Next
		}
		assert.Len(t, found, 24)

		p := k.Start(work.NewWorkerPool(nil, 8, k.labelled("gpu")).Job("render", gpu.handle).
			JobWithOptions("scarce", work.JobOptions{Limit: work.Limit{Concurrent: 2}},
				func(int) error { return g.Handle() }))
		gpu.ran(t, 12)
		g.Began(t, 2)
		at := 0
		for _, store := range stores { // the limit has brought all of them to one
			parts, err := store.QueuesOf(k.Ctx(), []string{"scarce"})
			require.NoError(t, err)
			waiting := 0
			for _, queue := range parts {
				n, err := store.Length(k.Ctx(), queue, "")
				require.NoError(t, err)
				waiting += n
			}
			if waiting > 0 {
				at++
			}
		}
		assert.Equal(t, 1, at)
		g.Release()
		require.NoError(t, p.Drain(k.LongCtx()))
		assert.EqualValues(t, 2, g.Most.Load())
		assert.EqualValues(t, 24, g.Done.Load())
	})
}

// What is due later needs its labels then, and the pool hears of it in time.
func TestWhatIsDueLaterNeedsItsLabels(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		gpu := newRecorder()
		k.Start(work.NewWorkerPool(nil, 1, k.labelled("gpu")).Job("render", gpu.handle))
		_, err := k.Enq.With(work.Needs("gpu")).EnqueueIn(k.Ctx(), "render", 100*time.Millisecond, 1)
		require.NoError(t, err)
		begun := time.Now()
		gpu.ran(t, 1)
		assert.Less(t, time.Since(begun), 5*time.Second)
	})
}
