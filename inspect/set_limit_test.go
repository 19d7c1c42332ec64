package inspect_test

import (
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

func TestALimitIsChangedWhileJobsRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g, i := pooltest.NewGauge(), k.inspector()
		k.EnqueueNumbers("n", 0, 40)
		o := k.Options()
		d := k.Tamper(&o, &pooltest.Tampered{})
		pool := work.NewWorkerPool(nil, 6, o).Job("n", func(int) error { return g.Handle() })
		k.Start(pool)
		t.Cleanup(g.Release)
		g.Began(t, 6)
		require.NoError(t, i.SetLimit(k.Ctx(), "n", work.Limit{Concurrent: 2}))
		limits, err := i.Limits(k.Ctx())
		require.NoError(t, err)
		assert.Equal(t, []inspect.LimitInfo{{Name: "n", Limit: work.Limit{Concurrent: 2}, Operator: true, Running: 6}},
			limits)
		g.Pass(t, 4)
		k.Until("four have ended", func() bool { return k.Number("SCARD", "running:n") == 2 })
		k.Settles(d)
		assert.EqualValues(t, 2, g.Running.Load(), "none has begun since")
		g.Pass(t, 1)
		g.Began(t, 1)
		require.NoError(t, i.SetLimit(k.Ctx(), "n", work.Limit{Concurrent: 4}))
		g.Began(t, 2)
		k.Settles(d)
		assert.EqualValues(t, 4, g.Running.Load())
		require.NoError(t, i.ResetLimit(k.Ctx(), "n"))
		g.Began(t, 2)
		assert.Zero(t, k.Number("EXISTS", "limits"))
		g.Release()
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.EqualValues(t, 6, g.Most.Load())
		assert.EqualValues(t, 40, g.Done.Load())
	})
}

func TestARateLetsABurstBegin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g, i := pooltest.NewGauge(), k.inspector()
		g.Release()
		k.EnqueueNumbers("n", 0, 30)
		rate := work.Limit{Rate: 5, Per: 24 * time.Hour, Burst: 4}
		o := k.Options()
		d := k.Tamper(&o, &pooltest.Tampered{})
		pool := work.NewWorkerPool(nil, 10, o).
			JobWithOptions("n", work.JobOptions{Limit: rate}, func(int) error { return g.Handle() })
		k.Start(pool)
		g.Began(t, 4)
		k.Settles(d)
		assert.Empty(t, g.Begun)
		require.NoError(t, i.SetLimit(k.Ctx(), "n", work.Limit{Rate: 1000, Per: time.Second}),
			"what is owed costs far less now")
		g.Began(t, 26)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.EqualValues(t, 30, g.Done.Load())
		limits, err := i.Limits(k.Ctx())
		require.NoError(t, err)
		assert.Equal(t, work.Limit{Rate: 1000, Per: time.Second, Burst: 100}, limits[0].Limit)
		assert.Equal(t, rate, limits[0].Declared)
	})
}

func TestAnOperatorsLimitHoldsUntilItIsReset(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		start := func(service string, limit work.Limit) (*work.WorkerPool, *pooltest.Spy) {
			seen := pooltest.NewSpy()
			opts := k.Another(seen)
			opts.Service = service
			return k.Start(work.NewWorkerPool(nil, 1, opts).
				JobWithOptions("n", work.JobOptions{Limit: limit}, func() error { return nil })), seen
		}
		now := func() inspect.LimitInfo {
			limits, err := i.Limits(k.Ctx())
			require.NoError(t, err)
			require.Len(t, limits, 1)
			return limits[0]
		}
		five, six := work.Limit{Concurrent: 5}, work.Limit{Concurrent: 6}
		start("shop", five)
		assert.Equal(t, inspect.LimitInfo{Name: "n", Limit: five, Service: "shop", Declared: five}, now())
		require.NoError(t, i.SetLimit(k.Ctx(), "n", work.Limit{}))
		start("shop", six)
		assert.Equal(t, inspect.LimitInfo{Name: "n", Operator: true, Service: "shop", Declared: six}, now())
		require.NoError(t, i.PauseQueue(k.Ctx(), "n"))
		require.NoError(t, i.ResetLimit(k.Ctx(), "n"))
		assert.Equal(t, inspect.LimitInfo{Name: "n", Paused: true, Limit: six, Service: "shop", Declared: six}, now())
		require.NoError(t, i.ResumeQueue(k.Ctx(), "n"))

		_, seen := start("post", five)
		assert.Equal(t, event.LimitChanged{Name: "n", Limit: five.String(), Service: "post", Former: six.String(),
			FormerService: "shop"},
			pooltest.Await[event.LimitChanged](t, seen, nil), "the later start wins, and says so")
		start("shop", work.Limit{})
		assert.Equal(t, five, now().Limit, "that was not declared by this service")
		start("post", work.Limit{})
		assert.Zero(t, k.Number("EXISTS", "limits"))
		require.NoError(t, i.ResetLimit(k.Ctx(), "n"), "nothing to reset")
	})
}

func TestAJobThatWaitsForItsPoolsSaysSo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g, i := pooltest.NewGauge(), k.inspector()
		why := func(id string) []inspect.WaitReason {
			job, err := i.Job(k.Ctx(), id)
			require.NoError(t, err)
			return job.Why
		}
		serve := func(most int) *work.WorkerPool {
			return k.Start(work.NewWorkerPool(nil, 5, k.Another(pooltest.NewSpy())).
				JobWithOptions("n", work.JobOptions{MaxRunning: most}, func(int) error { return g.Handle() }))
		}
		serve(1)
		serve(2)
		t.Cleanup(g.Release)
		receipts := k.EnqueueNumbers("n", 0, 3)
		g.Began(t, 3)
		last := k.EnqueueNumbers("n", 3, 4)[0]
		assert.Equal(t, []inspect.WaitReason{{Kind: inspect.WaitPool, Limit: 3, Running: 3}}, why(last.ID))
		assert.Equal(t, "3 of its queue run in the pools that serve it, and 3 may", why(last.ID)[0].String())
		assert.Empty(t, why(receipts[0].ID), "it runs")
		third := serve(0)
		t.Cleanup(g.Release) // before its stop
		g.Began(t, 1)
		more := k.EnqueueNumbers("n", 4, 9)[4]
		g.Began(t, 4)
		assert.Empty(t, why(more.ID), "one of the pools has no quota")
		require.NoError(t, i.PauseWorker(k.Ctx(), k.ID(third)))
		assert.Equal(t, []inspect.WaitReason{{Kind: inspect.WaitPool, Limit: 3, Running: 3}}, why(more.ID),
			"and takes none")
	})
}
