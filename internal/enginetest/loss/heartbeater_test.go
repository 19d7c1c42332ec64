package loss_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestAHeartbeatLastsThreeSecondsAndIsRenewed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil }))
		last := k.Number("PTTL", "worker:"+pooltest.WorkerID(pool))
		assert.Positive(t, last)
		k.Until("it is renewed", func() bool {
			now := k.Number("PTTL", "worker:"+pooltest.WorkerID(pool))
			assert.LessOrEqual(t, now, 3000)
			renewed := now > last
			last = now
			return renewed
		})
	})
}

func TestALapsedHeartbeatEndsNoJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("n", p.Handle))
		receipt := k.Enqueue("n")
		pooltest.Receive(t, p.Began)
		id := pooltest.WorkerID(pool)
		before := k.Do("GET", "worker:"+id)
		k.Do("DEL", "worker:"+id)
		k.Until("it is written again", func() bool { return k.Number("EXISTS", "worker:"+id) == 1 })
		assert.NotEqual(t, before, k.Do("GET", "worker:"+id), "with a new since")
		close(p.GoOn)
		done := pooltest.Await[event.JobDone](t, k.Spy, nil)
		assert.Equal(t, receipt.ID, done.ID)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, id, pooltest.WorkerID(pool))
		assert.Zero(t, pooltest.Count[event.WorkerFenced](k.Spy)+pooltest.Count[event.ClaimGone](k.Spy)+
			pooltest.Count[event.DataLost](k.Spy))
		assert.Empty(t, p.Began, "it ran once")
		k.Empty("n")
	})
}

func TestAFencedWorkerGoesOnUnderANewID(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("n", p.Handle))
		receipt := k.Enqueue("n")
		require.Equal(t, receipt.ID, pooltest.Receive(t, p.Began))
		old := pooltest.WorkerID(pool)
		require.Equal(t, 1, k.Number("SREM", "workers", old))

		assert.ErrorIs(t, pooltest.Receive(t, p.Ended), work.ErrFenced)
		fenced := pooltest.Await[event.WorkerFenced](t, k.Spy, nil)
		assert.Equal(t, event.WorkerFenced{Worker: old, Next: pooltest.WorkerID(pool), Jobs: 1}, fenced)
		assert.NotEqual(t, old, pooltest.WorkerID(pool))
		assert.Equal(t, receipt.ID, pooltest.Receive(t, p.Began), "the job was put back and runs under the new id")
		k.Until("the old one is taken apart", func() bool { return len(k.Remains(old)) == 0 })

		close(p.GoOn)
		gone := pooltest.Await[event.ClaimGone](t, k.Spy, nil)
		assert.Equal(t, old, gone.Worker)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, 1, pooltest.Count[event.ClaimGone](k.Spy))
		k.Enqueue("n")
		pooltest.Receive(t, p.Began)
		require.NoError(t, pool.Drain(k.Ctx()))
		k.Empty("n")
		assert.Equal(t, []string{pooltest.WorkerID(pool)}, k.Strings("SMEMBERS", "workers"))
	})
}

func TestJobsRunOnWhenRedisLosesItsData(t *testing.T) {
	t.Parallel()
	losses := map[string]struct {
		lose    func(k *kit)
		settled bool // whether the outcome of the job that runs still finds its claim
	}{
		"all of it":      {func(k *kit) { k.Unlink(k.Keys()...) }, false},
		"but a newer id": {func(k *kit) { k.Do("SET", "epoch", "another") }, true},
	}
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				p := pooltest.NewPatient()
				pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("n", p.Handle))
				k.Enqueue("n")
				pooltest.Receive(t, p.Began)
				id := pooltest.WorkerID(pool)
				loss.lose(k)
				assert.Equal(t, event.DataLost{Worker: id, Held: 1}, pooltest.Await[event.DataLost](t, k.Spy, nil))
				k.Until("it is registered again", func() bool { return k.Number("SISMEMBER", "workers", id) == 1 })
				k.Enqueue("n")
				pooltest.Receive(t, p.Began)
				assert.Empty(t, p.Ended, "the handler runs on")
				close(p.GoOn)
				require.NoError(t, pool.Drain(k.Ctx()))
				assert.Equal(t, id, pooltest.WorkerID(pool))
				require.NoError(t, k.Stop(pool)) // what a settlement tells comes after its slots are free
				assert.Equal(t, 2, pooltest.Count[event.JobDone](k.Spy))
				assert.Equal(t, loss.settled, pooltest.Count[event.ClaimGone](k.Spy) == 0)
				assert.Equal(t, 1, pooltest.Count[event.DataLost](k.Spy))
				assert.Zero(t, pooltest.Count[event.WorkerFenced](k.Spy))
				k.Empty("n")
			})
		})
	}
}

// TestAFetchDoesNotDecideThatAWorkerIsDead: a fetch sees that the worker is not registered, but not why.
func TestAFetchDoesNotDecideThatAWorkerIsDead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("n", p.Handle))
		k.Enqueue("n")
		pooltest.Receive(t, p.Began)
		for range 3 { // at various moments between two heartbeats
			k.Unlink(k.Keys()...)
			k.Do("LPUSH", "wake:n", "1") // the fetcher asks before the heartbeat does
			k.Until("it is registered again",
				func() bool { return k.Number("SISMEMBER", "workers", pooltest.WorkerID(pool)) == 1 })
		}
		assert.Empty(t, p.Ended)
		assert.Zero(t, pooltest.Count[event.WorkerFenced](k.Spy))
		close(p.GoOn)
	})
}

func TestALapseOfAllHeartbeatsReapsNobody(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		var pools []*work.WorkerPool
		for range 3 {
			pools = append(pools, k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", p.Handle)))
			k.Enqueue("n")
			pooltest.Receive(t, p.Began)
		}
		// Redis was away: all keys have expired, and come back one by one.
		for range 2 {
			for _, pool := range pools {
				k.Do("DEL", "worker:"+pooltest.WorkerID(pool))
			}
			k.Until("all are back", func() bool {
				there := 0
				for _, pool := range pools {
					there += k.Number("EXISTS", "worker:"+pooltest.WorkerID(pool))
				}
				return there == 3
			})
		}
		close(p.GoOn)
		require.NoError(t, pools[0].Drain(k.Ctx()))
		assert.Zero(t, pooltest.Count[event.WorkerFenced](k.Spy)+pooltest.Count[event.WorkerReaped](k.Spy)+
			pooltest.Count[event.ClaimGone](k.Spy))
		assert.Empty(t, p.Began)
		k.Empty("n")
	})
}
