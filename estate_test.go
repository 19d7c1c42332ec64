package work

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// The workers of a pool die together, and lapse at about the same moment: what they held is in its order again.
func TestJobsOfAKilledPoolOfManyWorkersComeBackInOrder(t *testing.T) {
	t.Parallel()
	for seed := range 5 {
		t.Run(fmt.Sprint("kill ", seed), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				const processors = 3*maxPerWorker - 100
				k := newKit(t, s)
				ids := idsOf(k.enqueueNumbers("n", 0, processors))
				began := make(chan struct{}, processors)
				victim := NewWorkerPool(nil, processors, k.another(newSpy())).
					Job("n", func(ctx context.Context, _ int) error {
						began <- struct{}{}
						<-ctx.Done()
						return ctx.Err()
					})
				d := k.tamper(victim, &tampered{})
				k.start(victim)
				for range processors {
					receive(t, began)
				}
				d.untilSent(t, "beat", 9) // so they beat together
				dead := map[string]bool{}
				for _, w := range victim.current() {
					dead[w.claimant().rdb.ID] = true
				}
				require.Len(t, dead, 3)
				victim.crash()
				k.start(NewWorkerPool(nil, 1, k.options()).Job("other", nothing))
				k.until("all are taken apart", func() bool {
					for _, e := range seen[event.WorkerReaped](k.spy) {
						delete(dead, e.Worker)
					}
					return len(dead) == 0
				})
				k.until("all is back", func() bool { return k.number("HLEN", "claimed") == 0 })
				assert.Equal(t, ids, k.queued("n"))
			})
		})
	}
}

// Workers of several processes have fetched by turns, in whatever order they are found dead.
func TestJobsOfSeveralDeadWorkersComeBackInTheOrderOfTheirFetches(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		other := k.start(NewWorkerPool(nil, 1, k.options()).Job("other", nothing))
		var pools []*WorkerPool
		began := make(chan string, 100)
		for range 3 {
			pools = append(pools, k.start(NewWorkerPool(nil, 10, k.another(newSpy())).
				Job("n", func(ctx context.Context, job *Job, _ int) error {
					began <- job.ID
					<-ctx.Done()
					return ctx.Err()
				})))
		}
		var ids []string
		for i := range 30 { // each is fetched in a millisecond of its own
			ids = append(ids, idsOf(k.enqueueNumbers("n", i, i+1))...)
			require.Equal(t, ids[i], receive(t, began))
			k.nextMillisecond()
		}
		var dead []string
		for _, pool := range pools {
			dead = append(dead, pool.id())
			pool.crash()
		}
		slices.Reverse(dead)
		reaper := &deadPoolReaper{worker: other.workers[0]}
		for _, id := range dead { // one in each look
			left, err := reaper.salvage(k.ctx(), id)
			require.NoError(t, err)
			assert.Empty(t, left)
		}
		assert.Equal(t, ids, k.queued("n"))
		assert.Equal(t, 30, k.number("HLEN", "crashes"))
	})
}

// nextMillisecond waits until Redis' clock shows another one.
func (k *kit) nextMillisecond() {
	now := func() int64 {
		at, err := k.enq.core.store.Time(k.ctx())
		require.NoError(k.t, err)
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
		other := k.start(NewWorkerPool(nil, 1, k.options()).Job("other", nothing))
		ids, dead := k.deadWithJobs(2, 5)
		reaper := &deadPoolReaper{worker: other.workers[0]}
		k.do("HSET", "running:n", "of another type", "x")
		for range 3 {
			left, err := reaper.salvage(k.ctx(), dead...)
			require.Error(t, err)
			require.Len(t, left, 2)
			require.LessOrEqual(t, len(reaper.given["n"]), len(ids), "it does not grow with the looks")
		}
		k.do("DEL", "running:n")
		left, err := reaper.salvage(k.ctx(), dead...)
		require.NoError(t, err)
		assert.Empty(t, left)
		assert.Equal(t, ids, k.queued("n"), "each once, in their order")
	})
}

// What is known of a dead worker may be broken: its jobs go back all the same, and nothing is left of it.
func TestADeadWorkerWhoseInfoIsBrokenIsTakenApart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		other := k.start(NewWorkerPool(nil, 1, k.options()).Job("other", nothing))
		ids, dead := k.deadWithJobs(1, 3)
		k.do("DEL", "worker:"+dead[0]+":info")
		k.do("SADD", "worker:"+dead[0]+":info", "x")
		k.do("SREM", "workers", dead[0])
		k.do("SADD", "dead", dead[0])
		reaper := &deadPoolReaper{worker: other.workers[0]}
		left, err := reaper.salvage(k.ctx(), dead...)
		require.NoError(t, err)
		assert.Empty(t, left)
		assert.Equal(t, ids, k.queued("n"))
		assert.Zero(t, k.number("SCARD", "dead"))
	})
}

// deadWithJobs are workers that died while they ran so many jobs each, and the jobs in the order in which they were
// fetched.
func (k *kit) deadWithJobs(workers, each int) (ids, dead []string) {
	k.t.Helper()
	began := make(chan string, workers*each)
	var pools []*WorkerPool
	for range workers {
		pools = append(pools, k.start(NewWorkerPool(nil, each, k.another(newSpy())).
			Job("n", func(ctx context.Context, job *Job, _ int) error {
				began <- job.ID
				<-ctx.Done()
				return ctx.Err()
			})))
	}
	for i := range workers * each {
		ids = append(ids, idsOf(k.enqueueNumbers("n", i, i+1))...)
		require.Equal(k.t, ids[i], receive(k.t, began))
		k.nextMillisecond()
	}
	for _, pool := range pools {
		dead = append(dead, pool.id())
		pool.crash()
	}
	return ids, dead
}
