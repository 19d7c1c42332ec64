package work

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// later enqueues a job and returns it with when it is due.
func (k *kit) later(name string, in time.Duration, args ...any) Receipt {
	k.t.Helper()
	receipt, err := k.enq.EnqueueIn(k.ctx(), name, in, args...)
	require.NoError(k.t, err)
	return receipt
}

// leased waits until the pool does the maintenance and hears hints.
func (k *kit) leased(p *WorkerPool) {
	k.t.Helper()
	k.until("the pool has the lease", p.workers[0].daemons.leased.Load)
	conn, err := redis.Dial("tcp", k.server.Addr())
	require.NoError(k.t, err)
	defer conn.Close()
	k.until("it is subscribed", func() bool {
		reply, err := redis.IntMap(conn.Do("PUBSUB", "NUMSUB", p.store.Control()))
		return err == nil && reply[p.store.Control()] > 0
	})
}

// silence takes from heartbeats what they tell of due jobs.
func silence(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
	replies, err := pass(ctx, calls...)
	if err == nil && nameOf(calls[0]) == "beat" {
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
		pool := NewWorkerPool(nil, 1, k.options()).Job("later", func() error { started <- time.Now(); return nil })
		k.tamper(pool, &tampered{tamper: silence})
		k.start(pool)
		k.leased(pool)
		least := time.Hour
		for range 3 {
			due := time.Now().Add(200 * time.Millisecond)
			k.later("later", 200*time.Millisecond)
			late := receive(t, started).Sub(due)
			assert.Greater(t, late, -20*time.Millisecond, "not before it is due")
			least = min(least, late)
		}
		assert.Less(t, least, beatInterval/2)
	})
}

func TestALostHintCostsAtMostAHeartbeat(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		started := make(chan time.Time, 1)
		pool := NewWorkerPool(nil, 1, k.options()).Job("later", func() error { started <- time.Now(); return nil })
		d := k.tamper(pool, &tampered{deaf: true})
		k.start(pool)
		k.until("the pool has the lease", pool.workers[0].daemons.leased.Load)
		k.later("later", 50*time.Millisecond)
		before, _ := d.sent("beat")
		receive(t, started)
		after, _ := d.sent("beat")
		assert.LessOrEqual(t, after-before, 3, "the next heartbeat tells when it is due")
	})
}

func TestAllThatIsDueAtOnceIsMovedPageByPage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const jobs = 1200
		var entries []Entry
		for i := range jobs {
			entries = append(entries, Entry{Name: "later", Args: []any{i}, In: time.Hour})
		}
		receipts, err := k.enq.EnqueueMany(k.ctx(), entries)
		require.NoError(t, err)
		require.Equal(t, jobs, k.number("ZCARD", "scheduled"))
		at := time.Now().Add(500 * time.Millisecond)
		sooner := []any{"XX"}
		for _, receipt := range receipts {
			sooner = append(sooner, at.UnixMilli(), receipt.ID)
		}
		k.do("ZADD", "scheduled", sooner...)
		var early atomic.Int64
		ran := make(chan int, jobs+1)
		pool := k.start(NewWorkerPool(nil, 20, k.options()).Job("later", func(n int) error {
			if time.Now().Before(at.Add(-20 * time.Millisecond)) {
				early.Add(1)
			}
			ran <- n
			return nil
		}))
		times := make([]int, jobs)
		for range jobs {
			times[receive(t, ran)]++
		}
		for n, ran := range times {
			require.Equal(t, 1, ran, n)
		}
		assert.Zero(t, early.Load())
		require.NoError(t, pool.Drain(k.ctx()))
		k.empty("later")
	})
}

func TestWhatCannotBeMovedIsPassedByAndReportedOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		bad  int
		spot func(k *kit, i int)
	}{
		"a record that cannot be read": {1, func(k *kit, i int) {
			k.do("HSET", "jobs", fmt.Sprint("bad", i), "no json")
			k.do("ZADD", "scheduled", i+1, fmt.Sprint("bad", i))
		}},
		"more of them than a page holds": {rdb.MaxBatch + 100, func(k *kit, i int) {
			k.do("HSET", "jobs", fmt.Sprint("bad", i), "no json")
			k.do("ZADD", "scheduled", i+1, fmt.Sprint("bad", i))
		}},
		"a queue of a wrong type": {2, func(k *kit, i int) {
			k.do("SET", "queue:broken", "no list")
			k.do("HSET", "jobs", fmt.Sprint("bad", i), `{"jid":"bad","name":"broken"}`)
			k.do("HSET", "names", fmt.Sprint("bad", i), "broken")
			k.do("ZADD", "scheduled", i+1, fmt.Sprint("bad", i))
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
				k.later("later", time.Millisecond, 1)
				k.start(NewWorkerPool(nil, 1, k.options()).Job("later", func(n int) error { ran <- n; return nil }))
				assert.Equal(t, 1, receive(t, ran))
				k.later("later", 10*time.Millisecond, 2)
				assert.Equal(t, 2, receive(t, ran), "in a later look")
				assert.Equal(t, c.bad, count[event.KeyBroken](k.spy))
				assert.Equal(t, c.bad, k.number("ZCARD", "scheduled"), "they are kept")
			})
		})
	}
}

func TestAJobWhoseQueueIsNotNotedIsMovedByItsRecord(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan int, 1)
		receipt := k.later("later", 300*time.Millisecond, 7)
		require.Equal(t, 1, k.number("HDEL", "names", receipt.ID))
		k.do("ZADD", "scheduled", 1, "ghost")
		k.do("HSET", "names", "ghost", "later")
		k.do("ZADD", "scheduled", 2, "nameless ghost")
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("later", func(n int) error { ran <- n; return nil }))
		assert.Equal(t, 7, receive(t, ran))
		require.NoError(t, pool.Drain(k.ctx()))
		k.empty("later")
		assert.Zero(t, count[event.KeyBroken](k.spy))
	})
}

func TestTheMaintenanceMovesToAnotherPoolWhenItsHolderDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		first := k.start(NewWorkerPool(nil, 1, k.another(newSpy())).Job("other", func() error { return nil }))
		k.until("the first has the lease", first.workers[0].daemons.leased.Load)
		ran := make(chan int, 1)
		second := k.start(NewWorkerPool(nil, 1, k.options()).Job("later", func(n int) error { ran <- n; return nil }))
		require.Equal(t, []byte(first.id()), k.do("GET", "lease"))
		assert.False(t, second.workers[0].daemons.leased.Load())
		first.crash()
		k.later("later", 10*time.Millisecond, 1)
		assert.Equal(t, 1, receive(t, ran))
		assert.Equal(t, []byte(second.id()), k.do("GET", "lease"))
	})
}
