package loss_test

import (
	"context"
	"fmt"
	"slices"
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

// The workers of a pool die together, and lapse at about the same moment: what they held is in its order again, also
// where they are found dead one after the other.
func TestJobsOfAKilledPoolOfManyWorkersComeBackInOrder(t *testing.T) {
	t.Parallel()
	for seed := range 5 {
		t.Run(fmt.Sprint("kill ", seed), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				const processors = 3 * pooltest.MaxPerWorker
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
				k.Crash(victim)
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
		k.Crash(victim)
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

func TestAReaperGoesOnWhereAnotherStopped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 10))
		victim := k.Holding(t, "n", 10)
		dead := pooltest.WorkerID(victim)
		k.Crash(victim)
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

// During an upgrade workers of the version before are there: they write no deadline, and take one away with no worker.
func TestWorkersThatWriteNoDeadlineAreReaped(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 5))
		victim := k.Holding(t, "n", 5)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", func() error { return nil }))
		k.Crash(victim)
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
