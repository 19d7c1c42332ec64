package schedules_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// leased waits until the pool does the maintenance and hears hints.
func (k *kit) leased(p *work.WorkerPool) {
	k.T.Helper()
	k.UntilLeased(p)
	conn, err := redis.Dial("tcp", k.Server.Addr())
	require.NoError(k.T, err)
	defer conn.Close()
	k.Until("it is subscribed", func() bool {
		for _, kind := range []string{"SHARDNUMSUB", "NUMSUB"} { // the embedded Redis knows the second one only
			heard, err := redis.IntMap(conn.Do("PUBSUB", kind, k.Raw().Control()))
			if err == nil && heard[k.Raw().Control()] > 0 {
				return true
			}
		}
		return false
	})
}

// silence takes from heartbeats what they tell of due jobs.
func silence(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
	replies, err := pass(ctx, calls...)
	if err == nil && pooltest.NameOf(calls[0]) == "beat" {
		if list, ok := replies[0].Value.([]any); ok && len(list) >= 5 {
			list[3], list[4] = nil, nil
		}
	}
	return replies, err
}

func TestAHintMakesAJobPunctualThatIsDueBeforeTheNextHeartbeat(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		started := make(chan time.Time, 1)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("later", func() error { started <- time.Now(); return nil })
		k.TamperWith(pool, &pooltest.Tampered{Tamper: silence})
		k.Start(pool)
		k.leased(pool)
		least := time.Hour
		for range 3 {
			due := time.Now().Add(200 * time.Millisecond)
			k.Later("later", 200*time.Millisecond)
			late := pooltest.Receive(t, started).Sub(due)
			assert.Greater(t, late, -20*time.Millisecond, "not before it is due")
			least = min(least, late)
		}
		assert.Less(t, least, liveness.Interval/2)
	})
}

func TestALostHintCostsAtMostAHeartbeat(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		started := make(chan time.Time, 1)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("later", func() error { started <- time.Now(); return nil })
		d := k.TamperWith(pool, &pooltest.Tampered{Deaf: true})
		k.Start(pool)
		k.UntilLeased(pool)
		k.Later("later", 50*time.Millisecond)
		before, _ := d.Sent("beat")
		pooltest.Receive(t, started)
		after, _ := d.Sent("beat")
		assert.LessOrEqual(t, after-before, 3, "the next heartbeat tells when it is due")
	})
}

func TestAllThatIsDueAtOnceIsMovedPageByPage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const jobs = 1200
		var entries []work.Entry
		for i := range jobs {
			entries = append(entries, work.Entry{Name: "later", Args: []any{i}, In: time.Hour})
		}
		receipts, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		require.Equal(t, jobs, k.Number("ZCARD", "scheduled"))
		at := time.Now().Add(500 * time.Millisecond)
		sooner := []any{"XX"}
		for _, receipt := range receipts {
			sooner = append(sooner, at.UnixMilli(), receipt.ID)
		}
		k.Do("ZADD", "scheduled", sooner...)
		var early atomic.Int64
		ran := make(chan int, jobs+1)
		pool := k.Start(work.NewWorkerPool(nil, 20, k.Options()).Job("later", func(n int) error {
			if time.Now().Before(at.Add(-20 * time.Millisecond)) {
				early.Add(1)
			}
			ran <- n
			return nil
		}))
		times := make([]int, jobs)
		for range jobs {
			times[pooltest.Receive(t, ran)]++
		}
		for n, ran := range times {
			require.Equal(t, 1, ran, n)
		}
		assert.Zero(t, early.Load())
		require.NoError(t, pool.Drain(k.Ctx()))
		k.Empty("later")
	})
}

func TestWhatCannotBeMovedIsPassedByAndReportedOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		bad  int
		spot func(k *kit, i int)
	}{
		"a record that cannot be read": {1, func(k *kit, i int) {
			k.Do("HSET", "jobs", fmt.Sprint("bad", i), "no json")
			k.Do("ZADD", "scheduled", i+1, fmt.Sprint("bad", i))
		}},
		"more of them than a page holds": {rdb.MaxBatch + 100, func(k *kit, i int) {
			k.Do("HSET", "jobs", fmt.Sprint("bad", i), "no json")
			k.Do("ZADD", "scheduled", i+1, fmt.Sprint("bad", i))
		}},
		"a queue of a wrong type": {2, func(k *kit, i int) {
			k.Do("SET", "queue:broken", "no list")
			k.Do("HSET", "jobs", fmt.Sprint("bad", i), `{"jid":"bad","name":"broken"}`)
			k.Do("HSET", "names", fmt.Sprint("bad", i), "broken")
			k.Do("ZADD", "scheduled", i+1, fmt.Sprint("bad", i))
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				for i := range c.bad {
					c.spot(k, i)
				}
				ran := make(chan int, 10)
				k.Later("later", time.Millisecond, 1)
				k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					Job("later", func(n int) error { ran <- n; return nil }))
				assert.Equal(t, 1, pooltest.Receive(t, ran))
				k.Later("later", 10*time.Millisecond, 2)
				assert.Equal(t, 2, pooltest.Receive(t, ran), "in a later look")
				assert.Equal(t, c.bad, pooltest.Count[event.KeyBroken](k.Spy))
				assert.Equal(t, c.bad, k.Number("ZCARD", "scheduled"), "they are kept")
			})
		})
	}
}

func TestAJobWhoseQueueIsNotNotedIsMovedByItsRecord(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan int, 1)
		receipt := k.Later("later", 300*time.Millisecond, 7)
		require.Equal(t, 1, k.Number("HDEL", "names", receipt.ID))
		k.Do("ZADD", "scheduled", 1, "ghost")
		k.Do("HSET", "names", "ghost", "later")
		k.Do("ZADD", "scheduled", 2, "nameless ghost")
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("later", func(n int) error { ran <- n; return nil }))
		assert.Equal(t, 7, pooltest.Receive(t, ran))
		require.NoError(t, pool.Drain(k.Ctx()))
		k.Empty("later")
		assert.Zero(t, pooltest.Count[event.KeyBroken](k.Spy))
	})
}

func TestTheMaintenanceMovesToAnotherPoolWhenItsHolderDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		first := k.Start(work.NewWorkerPool(nil, 1, k.Another(pooltest.NewSpy())).
			Job("other", func() error { return nil }))
		k.UntilLeased(first)
		ran := make(chan int, 1)
		second := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("later", func(n int) error { ran <- n; return nil }))
		require.Equal(t, []byte(pooltest.WorkerID(first)), k.Do("GET", "lease"))
		assert.False(t, pooltest.Leased(second))
		k.Crash(first)
		k.Later("later", 10*time.Millisecond, 1)
		assert.Equal(t, 1, pooltest.Receive(t, ran))
		assert.Equal(t, []byte(pooltest.WorkerID(second)), k.Do("GET", "lease"))
	})
}
