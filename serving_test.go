package work

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// serves are the names that Redis lists with the workers of a namespace, once each.
func (k *kit) serves() []string {
	k.t.Helper()
	workers, err := k.inspector().Workers(k.ctx())
	require.NoError(k.t, err)
	var names []string
	for _, w := range workers {
		names = append(names, w.Queues...)
	}
	return names
}

// healthy has the doctor look: it must find nothing but jobs that wait for these names to be served.
func (k *kit) healthy(unserved ...string) {
	k.t.Helper()
	i := newInspector(k.enq.core.store, defaultMorgueLimit)
	i.patience = time.Second
	diagnosis, err := i.Doctor(k.longCtx(), DoctorOptions{})
	require.NoError(k.t, err)
	var waiting []string
	for _, finding := range diagnosis.Findings {
		switch finding.Check {
		case CheckServer:
		case CheckUnserved:
			waiting = append(waiting, finding.Queue)
		default:
			assert.Failf(k.t, "the doctor found something", "%+v", finding)
		}
	}
	assert.ElementsMatch(k.t, unserved, waiting)
}

// unconfused checks that no worker has met with jobs or identities that it did not expect. A connection may break, or a
// call take too long on a busy machine.
func (k *kit) unconfused() {
	k.t.Helper()
	for _, trouble := range k.allTroubles() {
		assert.NotErrorIs(k.t, trouble.Err, errListed)
		assert.NotErrorIs(k.t, trouble.Err, errFencedMeanwhile)
	}
	assert.Zero(k.t, count[event.LoopPanicked](k.spy))
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
		ran := newTally()
		pool := k.start(NewWorkerPool(nil, 3, k.options()).Job("a", ran.handle).Job("b", ran.handle))
		for range 2 { // the second time there is nothing to do
			require.NoError(t, pool.Withdraw(k.ctx(), "a"))
			assert.Equal(t, []string{"b"}, k.serves())
		}
		waiting := k.enqueueNumbers("a", 0, 3)
		done := k.enqueueNumbers("b", 0, 3)
		k.drained(pool) // of what it serves
		ran.once(t, done)
		assert.Equal(t, idsOf(waiting), k.inLine("a"))
		k.healthy("a")
		for range 2 {
			require.NoError(t, pool.Serve(k.ctx(), "a", "b"))
			assert.Equal(t, []string{"a", "b"}, k.serves())
		}
		k.drained(pool)
		ran.once(t, append(waiting, done...))
		k.enqueueNumbers("a", 3, 4)
		k.drained(pool)
		k.healthy()
		k.unconfused()
	})
}

func TestWhatHasNotBegunGoesBackAndWhatRunsEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.Prefetch = 10
		p := newPatient()
		ids := idsOf(k.enqueueNumbers("n", 0, 30))
		pool := k.start(NewWorkerPool(nil, 2, options).
			Job("n", func(ctx context.Context, job *Job, _ int) error { return p.handle(ctx, job) }).
			Job("other", func(int) error { return nil }))
		receive(t, p.began)
		receive(t, p.began)
		k.until("more are fetched than run", func() bool { return k.number("HLEN", "claimed") == 12 })
		err := pool.Withdraw(briefly(), "n")
		require.ErrorIs(t, err, context.Canceled)
		k.until("all but those that run are back, in their old order",
			func() bool { return assert.ObjectsAreEqual(ids[2:], k.inLine("n")) })
		assert.Equal(t, []string{"n", "other"}, k.serves(), "a reaper must find those that run")
		k.healthy()
		withdrawn := make(chan error, 1)
		go func() { withdrawn <- pool.Withdraw(k.ctx(), "n") }()
		k.enqueue("other", 1)
		close(p.goOn)
		require.NoError(t, receive(t, withdrawn))
		assert.Equal(t, []string{"other"}, k.serves())
		assert.Equal(t, ids[2:], k.inLine("n"))
		k.drained(pool)
		assert.Equal(t, 28, k.number("HLEN", "jobs"), "two ran to their end")
		assert.Equal(t, 10, count[event.JobReleased](k.spy))
		k.healthy("n")
		k.unconfused()
		assert.Zero(t, count[event.ClaimGone](k.spy))
	})
}

func TestAFullWorkerHearsOfAWithdrawal(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := newPatient()
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("long", p.handle).
			Job("n", func(int) error { return nil }))
		k.enqueue("long")
		receive(t, p.began)
		require.NoError(t, pool.Withdraw(k.ctx(), "n"))
		assert.Equal(t, []string{"long"}, k.serves())
		require.NoError(t, pool.Serve(k.ctx(), "n"))
		assert.Equal(t, []string{"long", "n"}, k.serves())
		close(p.goOn)
	})
}

func TestAWorkerThatRestsHearsOfAWithdrawal(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func(int) error { return nil }).
			Job("n", func(int) error { return nil }))
		require.NoError(t, k.inspector().PauseWorker(k.ctx(), pool.id()))
		await(t, k.spy, func(e event.WorkerTold) bool { return e.Wanted == "pause" })
		require.NoError(t, pool.Withdraw(k.ctx(), "n"))
		assert.Equal(t, []string{"a"}, k.serves())
		require.NoError(t, pool.Serve(k.ctx(), "n"))
		receipt := k.enqueue("n", 1)
		require.NoError(t, k.inspector().ResumeWorker(k.ctx(), pool.id()))
		await(t, k.spy, ofJob[event.JobDone](receipt.ID))
	})
}

func TestEverythingMayBeWithdrawn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 2, k.options()).Job("a", func(int) error { return nil }).
			Job("b", func(int) error { return nil })
		require.NoError(t, pool.Start(k.ctx()))
		require.NoError(t, pool.Withdraw(k.ctx(), "a", "b"))
		workers, err := k.inspector().Workers(k.ctx())
		require.NoError(t, err)
		require.Len(t, workers, 1, "it is there")
		assert.Empty(t, workers[0].Queues)
		assert.True(t, workers[0].Alive)
		k.enqueue("a", 1)
		k.healthy("a")
		require.NoError(t, pool.Healthy(k.ctx()))
		require.NoError(t, pool.Serve(k.ctx(), "a"))
		k.drained(pool)
		require.NoError(t, pool.Withdraw(k.ctx(), "a"))
		require.NoError(t, pool.Stop(k.ctx()))
		k.noWorker()
	})
}

func TestAllWorkersOfALargePoolFollow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const concurrency = 2*maxPerWorker + 10
		gate := newGauge()
		pool := NewWorkerPool(nil, concurrency, k.options()).
			Job("n", func(int) error { return gate.handle() }).Job("m", func(int) error { return nil })
		pool.staffing, pool.dismissal = 20*time.Millisecond, time.Hour
		k.start(pool)
		k.enqueueNumbers("n", 0, concurrency+50)
		gate.began(t, concurrency)
		require.NoError(t, pool.Withdraw(k.ctx(), "m"), "though all are full")
		require.ErrorIs(t, pool.Withdraw(briefly(), "n"), context.Canceled)
		gate.release()
		require.NoError(t, pool.Withdraw(k.longCtx(), "n"))
		assert.Empty(t, k.serves())
		assert.Equal(t, 50, k.number("HLEN", "jobs"), "those that had not begun wait")
		assert.Equal(t, 3, pool.staff())
		require.NoError(t, pool.Serve(k.ctx(), "n"))
		assert.Equal(t, []string{"n", "n", "n"}, k.serves())
		k.drained(pool)
		k.healthy()
	})
}

func TestWhatIsServedIsSaidBeforeTheStart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.Only = []string{"a", "b"}
		plain := func() *WorkerPool {
			return NewWorkerPool(nil, 2, options).Job("a", func(int) error { return nil }).
				Job("b", func(int) error { return nil }).
				JobWithOptions("c", JobOptions{Limit: Limit{Concurrent: 7}}, func(int) error { return nil })
		}
		untouched := plain()
		require.NoError(t, untouched.prepare())
		t.Cleanup(untouched.closeConnection)
		pool := plain()
		require.NoError(t, pool.Serve(briefly(), "c"), "nothing is waited for")
		require.NoError(t, pool.Withdraw(briefly(), "a"))
		k.start(pool)
		assert.Equal(t, []string{"b", "c"}, k.serves())
		assert.Equal(t, untouched.service(), pool.service(), "schedules belong to the set-up")
		limits, err := k.inspector().Limits(k.ctx())
		require.NoError(t, err)
		require.Len(t, limits, 1)
		assert.Equal(t, Limit{Concurrent: 7}, limits[0].Declared)
		k.enqueue("c", 1)
		k.drained(pool)
	})
}

func TestTheLimitOfANameIsInForceWhenItIsServed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.Only = []string{"a"}
		gate := newGauge()
		pool := k.start(NewWorkerPool(nil, 20, options).Job("a", func(int) error { return nil }).
			JobWithOptions("c", JobOptions{Limit: Limit{Concurrent: 2}}, func(int) error { return gate.handle() }))
		k.enqueueNumbers("c", 0, 20)
		require.NoError(t, pool.Serve(k.ctx(), "c"))
		gate.began(t, 2)
		gate.release()
		k.drained(pool)
		assert.LessOrEqual(t, gate.most.Load(), int64(2))
	})
}

func TestAnUnknownNameChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func() error { return nil }))
		var invalid *InvalidError
		err := pool.Withdraw(k.ctx(), "a", "typo")
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, `a name given to Withdraw is "typo": no such job is registered: register it with Job before Start; there are ["a"]`, err.Error())
		require.ErrorAs(t, pool.Serve(k.ctx(), "typo"), &invalid)
		assert.Equal(t, []string{"a"}, k.serves())
		require.NoError(t, pool.Withdraw(k.ctx()), "none at all")
		assert.Equal(t, []string{"a"}, k.serves())
	})
}

func TestNothingIsServedOnceThePoolStops(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := newPatient()
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", p.handle)
		require.NoError(t, pool.Start(k.ctx()))
		k.enqueue("a")
		receive(t, p.began)
		withdrawn, served, stopped := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { withdrawn <- pool.Withdraw(k.ctx(), "a") }()
		k.until("it is withdrawn", pool.registered["a"].away.Load)
		go func() { stopped <- pool.Stop(k.ctx()) }()
		k.until("it stops", func() bool { return pool.stateNow() == poolStopping })
		go func() { served <- pool.Serve(k.ctx(), "a") }()
		require.ErrorIs(t, receive(t, served), ErrStopping)
		require.ErrorIs(t, pool.Withdraw(briefly(), "a"), context.Canceled)
		close(p.goOn)
		require.NoError(t, receive(t, stopped))
		require.NoError(t, receive(t, withdrawn), "the stop has withdrawn it")
		require.ErrorIs(t, pool.Serve(k.ctx(), "a"), ErrStopped)
		require.NoError(t, pool.Withdraw(k.ctx(), "a"))
		k.noWorker()
		k.empty("a")
	})
}

func TestTheLaterWishHolds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := newPatient()
		pool := k.start(NewWorkerPool(nil, 2, k.options()).Job("a", p.handle))
		k.enqueue("a")
		receive(t, p.began)
		withdrawn := make(chan error, 1)
		go func() { withdrawn <- pool.Withdraw(k.ctx(), "a") }()
		k.until("it is withdrawn", pool.registered["a"].away.Load)
		require.NoError(t, pool.Serve(k.ctx(), "a"))
		require.ErrorIs(t, receive(t, withdrawn), ErrOverruled)
		k.enqueue("a")
		receive(t, p.began)
		close(p.goOn)
		k.drained(pool)
	})
}
