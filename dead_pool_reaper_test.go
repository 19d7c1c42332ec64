package work_test

import (
	"context"
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

// TestTheLookThatFindsAWorkerDeadPutsItsJobsBack: the next one comes a second later.
func TestTheLookThatFindsAWorkerDeadPutsItsJobsBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 5))
		victim := k.Holding(t, "n", 5)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", func() error { return nil }))
		pool.StopDaemons() // its own reaper would look as well
		k.Crash(victim)
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
		k.Crash(victim)
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
		k.Crash(stuck)
		k.Crash(victim)
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

// Workers of several processes have fetched by turns, in whatever order they are found dead.
func TestJobsOfSeveralDeadWorkersComeBackInTheOrderOfTheirFetches(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		other := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", pooltest.Nothing))
		var pools []*work.WorkerPool
		began := make(chan string, 100)
		for range 3 {
			pools = append(pools, k.Start(work.NewWorkerPool(nil, 10, k.Another(pooltest.NewSpy())).
				Job("n", func(ctx context.Context, job *work.Job, _ int) error {
					began <- job.ID
					<-ctx.Done()
					return ctx.Err()
				})))
		}
		var ids []string
		for i := range 30 { // each is fetched in a millisecond of its own
			ids = append(ids, pooltest.IdsOf(k.EnqueueNumbers("n", i, i+1))...)
			require.Equal(t, ids[i], pooltest.Receive(t, began))
			k.nextMillisecond()
		}
		var dead []string
		for _, pool := range pools {
			dead = append(dead, pooltest.WorkerID(pool))
			k.Crash(pool)
		}
		slices.Reverse(dead)
		reaper := other.NewReaper()
		for _, id := range dead { // one in each look
			left, err := reaper.Salvage(k.Ctx(), id)
			require.NoError(t, err)
			assert.Empty(t, left)
		}
		assert.Equal(t, ids, k.InLine("n"))
		assert.Equal(t, 30, k.Number("HLEN", "crashes"))
	})
}

// nextMillisecond waits until Redis' clock shows another one.
func (k *kit) nextMillisecond() {
	now := func() int64 {
		at, err := pooltest.StoreOf(k.Enq).Time(k.Ctx())
		require.NoError(k.T, err)
		return at.UnixMilli()
	}
	for begun := now(); now() == begun; {
	}
}

// A call that is refused has given nothing back: what it named is not taken for something that stands in the queue.
func TestWhatIsGivenBackAfterARefusalStandsInTheQueueOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		other := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", pooltest.Nothing))
		ids, dead := k.deadWithJobs(2, 5)
		reaper := other.NewReaper()
		k.Do("HSET", "running:n", "of another type", "x")
		for range 3 {
			left, err := reaper.Salvage(k.Ctx(), dead...)
			require.Error(t, err)
			require.Len(t, left, 2)
			require.LessOrEqual(t, reaper.Given("n"), len(ids), "it does not grow with the looks")
		}
		k.Do("DEL", "running:n")
		left, err := reaper.Salvage(k.Ctx(), dead...)
		require.NoError(t, err)
		assert.Empty(t, left)
		assert.Equal(t, ids, k.InLine("n"), "each once, in their order")
	})
}

// What is known of a dead worker may be broken: its jobs go back all the same, and nothing is left of it.
func TestADeadWorkerWhoseInfoIsBrokenIsTakenApart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		other := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", pooltest.Nothing))
		ids, dead := k.deadWithJobs(1, 3)
		k.Do("DEL", "worker:"+dead[0]+":info")
		k.Do("SADD", "worker:"+dead[0]+":info", "x")
		k.Do("SREM", "workers", dead[0])
		k.Do("SADD", "dead", dead[0])
		reaper := other.NewReaper()
		left, err := reaper.Salvage(k.Ctx(), dead...)
		require.NoError(t, err)
		assert.Empty(t, left)
		assert.Equal(t, ids, k.InLine("n"))
		assert.Zero(t, k.Number("SCARD", "dead"))
	})
}

// deadWithJobs are workers that died while they ran so many jobs each, and the jobs in the order in which they were
// fetched.
func (k *kit) deadWithJobs(workers, each int) (ids, dead []string) {
	k.T.Helper()
	began := make(chan string, workers*each)
	var pools []*work.WorkerPool
	for range workers {
		pools = append(pools, k.Start(work.NewWorkerPool(nil, each, k.Another(pooltest.NewSpy())).
			Job("n", func(ctx context.Context, job *work.Job, _ int) error {
				began <- job.ID
				<-ctx.Done()
				return ctx.Err()
			})))
	}
	for i := range workers * each {
		ids = append(ids, pooltest.IdsOf(k.EnqueueNumbers("n", i, i+1))...)
		require.Equal(k.T, ids[i], pooltest.Receive(k.T, began))
		k.nextMillisecond()
	}
	for _, pool := range pools {
		dead = append(dead, pooltest.WorkerID(pool))
		k.Crash(pool)
	}
	return ids, dead
}
