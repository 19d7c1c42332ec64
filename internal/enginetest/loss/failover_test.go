package loss_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// In the tests of this file a replica takes over that lacks the last writes.

// each runs a test with a pool of one processor, on each Redis.
func each(t *testing.T, test func(t *testing.T, th *theater, pool *work.WorkerPool, g *pooltest.Door)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th, g := newTheater(t, s), pooltest.NewDoor()
		pool := th.quietPool(th.options(), g)
		pooltest.Times(pool).Survey = time.Hour
		th.Start(pool)
		test(t, th, pool, g)
	})
}

// finished ends the pool and checks that nothing is left, and that one event told of the loss.
func (th *theater) finished(pool *work.WorkerPool) {
	th.T.Helper()
	th.Drained(pool)
	th.unlocked()
	assert.Zero(th.T, pooltest.Count[event.ClaimGone](th.Spy)+pooltest.Count[event.OutcomeUnknown](th.Spy)+
		pooltest.Count[event.WorkerFenced](th.Spy))
	assert.Equal(th.T, 1, pooltest.Count[event.DataLost](th.Spy))
}

func (th *theater) quiet() work.Receipt {
	th.T.Helper()
	job, err := th.EnqueueEntry(quietEntry())
	require.NoError(th.T, err)
	return job
}

// untilAcknowledged waits until so many outcomes were acknowledged to the pool.
func (th *theater) untilAcknowledged(outcomes int) {
	th.T.Helper()
	th.Until("they are acknowledged", func() bool {
		events, _ := th.Spy.All()
		jobs := 0
		for _, e := range events {
			if settled, is := e.(event.JobsSettled); is {
				jobs += settled.Jobs
			}
		}
		return jobs >= outcomes
	})
}

func TestAFailoverThatForgetsACompletionIsTold(t *testing.T) {
	each(t, func(t *testing.T, th *theater, pool *work.WorkerPool, g *pooltest.Door) {
		job := th.quiet()
		pooltest.Receive(t, g.Began)
		th.fallBehind()
		g.Leave <- ""
		th.untilAcknowledged(1)
		th.failOver(nil)
		assert.Equal(t, job.ID, pooltest.Receive(t, g.Began), "it runs again")
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Outcomes: 1})
		g.Leave <- ""
		th.finished(pool)
	})
}

func TestAJobThatWaitsAgainAfterAFailoverIsClaimedAgain(t *testing.T) {
	each(t, func(t *testing.T, th *theater, pool *work.WorkerPool, g *pooltest.Door) {
		first := th.Enqueue("busy")
		pooltest.Receive(t, g.Began)
		second := th.quiet()
		th.fallBehind()
		g.Leave <- ""
		assert.Equal(t, second.ID, pooltest.Receive(t, g.Began))
		th.untilAcknowledged(1)
		th.failOver(nil)
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Held: 1, Reclaimed: 1, Outcomes: 1})
		assert.Equal(t, 1, th.Number("SCARD", "running:quiet"), "it counts towards its limit")
		g.Leave <- ""
		assert.Equal(t, first.ID, pooltest.Receive(t, g.Began), "whose end was forgotten")
		g.Leave <- ""
		th.finished(pool)
		assert.Empty(t, g.Began)
	})
}

func TestAJobThatIsDueAgainAfterAFailoverIsClaimedAgain(t *testing.T) {
	each(t, func(t *testing.T, th *theater, pool *work.WorkerPool, g *pooltest.Door) {
		later := quietEntry()
		later.In = time.Hour
		_, err := th.EnqueueEntry(later)
		require.NoError(t, err)
		th.fallBehind()
		th.DueNow("scheduled")
		pooltest.Receive(t, g.Began)
		th.failOver(nil)
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Held: 1, Reclaimed: 1})
		assert.Zero(t, th.Number("ZCARD", "scheduled")+th.Number("HLEN", "names"))
		g.Leave <- ""
		th.finished(pool)
		assert.Empty(t, g.Began)
	})
}

func TestAJobThatAFailoverForgotIsStoredAgain(t *testing.T) {
	each(t, func(t *testing.T, th *theater, pool *work.WorkerPool, g *pooltest.Door) {
		th.fallBehind()
		job := th.quiet()
		pooltest.Receive(t, g.Began)
		record := th.Text("HGET", "jobs", job.ID)
		th.failOver(nil)
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Held: 1, Restored: 1})
		assert.Equal(t, record, th.Text("HGET", "jobs", job.ID))
		assert.True(t, th.Duplicate(quietEntry()), "its lock is back")
		assert.Equal(t, 1, th.Number("SCARD", "running:quiet"), "it counts towards its limit")
		g.Leave <- ""
		th.finished(pool)
		assert.Empty(t, g.Began)
	})
}

// The outcome comes to a Redis that does not know the claim, perhaps before the worker has noticed that.
func TestAnOutcomeThatWaitsDuringAFailoverCounts(t *testing.T) {
	each(t, func(t *testing.T, th *theater, pool *work.WorkerPool, g *pooltest.Door) {
		th.fallBehind()
		th.quiet()
		pooltest.Receive(t, g.Began)
		th.failOver(func() { g.Leave <- "" })
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Held: 1, Restored: 1})
		th.finished(pool)
		assert.Empty(t, g.Began)
	})
}

// A job ran to its end, and Redis does not know that it was fetched. Its queue has lost its token, which was popped.
func TestAQueueWhoseTokenAFailoverForgotIsFetchedFrom(t *testing.T) {
	each(t, func(t *testing.T, th *theater, pool *work.WorkerPool, g *pooltest.Door) {
		th.Enqueue("busy")
		pooltest.Receive(t, g.Began)
		job := th.quiet()
		th.fallBehind()
		th.lose("wake:quiet")
		g.Leave <- ""
		pooltest.Receive(t, g.Began)
		g.Leave <- ""
		th.untilAcknowledged(2)
		th.failOver(nil)
		seen := map[string]bool{}
		for range 2 {
			seen[pooltest.Receive(t, g.Began)] = true
			g.Leave <- ""
		}
		assert.True(t, seen[job.ID])
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Outcomes: 2})
		th.finished(pool)
	})
}

// A worker that has just begun is not known to the replica, with its claims. Nobody has taken them.
func TestAWorkerThatAFailoverForgotGoesOnAsBefore(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th, g := newTheater(t, s), pooltest.NewDoor()
		th.Start(work.NewWorkerPool(nil, 1, th.Another(pooltest.NewSpy())).Job("other", pooltest.Nothing))
		th.fallBehind()
		pool := th.Start(th.quietPool(th.options(), g))
		th.quiet()
		pooltest.Receive(t, g.Began)
		id := pooltest.WorkerID(pool)
		th.failOver(nil)
		th.told(event.DataLost{Worker: id, Held: 1, Restored: 1})
		assert.Equal(t, id, pooltest.WorkerID(pool))
		th.Until("its limit is declared again, and counts it", func() bool {
			return th.Number("HEXISTS", "limits", "quiet") == 1 && th.Number("SCARD", "running:quiet") == 1
		})
		g.Leave <- ""
		th.finished(pool)
		assert.Empty(t, g.Began)
	})
}

// A schedule goes on after its last ticks were forgotten.
func TestAScheduleGoesOnAfterAFailoverForgotItsTicks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th, ran := newTheater(t, s), make(chan string, 100)
		pool := work.NewWorkerPool(nil, 1, th.options()).
			Job("tick", func(job *work.Job) error { ran <- job.ID; return nil }).
			Periodic("@every 1s", "tick")
		th.Start(pool)
		pooltest.Receive(t, ran)
		th.fallBehind()
		seen := map[string]bool{}
		for len(seen) < 2 {
			seen[pooltest.Receive(t, ran)] = true
		}
		th.failOver(nil)
		for fresh := 0; fresh < 2; {
			if id := pooltest.Receive(t, ran); !seen[id] {
				seen[id] = true
				fresh++
			}
		}
	})
}
