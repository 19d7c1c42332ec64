package needs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// A limit is that of the name: over all workers, and over all jobs, whatever they need. It is reached from both sides.
func TestALimitHoldsOverAllJobsOfAName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		limited := work.JobOptions{Limit: work.Limit{Concurrent: 3}}
		var entries []work.Entry
		for n := range 90 {
			entry := work.Entry{Name: "scarce", Args: []any{n}}
			if labels := [][]string{nil, {"gpu"}, {"gpu", "v2"}}[n%3]; labels != nil {
				entry.Options = []work.EnqueueOption{work.Needs(labels...)}
			}
			entries = append(entries, entry)
		}
		_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		var pools []*work.WorkerPool
		for _, labels := range [][]string{nil, {"gpu"}, {"gpu", "v2"}} {
			pools = append(pools, k.Start(work.NewWorkerPool(nil, 8, k.labelled(labels...)).
				JobWithOptions("scarce", limited, func(int) error { return g.Handle() })))
		}
		g.Began(t, 3)
		for range 20 {
			g.Pass(t, 1)
			g.Began(t, 1)
		}
		assert.EqualValues(t, 3, g.Running.Load())
		assert.Equal(t, 3, k.Number("SCARD", "running:scarce"))
		g.Release()
		for _, p := range pools {
			require.NoError(t, p.Drain(k.Ctx()))
		}
		assert.EqualValues(t, 3, g.Most.Load())
		assert.EqualValues(t, 90, g.Done.Load())
		assert.Zero(t, k.Number("SCARD", "running:scarce"))
	})
}

// One fetch that takes jobs of several queues of a name takes no more than the limit leaves for all of them.
func TestOneFetchHeedsTheLimitOfAName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		for n := range 20 {
			k.Enqueue("scarce", n)
			k.needing("scarce", n, "gpu")
			k.needing("scarce", n, "v2")
		}
		p := k.Start(work.NewWorkerPool(nil, 16, k.labelled("gpu", "v2")).
			JobWithOptions("scarce", work.JobOptions{Limit: work.Limit{Concurrent: 5}},
				func(int) error { return g.Handle() }))
		g.Began(t, 5)
		g.Release()
		require.NoError(t, p.Drain(k.Ctx()))
		assert.EqualValues(t, 5, g.Most.Load())
		assert.EqualValues(t, 60, g.Done.Load())
	})
}

// The place of a job goes to one that needs other labels, on another worker, at once.
func TestAnEndCallsTheOtherQueuesOfItsName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		cpu, gpu := pooltest.NewGauge(), pooltest.NewGauge()
		limited := work.JobOptions{Limit: work.Limit{Concurrent: 1}}
		k.Start(work.NewWorkerPool(nil, 2, k.labelled("cpu")).
			JobWithOptions("scarce", limited, func(int) error { return cpu.Handle() }))
		k.needing("scarce", 1, "cpu")
		cpu.Began(t, 1)
		k.Start(work.NewWorkerPool(nil, 2, k.labelled("gpu")).
			JobWithOptions("scarce", limited, func(int) error { return gpu.Handle() }))
		for range 5 {
			k.needing("scarce", 2, "gpu")
			begun := time.Now()
			cpu.Pass(t, 1)
			gpu.Began(t, 1)
			t.Logf("after %s", time.Since(begun))
			k.needing("scarce", 1, "cpu")
			gpu.Pass(t, 1)
			cpu.Began(t, 1)
		}
		cpu.Release()
		gpu.Release()
	})
}

func TestAPauseHoldsForAllJobsOfAName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, ran := k.Inspector(), newRecorder()
		require.NoError(t, i.PauseQueue(k.Ctx(), "render"))
		k.needing("render", 1, "gpu")
		k.Enqueue("other", 2)
		k.Start(work.NewWorkerPool(nil, 4, k.labelled("gpu")).Job("render", ran.handle).Job("other", ran.handle))
		assert.Equal(t, []int{2}, ran.ran(t, 1))
		k.Enqueue("other", 3)
		assert.Equal(t, []int{3}, ran.ran(t, 1))
		require.NoError(t, i.ResumeQueue(k.Ctx(), "render"))
		assert.Equal(t, []int{1}, ran.ran(t, 1))

		require.NoError(t, i.PauseAll(k.Ctx()))
		k.needing("render", 4, "gpu")
		require.NoError(t, i.ResumeAll(k.Ctx()))
		assert.Equal(t, []int{4}, ran.ran(t, 1))
	})
}

func TestARateHoldsForAllJobsOfAName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newRecorder()
		for n := range 5 {
			k.Enqueue("render", n)
			k.needing("render", n, "gpu")
		}
		begun := time.Now()
		k.Start(work.NewWorkerPool(nil, 10, k.labelled("gpu")).
			JobWithOptions("render", work.JobOptions{Limit: work.Limit{Rate: 20, Per: time.Second, Burst: 1}},
				ran.handle))
		ran.ran(t, 10)
		assert.Greater(t, time.Since(begun), 440*time.Millisecond, "nine of them wait for 50 ms each")
	})
}

func TestMaxRunningHoldsForAllJobsOfAName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		for n := range 10 {
			k.Enqueue("render", n)
			k.needing("render", n, "gpu")
		}
		p := k.Start(work.NewWorkerPool(nil, 10, k.labelled("gpu")).
			JobWithOptions("render", work.JobOptions{MaxRunning: 2}, func(int) error { return g.Handle() }))
		g.Began(t, 2)
		g.Release()
		require.NoError(t, p.Drain(k.Ctx()))
		assert.EqualValues(t, 2, g.Most.Load())
		assert.EqualValues(t, 20, g.Done.Load())
	})
}

// What another job of a kind needs makes it no other kind.
func TestAUniqueJobIsOneWhateverItNeeds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		unique := work.Unique(work.UniqueOptions{Key: "k"})
		first, err := k.Enq.With(unique, work.Needs("gpu")).Enqueue(k.Ctx(), "render", 1)
		require.NoError(t, err)
		second, err := k.Enq.With(unique).Enqueue(k.Ctx(), "render", 1)
		require.NoError(t, err)
		assert.Equal(t, work.Receipt{ID: first.ID, Name: "render", Duplicate: true}, second)
	})
}

func TestAWithdrawnNameIsWithdrawnWhateverItsJobsNeed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newRecorder()
		p := k.Start(work.NewWorkerPool(nil, 4, k.labelled("gpu")).Job("render", ran.handle))
		k.needing("render", 1, "gpu")
		ran.ran(t, 1)
		require.NoError(t, p.Withdraw(k.Ctx(), "render"))
		assert.Empty(t, k.Strings("SMEMBERS", "worker:"+k.ID(p)+":queues"))
		k.needing("render", 2, "gpu")
		k.Enqueue("render", 3)
		require.NoError(t, p.Serve(k.Ctx(), "render"))
		assert.ElementsMatch(t, []int{2, 3}, ran.ran(t, 2))
	})
}

// As many names and labels as there may be cost an idle worker no more requests than none.
func TestLabelsCostAnIdleWorkerNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 5, k.labelled("a", "b", "c", "d", "e", "f", "g", "h"))
		served := []string{}
		for i := range 20 {
			name := fmt.Sprint("n", i)
			pool.Job(name, func(int) error { return nil })
			k.needing(name, i, "a", "b")
			k.needing(name, i, "c")
			served = append(served, name, needs.Queue(name, []string{"a", "b"}), needs.Queue(name, []string{"c"}))
		}
		d := k.TamperWith(pool, &pooltest.Tampered{})
		k.Start(pool)
		k.Drained(pool)
		k.Until("it serves all", func() bool {
			return len(k.Strings("SMEMBERS", "worker:"+k.ID(pool)+":queues")) == len(served)
		})
		d.UntilSent(t, "beat", 1)
		begun := time.Now()
		_, before := d.Sent("")
		d.UntilSent(t, "beat", 5)
		_, after := d.Sent("")
		perSecond := float64(after-before) / time.Since(begun).Seconds()
		assert.LessOrEqual(t, perSecond, 5+4/time.Since(begun).Seconds(), "requests per second")
		t.Logf("%.2f requests per second", perSecond)
	})
}

// Jobs that are taken together are so whatever they need, where the worker has that.
func TestJobsThatNeedLabelsAreTakenTogether(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for n := range 3 {
			k.needing("index", n, "gpu")
			k.Enqueue("index", 3+n)
			k.needing("index", 6+n, "other")
		}
		batches := make(chan []int, 10)
		p := k.Start(work.NewWorkerPool(nil, 2, k.labelled("gpu")).
			JobWithOptions("index", work.JobOptions{Together: work.Together{Most: 6, Wait: time.Minute}},
				func(batch work.Batch[int]) error { batches <- batch.Args(); return nil }))
		assert.ElementsMatch(t, []int{0, 1, 2, 3, 4, 5}, pooltest.Receive(t, batches))
		k.Drained(p)
		assert.Equal(t, 3, k.Number("LLEN", "queue:"+needs.Queue("index", []string{"other"})))
	})
}
