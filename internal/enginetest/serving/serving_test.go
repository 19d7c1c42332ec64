package serving_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// serves are the names that Redis lists with the workers of a namespace, once each.
func (k *kit) serves() []string {
	k.T.Helper()
	served, err := k.ByHand().Served(k.Ctx())
	require.NoError(k.T, err)
	return slices.Concat(served...)
}

// healthy has the doctor look: it must find nothing but jobs that wait for these names to be served.
func (k *kit) healthy(unserved ...string) {
	k.T.Helper()
	findings, err := k.ByHand().Findings(k.LongCtx(), time.Second)
	require.NoError(k.T, err)
	var waiting []string
	for _, finding := range findings {
		switch finding.Check {
		case "server":
		case "unserved":
			waiting = append(waiting, finding.Queue)
		default:
			assert.Failf(k.T, "the doctor found something", "%s", finding.Text)
		}
	}
	assert.ElementsMatch(k.T, unserved, waiting)
}

// unconfused checks that no worker has met with jobs or identities that it did not expect. A connection may break, or a
// call take too long on a busy machine.
func (k *kit) unconfused() {
	k.T.Helper()
	for _, trouble := range pooltest.Seen[event.Trouble](k.Spy) {
		assert.NotContains(k.T, trouble.Err.Error(), enginetest.ListedWrongly)
		assert.NotContains(k.T, trouble.Err.Error(), enginetest.FencedMeanwhile)
	}
	assert.Zero(k.T, pooltest.Count[event.LoopPanicked](k.Spy))
}

// serviceOf is the service that the worker of a pool says it belongs to.
func (k *kit) serviceOf(pool *work.WorkerPool) string {
	k.T.Helper()
	service := k.Text("HGET", "worker:"+pooltest.WorkerID(pool)+":info", "service")
	require.NotEmpty(k.T, service)
	return service
}

// briefly is a ctx that ends at once.
func briefly() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestWhatIsWithdrawnWaitsUntilItIsServedAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := pooltest.NewTally()
		pool := k.Start(work.NewWorkerPool(nil, 3, k.Options()).Job("a", ran.Handle).Job("b", ran.Handle))
		for range 2 { // the second time there is nothing to do
			require.NoError(t, pool.Withdraw(k.Ctx(), "a"))
			assert.Equal(t, []string{"b"}, k.serves())
		}
		waiting := k.EnqueueNumbers("a", 0, 3)
		done := k.EnqueueNumbers("b", 0, 3)
		k.Drained(pool) // of what it serves
		ran.Once(t, done)
		assert.Equal(t, pooltest.IdsOf(waiting), k.InLine("a"))
		k.healthy("a")
		for range 2 {
			require.NoError(t, pool.Serve(k.Ctx(), "a", "b"))
			assert.Equal(t, []string{"a", "b"}, k.serves())
		}
		k.Drained(pool)
		ran.Once(t, append(waiting, done...))
		k.EnqueueNumbers("a", 3, 4)
		k.Drained(pool)
		k.healthy()
		k.unconfused()
	})
}

func TestWhatHasNotBegunGoesBackAndWhatRunsEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.Prefetch = 10
		p := pooltest.NewPatient()
		ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 30))
		pool := k.Start(work.NewWorkerPool(nil, 2, options).
			Job("n", func(ctx context.Context, job *work.Job, _ int) error { return p.Handle(ctx, job) }).
			Job("other", func(int) error { return nil }))
		pooltest.Receive(t, p.Began)
		pooltest.Receive(t, p.Began)
		k.Until("more are fetched than run", func() bool { return k.Number("HLEN", "claimed") == 12 })
		err := pool.Withdraw(briefly(), "n")
		require.ErrorIs(t, err, context.Canceled)
		k.Until("all but those that run are back, in their old order",
			func() bool { return assert.ObjectsAreEqual(ids[2:], k.InLine("n")) })
		assert.Equal(t, []string{"n", "other"}, k.serves(), "a reaper must find those that run")
		k.healthy()
		withdrawn := make(chan error, 1)
		go func() { withdrawn <- pool.Withdraw(k.Ctx(), "n") }()
		k.Enqueue("other", 1)
		close(p.GoOn)
		require.NoError(t, pooltest.Receive(t, withdrawn))
		assert.Equal(t, []string{"other"}, k.serves())
		assert.Equal(t, ids[2:], k.InLine("n"))
		k.Drained(pool)
		assert.Equal(t, 28, k.Number("HLEN", "jobs"), "two ran to their end")
		assert.Equal(t, 10, pooltest.Count[event.JobReleased](k.Spy))
		k.healthy("n")
		k.unconfused()
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
	})
}

func TestAFullWorkerHearsOfAWithdrawal(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", p.Handle).
			Job("n", func(int) error { return nil }))
		k.Enqueue("long")
		pooltest.Receive(t, p.Began)
		require.NoError(t, pool.Withdraw(k.Ctx(), "n"))
		assert.Equal(t, []string{"long"}, k.serves())
		require.NoError(t, pool.Serve(k.Ctx(), "n"))
		assert.Equal(t, []string{"long", "n"}, k.serves())
		close(p.GoOn)
	})
}

func TestAWorkerThatRestsHearsOfAWithdrawal(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func(int) error { return nil }).
			Job("n", func(int) error { return nil }))
		require.NoError(t, k.ByHand().PauseWorker(k.Ctx(), pooltest.WorkerID(pool)))
		pooltest.Await(t, k.Spy, func(e event.WorkerTold) bool { return e.Wanted == "pause" })
		require.NoError(t, pool.Withdraw(k.Ctx(), "n"))
		assert.Equal(t, []string{"a"}, k.serves())
		require.NoError(t, pool.Serve(k.Ctx(), "n"))
		receipt := k.Enqueue("n", 1)
		require.NoError(t, k.ByHand().ResumeWorker(k.Ctx(), pooltest.WorkerID(pool)))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](receipt.ID))
	})
}

func TestEverythingMayBeWithdrawn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 2, k.Options()).Job("a", func(int) error { return nil }).
			Job("b", func(int) error { return nil })
		require.NoError(t, pool.Start(k.Ctx()))
		require.NoError(t, pool.Withdraw(k.Ctx(), "a", "b"))
		served, err := k.ByHand().Served(k.Ctx())
		require.NoError(t, err)
		require.Len(t, served, 1, "it is there, and alive")
		assert.Empty(t, served[0])
		k.Enqueue("a", 1)
		k.healthy("a")
		require.NoError(t, pool.Healthy(k.Ctx()))
		require.NoError(t, pool.Serve(k.Ctx(), "a"))
		k.Drained(pool)
		require.NoError(t, pool.Withdraw(k.Ctx(), "a"))
		require.NoError(t, pool.Stop(k.Ctx()))
		k.NoWorker()
	})
}

func TestAllWorkersOfALargePoolFollow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const concurrency = 2*pooltest.MaxPerWorker + 10
		gate := pooltest.NewGauge()
		pool := work.NewWorkerPool(nil, concurrency, k.Options()).
			Job("n", func(int) error { return gate.Handle() }).Job("m", func(int) error { return nil })
		pooltest.Times(pool).ScaleLook, pooltest.Times(pool).ScaleIdle = 20*time.Millisecond, time.Hour
		k.Start(pool)
		k.EnqueueNumbers("n", 0, concurrency+50)
		gate.Began(t, concurrency)
		require.NoError(t, pool.Withdraw(k.Ctx(), "m"), "though all are full")
		require.ErrorIs(t, pool.Withdraw(briefly(), "n"), context.Canceled)
		gate.Release()
		require.NoError(t, pool.Withdraw(k.LongCtx(), "n"))
		assert.Empty(t, k.serves())
		assert.Equal(t, 50, k.Number("HLEN", "jobs"), "those that had not begun wait")
		assert.Equal(t, 3, len(pooltest.WorkerIDs(pool)))
		require.NoError(t, pool.Serve(k.Ctx(), "n"))
		assert.Equal(t, []string{"n", "n", "n"}, k.serves())
		k.Drained(pool)
		k.healthy()
	})
}

func TestWhatIsServedIsSaidBeforeTheStart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		plain := func(k *kit) *work.WorkerPool {
			options := k.Options()
			options.Only = []string{"a", "b"}
			return work.NewWorkerPool(nil, 2, options).Job("a", func(int) error { return nil }).
				Job("b", func(int) error { return nil }).
				JobWithOptions("c", work.JobOptions{Limit: work.Limit{Concurrent: 7}}, func(int) error { return nil })
		}
		elsewhere := newKit(t, s)
		untouched := elsewhere.serviceOf(elsewhere.Start(plain(elsewhere)))
		pool := plain(k)
		require.NoError(t, pool.Serve(briefly(), "c"), "nothing is waited for")
		require.NoError(t, pool.Withdraw(briefly(), "a"))
		k.Start(pool)
		assert.Equal(t, []string{"b", "c"}, k.serves())
		assert.Equal(t, untouched, k.serviceOf(pool), "schedules belong to the set-up")
		limits, err := k.ByHand().Declared(k.Ctx())
		require.NoError(t, err)
		require.Len(t, limits, 1)
		for _, declared := range limits {
			assert.Equal(t, work.Limit{Concurrent: 7}, declared)
		}
		k.Enqueue("c", 1)
		k.Drained(pool)
	})
}

func TestTheLimitOfANameIsInForceWhenItIsServed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.Only = []string{"a"}
		gate := pooltest.NewGauge()
		pool := k.Start(work.NewWorkerPool(nil, 20, options).Job("a", func(int) error { return nil }).
			JobWithOptions("c", work.JobOptions{Limit: work.Limit{Concurrent: 2}},
				func(int) error { return gate.Handle() }))
		k.EnqueueNumbers("c", 0, 20)
		require.NoError(t, pool.Serve(k.Ctx(), "c"))
		gate.Began(t, 2)
		gate.Release()
		k.Drained(pool)
		assert.LessOrEqual(t, gate.Most.Load(), int64(2))
	})
}

func TestAnUnknownNameChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() error { return nil }))
		var invalid *work.InvalidError
		err := pool.Withdraw(k.Ctx(), "a", "typo")
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, `a name given to Withdraw is "typo": no such job is registered: register it with Job before Start; there are ["a"]`, err.Error())
		require.ErrorAs(t, pool.Serve(k.Ctx(), "typo"), &invalid)
		assert.Equal(t, []string{"a"}, k.serves())
		require.NoError(t, pool.Withdraw(k.Ctx()), "none at all")
		assert.Equal(t, []string{"a"}, k.serves())
	})
}

func TestNothingIsServedOnceThePoolStops(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", p.Handle)
		require.NoError(t, pool.Start(k.Ctx()))
		k.Enqueue("a")
		pooltest.Receive(t, p.Began)
		withdrawn, served, stopped := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { withdrawn <- pool.Withdraw(k.Ctx(), "a") }()
		k.Until("it is withdrawn", func() bool { return !slices.Contains(pooltest.Parts(pool).Serving, "a") })
		go func() { stopped <- pool.Stop(k.Ctx()) }()
		pooltest.Receive(t, pooltest.UntilStopping(pool))
		go func() { served <- pool.Serve(k.Ctx(), "a") }()
		require.ErrorIs(t, pooltest.Receive(t, served), work.ErrStopping)
		require.ErrorIs(t, pool.Withdraw(briefly(), "a"), context.Canceled)
		close(p.GoOn)
		require.NoError(t, pooltest.Receive(t, stopped))
		require.NoError(t, pooltest.Receive(t, withdrawn), "the stop has withdrawn it")
		require.ErrorIs(t, pool.Serve(k.Ctx(), "a"), work.ErrStopped)
		require.NoError(t, pool.Withdraw(k.Ctx(), "a"))
		k.NoWorker()
		k.Empty("a")
	})
}

func TestTheLaterWishHolds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("a", p.Handle))
		k.Enqueue("a")
		pooltest.Receive(t, p.Began)
		withdrawn := make(chan error, 1)
		go func() { withdrawn <- pool.Withdraw(k.Ctx(), "a") }()
		k.Until("it is withdrawn", func() bool { return !slices.Contains(pooltest.Parts(pool).Serving, "a") })
		require.NoError(t, pool.Serve(k.Ctx(), "a"))
		require.ErrorIs(t, pooltest.Receive(t, withdrawn), work.ErrOverruled)
		k.Enqueue("a")
		pooltest.Receive(t, p.Began)
		close(p.GoOn)
		k.Drained(pool)
	})
}
