package work_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// The workers of a pool die together, and lapse at about the same moment: what they held is in its order again, also
// where they are found dead one after the other.
func TestJobsOfAKilledPoolOfManyWorkersComeBackInOrder(t *testing.T) {
	t.Parallel()
	for seed := range 5 {
		t.Run(fmt.Sprint("kill ", seed), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				const processors = 3 * work.MaxPerWorker
				k := newKit(t, s)
				ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, processors))
				began := make(chan struct{}, processors)
				victim := work.NewWorkerPool(nil, processors, k.Another(pooltest.NewSpy())).
					Job("n", func(ctx context.Context, _ int) error {
						began <- struct{}{}
						<-ctx.Done()
						return ctx.Err()
					})
				d := k.TamperWith(victim, &pooltest.Tampered{})
				k.Start(victim)
				for range processors {
					pooltest.Receive(t, began)
				}
				d.UntilSent(t, "beat", 9) // so they beat together
				dead := map[string]bool{}
				for _, id := range pooltest.WorkerIDs(victim) {
					dead[id] = true
				}
				require.Len(t, dead, 3)
				victim.Crash()
				k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", pooltest.Nothing))
				k.Until("all are taken apart", func() bool {
					for _, e := range pooltest.Seen[event.WorkerReaped](k.Spy) {
						delete(dead, e.Worker)
					}
					return len(dead) == 0
				})
				k.Until("all is back", func() bool { return k.Number("HLEN", "claimed") == 0 })
				assert.Equal(t, ids, k.InLine("n"))
			})
		})
	}
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
			pool.Crash()
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
		pool.Crash()
	}
	return ids, dead
}
