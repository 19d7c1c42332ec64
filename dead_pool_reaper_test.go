package work_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestJobsOfADeadWorkerStartElsewhereInOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := k.EnqueueNumbers("n", 0, 20)
		victim := k.Holding(t, "n", 20)

		gate, began := make(chan struct{}), make(chan int, 30)
		var last time.Time
		survivor := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(n int) error {
			began <- n
			if n == 20 {
				<-gate
			}
			return nil
		})
		k.EnqueueNumbers("n", 20, 25)
		k.Start(survivor)
		require.Equal(t, 20, pooltest.Receive(t, began), "the survivor is busy, four more wait")

		dead := pooltest.WorkerID(victim)
		victim.Crash()
		killed := time.Now()
		reaped := pooltest.Await(t, k.Spy, func(e event.WorkerReaped) bool { return e.Worker == dead })
		assert.Equal(t, 20, reaped.Jobs)
		assert.Equal(t, 20, k.Number("HLEN", "crashes"))
		for _, receipt := range receipts {
			assert.Equal(t, []string{dead}, k.DiedWith(receipt.ID))
		}

		close(gate)
		var order []int
		for range 24 {
			order = append(order, pooltest.Receive(t, began))
			if len(order) == 20 {
				last = time.Now()
			}
		}
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24},
			order)
		assert.Less(t, last.Sub(killed), 10*time.Second, "the package integration is stricter")
		require.NoError(t, survivor.Drain(k.Ctx()))
		k.Until("nothing of the dead worker is left", func() bool { return len(k.Remains(dead)) == 0 })
		assert.Zero(t, k.Number("SISMEMBER", "dead", dead))
		k.Empty("n")
	})
}

// TestTheLookThatFindsAWorkerDeadPutsItsJobsBack: the next one comes a second later.
func TestTheLookThatFindsAWorkerDeadPutsItsJobsBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 5))
		victim := k.Holding(t, "n", 5)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", func() error { return nil }))
		pool.StopDaemons() // its own reaper would look as well
		victim.Crash()
		// one heartbeat may still be on its way
		heart := "worker:" + pooltest.WorkerID(victim)
		k.Until("its heart has lapsed", func() bool { return k.Number("EXISTS", heart) == 0 })
		k.Do("ZADD", "deadlines", 1, pooltest.WorkerID(victim))
		k.Do("SET", "worker:"+pooltest.WorkerID(pool), "RUN 1", "PX", 3000) // it has been steady since 1970
		overdue := map[string]time.Time{pooltest.WorkerID(victim): time.Now().Add(-time.Hour)}
		reaper := pool.NewReaper().Suspecting(overdue)
		require.NoError(t, reaper.Look(k.Ctx()))
		assert.Equal(t, ids, k.InLine("n"))
		assert.Empty(t, k.Remains(pooltest.WorkerID(victim)))
	})
}

func TestManyReapersAtOncePutEachJobBackOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 100))
		victim := k.Holding(t, "n", 100)
		other := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", func() error { return nil }))
		dead := pooltest.WorkerID(victim)
		victim.Crash()
		k.Bury(dead)

		var reapers sync.WaitGroup
		for range 4 {
			reapers.Go(func() {
				reaper := other.NewReaper()
				_, err := reaper.Salvage(k.Ctx(), dead)
				assert.NoError(t, err)
			})
		}
		reapers.Wait()
		assert.Equal(t, ids, k.InLine("n"))
		jobs := 0
		events, _ := k.Spy.All()
		for _, e := range events {
			if reaped, ok := e.(event.WorkerReaped); ok {
				jobs += reaped.Jobs
			}
		}
		assert.Equal(t, 100, jobs)
		for _, id := range ids {
			assert.Equal(t, []string{dead}, k.DiedWith(id), "counted once")
		}
		assert.Empty(t, k.Remains(dead))
		assert.Zero(t, k.Number("HLEN", "claimed"))
		assert.Equal(t, 1, k.Number("ZCARD", "stopped"))
		assert.Contains(t, k.Text("HGET", "stopped:info", dead), `"held":{"jobs":100,`, "whoever removed it")
	})
}

func TestAReaperGoesOnWhereAnotherStopped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 10))
		victim := k.Holding(t, "n", 10)
		dead := pooltest.WorkerID(victim)
		victim.Crash()
		k.Bury(dead)
		elements := k.Strings("LRANGE", "worker:"+dead+":inprocess:n", 0, 3)
		slices.Reverse(elements)
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		defer driver.Close()
		corpse := rdb.NewStore(driver, k.Namespace).Worker(dead)
		_, err = corpse.Settle(k.Ctx(), []redisconn.Call{
			corpse.Release(rdb.Released{Queue: "n", Elements: elements, Died: dead}),
		})
		require.NoError(t, err)
		require.Equal(t, ids[6:], k.InLine("n"), "the first reaper died here")

		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", func() error { return nil }))
		reaped := pooltest.Await(t, k.Spy, func(e event.WorkerReaped) bool { return e.Worker == dead })
		assert.Equal(t, 6, reaped.Jobs)
		k.Until("nothing of the dead worker is left", func() bool { return len(k.Remains(dead)) == 0 })
		assert.Equal(t, ids, k.InLine("n"))
	})
}

func TestAReaperThatWasAwayItselfIsNoJudge(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil }))
		k.Do("SADD", "workers", "silent")
		reaper := pool.NewReaper().Suspecting(map[string]time.Time{"silent": time.Now().Add(-time.Hour)})
		require.NoError(t, reaper.Look(k.Ctx()))
		assert.Equal(t, 1, k.Number("SISMEMBER", "workers", "silent"), "this worker is younger than a heartbeat lasts")
		assert.True(t, reaper.Suspects("silent"), "it is not forgotten")

		k.Do("DEL", "worker:"+pooltest.WorkerID(pool))
		require.NoError(t, reaper.Look(k.Ctx()))
		assert.Equal(t, 1, k.Number("SISMEMBER", "workers", "silent"), "this worker has no heartbeat itself")

		k.Do("SET", "worker:"+pooltest.WorkerID(pool), "RUN 1", "PX", 3000) // it has been steady since 1970
		require.NoError(t, reaper.Look(k.Ctx()))
		assert.Zero(t, k.Number("SISMEMBER", "workers", "silent"))
		assert.Zero(t, pooltest.Count[event.WorkerFenced](k.Spy))
	})
}

func TestAWorkerIsNotCondemnedAfterOneLook(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil }))
		k.Do("SET", "worker:"+pooltest.WorkerID(pool), "RUN 1", "PX", 3000) // it has been steady since 1970
		k.Do("SADD", "workers", "silent")
		reaper := pool.NewReaper().Suspecting(map[string]time.Time{})
		require.NoError(t, reaper.Look(k.Ctx()))
		require.NoError(t, reaper.Look(k.Ctx()))
		assert.Equal(t, 1, k.Number("SISMEMBER", "workers", "silent"))
	})
}

func TestADeadWorkerWithABrokenQueueDoesNotKeepOthersFromBeingReaped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("broken", 0, 1)
		stuck := k.Holding(t, "broken", 1)
		k.EnqueueNumbers("fine", 0, 1)
		victim := k.Holding(t, "fine", 1)
		k.Do("SET", "queue:broken", "no list")
		stuck.Crash()
		victim.Crash()
		k.Bury(pooltest.WorkerID(stuck))
		k.Bury(pooltest.WorkerID(victim))
		other := work.NewWorkerPool(nil, 1, k.Options()).Job("other", func() error { return nil })
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		defer driver.Close()
		reaper := other.StrangeReaper(k.Ctx(), rdb.NewStore(driver, k.Namespace))
		require.ErrorContains(t, reaper.Look(k.Ctx()), "queue:broken")
		assert.Equal(t, 1, k.Number("LLEN", "queue:fine"))
		assert.Equal(t, []string{pooltest.WorkerID(stuck)}, k.Strings("SMEMBERS", "dead"))

		k.Do("DEL", "queue:broken")
		require.NoError(t, reaper.Look(k.Ctx()))
		pooltest.Await(t, k.Spy, func(e event.WorkerReaped) bool { return e.Worker == pooltest.WorkerID(stuck) })
		assert.Equal(t, 1, k.Number("LLEN", "queue:broken"))
	})
}

func TestTwoWorkersLookAfterTheOthers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var pools []*work.WorkerPool
		var drivers []*pooltest.Tampered
		for range 4 {
			pool := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil })
			drivers = append(drivers, k.TamperWith(pool, &pooltest.Tampered{}))
			pools = append(pools, k.Start(pool))
		}
		for _, d := range drivers {
			d.UntilSent(t, "beat", 2)
		}
		looking := func() (n int) {
			for _, d := range drivers {
				if looks, _ := d.Sent("list_overdue"); looks > 0 {
					n++
				}
			}
			return n
		}
		assert.Equal(t, 2, looking())
		holder, deputy := k.Text("GET", "lease"), k.Text("GET", "deputy")
		for _, pool := range pools { // both go: two others take their places
			if pooltest.WorkerID(pool) == holder || pooltest.WorkerID(pool) == deputy {
				require.NoError(t, pool.Stop(k.Ctx()))
			}
		}
		k.Until("two others look", func() bool { return looking() == 4 })
		assert.NotContains(t, []string{holder, deputy}, k.Text("GET", "lease"))
	})
}

// A worker may beat and yet not get to look: its other connections are used up, or its program is stuck in taking
// somebody apart.
func TestAReaperThatDoesNotGetToLookGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil }))
		reaper := pool.NewReaper()
		now := time.Now()
		assert.Equal(t, rdb.LeaseLife, reaper.Lease(now.Add(time.Hour)), "it has no place yet")
		reaper.Told(true)
		assert.Equal(t, rdb.LeaseLife, reaper.Lease(now.Add(work.LookOverdue/2)))
		reaper.Told(true)
		assert.Zero(t, reaper.Lease(now.Add(work.LookOverdue+time.Minute)), "that it has a place is no look")
		require.NoError(t, reaper.Look(k.Ctx()))
		assert.Equal(t, rdb.LeaseLife, reaper.Lease(time.Now().Add(work.LookOverdue/2)))
		assert.Zero(t, reaper.Lease(time.Now().Add(work.LookOverdue+time.Minute)))
		reaper.Told(false)
		assert.Equal(t, rdb.LeaseLife, reaper.Lease(time.Now().Add(time.Hour)), "it may have one again")
	})
}

// During an upgrade workers of the version before are there: they write no deadline, and take one away with no worker.
func TestWorkersThatWriteNoDeadlineAreReaped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 5))
		victim := k.Holding(t, "n", 5)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", func() error { return nil }))
		victim.Crash()
		k.Do("ZREM", "deadlines", pooltest.WorkerID(victim))
		k.Do("ZADD", "deadlines", 1, "nobody")
		k.Do("SADD", "workers", "old") // and one that lives
		k.Do("SET", "worker:old", "RUN 1")
		reaped := pooltest.Await(t, k.Spy,
			func(e event.WorkerReaped) bool { return e.Worker == pooltest.WorkerID(victim) })
		assert.Equal(t, 5, reaped.Jobs)
		assert.Equal(t, ids, k.InLine("n"))
		k.Until("the deadlines are those of the workers", func() bool {
			listed := k.Strings("ZRANGE", "deadlines", 0, -1)
			slices.Sort(listed)
			wanted := []string{"old", pooltest.WorkerID(pool)}
			slices.Sort(wanted)
			return slices.Equal(wanted, listed)
		})
		assert.Equal(t, 1, k.Number("SISMEMBER", "workers", "old"), "it has a heartbeat")
		k.Do("SREM", "workers", "old")
	})
}
