package work

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

func TestJobsOfADeadWorkerStartElsewhereInOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := k.enqueueNumbers("n", 0, 20)
		victim := k.holding(t, "n", 20)

		gate, began := make(chan struct{}), make(chan int, 30)
		var last time.Time
		survivor := NewWorkerPool(nil, 1, k.options()).Job("n", func(n int) error {
			began <- n
			if n == 20 {
				<-gate
			}
			return nil
		})
		k.enqueueNumbers("n", 20, 25)
		k.start(survivor)
		require.Equal(t, 20, receive(t, began), "the survivor is busy, four more wait")

		dead := victim.id()
		victim.crash()
		killed := time.Now()
		reaped := await(t, k.spy, func(e event.WorkerReaped) bool { return e.Worker == dead })
		assert.Equal(t, 20, reaped.Jobs)
		assert.Equal(t, 20, k.number("HLEN", "crashes"))
		for _, receipt := range receipts {
			assert.Equal(t, []string{dead}, k.diedWith(receipt.ID))
		}

		close(gate)
		var order []int
		for range 24 {
			order = append(order, receive(t, began))
			if len(order) == 20 {
				last = time.Now()
			}
		}
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24},
			order)
		assert.Less(t, last.Sub(killed), 10*time.Second, "the package integration is stricter")
		require.NoError(t, survivor.Drain(k.ctx()))
		k.until("nothing of the dead worker is left", func() bool { return len(k.remains(dead)) == 0 })
		assert.Zero(t, k.number("SISMEMBER", "dead", dead))
		k.empty("n")
	})
}

// bury makes a worker dead as a reaper would, without putting anything back.
func (k *kit) bury(id string) {
	require.Equal(k.t, 1, k.number("SREM", "workers", id))
	require.Equal(k.t, 1, k.number("SADD", "dead", id))
}

// queued are the ids of a queue in the order in which they will be fetched.
func (k *kit) queued(queue string) []string {
	ids := k.strings("LRANGE", "queue:"+queue, 0, -1)
	slices.Reverse(ids)
	return ids
}

func idsOf(receipts []Receipt) []string {
	ids := make([]string, len(receipts))
	for i, receipt := range receipts {
		ids[i] = receipt.ID
	}
	return ids
}

// TestTheLookThatFindsAWorkerDeadPutsItsJobsBack: the next one comes a second later.
func TestTheLookThatFindsAWorkerDeadPutsItsJobsBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := idsOf(k.enqueueNumbers("n", 0, 5))
		victim := k.holding(t, "n", 5)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("other", func() error { return nil }))
		victim.crash()
		k.do("DEL", "worker:"+victim.id())
		k.do("ZADD", "deadlines", 1, victim.id())
		k.do("SET", "worker:"+pool.id(), "RUN 1", "PX", 3000) // it has been steady since 1970
		reaper := &deadPoolReaper{
			worker: pool.workers[0], missing: map[string]time.Time{victim.id(): time.Now().Add(-time.Hour)},
		}
		require.NoError(t, reaper.look(k.ctx()))
		assert.Equal(t, ids, k.queued("n"))
		assert.Empty(t, k.remains(victim.id()))
	})
}

func TestManyReapersAtOncePutEachJobBackOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := idsOf(k.enqueueNumbers("n", 0, 100))
		victim := k.holding(t, "n", 100)
		other := k.start(NewWorkerPool(nil, 1, k.options()).Job("other", func() error { return nil }))
		dead := victim.id()
		victim.crash()
		k.bury(dead)

		var reapers sync.WaitGroup
		for range 4 {
			reapers.Go(func() {
				reaper := &deadPoolReaper{worker: other.workers[0]}
				_, err := reaper.salvage(k.ctx(), dead)
				assert.NoError(t, err)
			})
		}
		reapers.Wait()
		assert.Equal(t, ids, k.queued("n"))
		jobs := 0
		events, _ := k.spy.all()
		for _, e := range events {
			if reaped, ok := e.(event.WorkerReaped); ok {
				jobs += reaped.Jobs
			}
		}
		assert.Equal(t, 100, jobs)
		for _, id := range ids {
			assert.Equal(t, []string{dead}, k.diedWith(id), "counted once")
		}
		assert.Empty(t, k.remains(dead))
		assert.Zero(t, k.number("HLEN", "claimed"))
	})
}

func TestAReaperGoesOnWhereAnotherStopped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := idsOf(k.enqueueNumbers("n", 0, 10))
		victim := k.holding(t, "n", 10)
		dead := victim.id()
		victim.crash()
		k.bury(dead)
		elements := k.strings("LRANGE", "worker:"+dead+":inprocess:n", 0, 3)
		slices.Reverse(elements)
		driver, err := rdb.Open(s.DSN())
		require.NoError(t, err)
		defer driver.Close()
		corpse := rdb.NewStore(driver, k.namespace).Worker(dead)
		_, err = corpse.Settle(k.ctx(), []rdb.Call{
			corpse.Release(rdb.Released{Queue: "n", Elements: elements, Died: dead}),
		})
		require.NoError(t, err)
		require.Equal(t, ids[6:], k.queued("n"), "the first reaper died here")

		k.start(NewWorkerPool(nil, 1, k.options()).Job("other", func() error { return nil }))
		reaped := await(t, k.spy, func(e event.WorkerReaped) bool { return e.Worker == dead })
		assert.Equal(t, 6, reaped.Jobs)
		k.until("nothing of the dead worker is left", func() bool { return len(k.remains(dead)) == 0 })
		assert.Equal(t, ids, k.queued("n"))
	})
}

func TestAReaperThatWasAwayItselfIsNoJudge(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("n", func() error { return nil }))
		k.do("SADD", "workers", "silent")
		reaper := &deadPoolReaper{
			worker: pool.workers[0], missing: map[string]time.Time{"silent": time.Now().Add(-time.Hour)},
		}
		require.NoError(t, reaper.look(k.ctx()))
		assert.Equal(t, 1, k.number("SISMEMBER", "workers", "silent"), "this worker is younger than a heartbeat lasts")
		assert.Contains(t, reaper.missing, "silent", "it is not forgotten")

		k.do("DEL", "worker:"+pool.id())
		require.NoError(t, reaper.look(k.ctx()))
		assert.Equal(t, 1, k.number("SISMEMBER", "workers", "silent"), "this worker has no heartbeat itself")

		k.do("SET", "worker:"+pool.id(), "RUN 1", "PX", 3000) // it has been steady since 1970
		require.NoError(t, reaper.look(k.ctx()))
		assert.Zero(t, k.number("SISMEMBER", "workers", "silent"))
		assert.Zero(t, count[event.WorkerFenced](k.spy))
	})
}

func TestAWorkerIsNotCondemnedAfterOneLook(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("n", func() error { return nil }))
		k.do("SET", "worker:"+pool.id(), "RUN 1", "PX", 3000) // it has been steady since 1970
		k.do("SADD", "workers", "silent")
		reaper := &deadPoolReaper{worker: pool.workers[0], missing: map[string]time.Time{}}
		require.NoError(t, reaper.look(k.ctx()))
		require.NoError(t, reaper.look(k.ctx()))
		assert.Equal(t, 1, k.number("SISMEMBER", "workers", "silent"))
	})
}

func TestADeadWorkerWithABrokenQueueDoesNotKeepOthersFromBeingReaped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueueNumbers("broken", 0, 1)
		stuck := k.holding(t, "broken", 1)
		k.enqueueNumbers("fine", 0, 1)
		victim := k.holding(t, "fine", 1)
		k.do("SET", "queue:broken", "no list")
		stuck.crash()
		victim.crash()
		k.bury(stuck.id())
		k.bury(victim.id())
		other := NewWorkerPool(nil, 1, k.options()).Job("other", func() error { return nil })
		driver, err := rdb.Open(s.DSN())
		require.NoError(t, err)
		defer driver.Close()
		w := &worker{store: rdb.NewStore(driver, k.namespace), events: other.events}
		w.current.Store(newClaimant(w.store, k.ctx()))
		reaper := &deadPoolReaper{worker: w}
		require.ErrorContains(t, reaper.look(k.ctx()), "queue:broken")
		assert.Equal(t, 1, k.number("LLEN", "queue:fine"))
		assert.Equal(t, []string{stuck.id()}, k.strings("SMEMBERS", "dead"))

		k.do("DEL", "queue:broken")
		require.NoError(t, reaper.look(k.ctx()))
		await(t, k.spy, func(e event.WorkerReaped) bool { return e.Worker == stuck.id() })
		assert.Equal(t, 1, k.number("LLEN", "queue:broken"))
	})
}

func TestTwoWorkersLookAfterTheOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var pools []*WorkerPool
		var drivers []*tampered
		for range 4 {
			pool := NewWorkerPool(nil, 1, k.options()).Job("n", func() error { return nil })
			drivers = append(drivers, k.tamper(pool, &tampered{}))
			pools = append(pools, k.start(pool))
		}
		for _, d := range drivers {
			d.untilSent(t, "beat", 2)
		}
		looking := func() (n int) {
			for _, d := range drivers {
				if looks, _ := d.sent("overdue"); looks > 0 {
					n++
				}
			}
			return n
		}
		assert.Equal(t, 2, looking())
		holder, deputy := k.text("GET", "lease"), k.text("GET", "deputy")
		for _, pool := range pools { // both go: two others take their places
			if pool.id() == holder || pool.id() == deputy {
				require.NoError(t, pool.Stop(k.ctx()))
			}
		}
		k.until("two others look", func() bool { return looking() == 4 })
		assert.NotContains(t, []string{holder, deputy}, k.text("GET", "lease"))
	})
}

// A worker may beat and yet not get to look: its other connections are used up, or its program is stuck in taking
// somebody apart.
func TestAReaperThatDoesNotGetToLookGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("n", func() error { return nil }))
		reaper := newDeadPoolReaper(pool.workers[0])
		daemons := &daemons{reaper: reaper}
		now := time.Now()
		assert.Equal(t, leaseLife, daemons.lease(now.Add(time.Hour)), "it has no place yet")
		reaper.told(true)
		assert.Equal(t, leaseLife, daemons.lease(now.Add(lookOverdue/2)))
		reaper.told(true)
		assert.Zero(t, daemons.lease(now.Add(lookOverdue+time.Minute)), "that it has a place is no look")
		require.NoError(t, reaper.look(k.ctx()))
		assert.Equal(t, leaseLife, daemons.lease(time.Now().Add(lookOverdue/2)))
		assert.Zero(t, daemons.lease(time.Now().Add(lookOverdue+time.Minute)))
		reaper.told(false)
		assert.Equal(t, leaseLife, daemons.lease(time.Now().Add(time.Hour)), "it may have one again")
	})
}

// During an upgrade workers of the version before are there: they write no deadline, and take one away with no worker.
func TestWorkersThatWriteNoDeadlineAreReaped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := idsOf(k.enqueueNumbers("n", 0, 5))
		victim := k.holding(t, "n", 5)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("other", func() error { return nil }))
		victim.crash()
		k.do("ZREM", "deadlines", victim.id())
		k.do("ZADD", "deadlines", 1, "nobody")
		k.do("SADD", "workers", "old") // and one that lives
		k.do("SET", "worker:old", "RUN 1")
		reaped := await(t, k.spy, func(e event.WorkerReaped) bool { return e.Worker == victim.id() })
		assert.Equal(t, 5, reaped.Jobs)
		assert.Equal(t, ids, k.queued("n"))
		k.until("the deadlines are those of the workers", func() bool {
			listed := k.strings("ZRANGE", "deadlines", 0, -1)
			slices.Sort(listed)
			wanted := []string{"old", pool.id()}
			slices.Sort(wanted)
			return slices.Equal(wanted, listed)
		})
		assert.Equal(t, 1, k.number("SISMEMBER", "workers", "old"), "it has a heartbeat")
		k.do("SREM", "workers", "old")
	})
}
