package work

import (
	"context"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// patient is a handler that tells when it begins, and goes on when it is told or when its ctx ends.
type patient struct {
	began chan string
	ended chan error // the cause with which its ctx ended
	goOn  chan struct{}
}

func newPatient() *patient {
	return &patient{began: make(chan string, 10), ended: make(chan error, 10), goOn: make(chan struct{})}
}

func (p *patient) handle(ctx context.Context, job *Job) error {
	p.began <- job.ID
	select {
	case <-ctx.Done():
		p.ended <- context.Cause(ctx)
		<-p.goOn
	case <-p.goOn:
	}
	return nil
}

func TestAHeartbeatLastsThreeSecondsAndIsRenewed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("n", func() error { return nil }))
		last := k.number("PTTL", "worker:"+pool.id())
		assert.Positive(t, last)
		k.until("it is renewed", func() bool {
			now := k.number("PTTL", "worker:"+pool.id())
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
		p := newPatient()
		pool := k.start(NewWorkerPool(nil, 2, k.options()).Job("n", p.handle))
		receipt := k.enqueue("n")
		receive(t, p.began)
		id := pool.id()
		before := k.do("GET", "worker:"+id)
		k.do("DEL", "worker:"+id)
		k.until("it is written again", func() bool { return k.number("EXISTS", "worker:"+id) == 1 })
		assert.NotEqual(t, before, k.do("GET", "worker:"+id), "with a new since")
		close(p.goOn)
		done := await[event.JobDone](t, k.spy, nil)
		assert.Equal(t, receipt.ID, done.ID)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Equal(t, id, pool.id())
		assert.Zero(t, count[event.WorkerFenced](k.spy)+count[event.ClaimGone](k.spy)+count[event.DataLost](k.spy))
		assert.Empty(t, p.began, "it ran once")
		k.empty("n")
	})
}

func TestAFencedWorkerGoesOnUnderANewID(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := newPatient()
		pool := k.start(NewWorkerPool(nil, 2, k.options()).Job("n", p.handle))
		receipt := k.enqueue("n")
		require.Equal(t, receipt.ID, receive(t, p.began))
		old := pool.id()
		require.Equal(t, 1, k.number("SREM", "workers", old))

		assert.ErrorIs(t, receive(t, p.ended), ErrFenced)
		fenced := await[event.WorkerFenced](t, k.spy, nil)
		assert.Equal(t, event.WorkerFenced{Worker: old, Next: pool.id(), Jobs: 1}, fenced)
		assert.NotEqual(t, old, pool.id())
		assert.Equal(t, receipt.ID, receive(t, p.began), "the job was put back and runs under the new id")
		k.until("the old one is taken apart", func() bool { return len(k.remains(old)) == 0 })

		close(p.goOn)
		gone := await[event.ClaimGone](t, k.spy, nil)
		assert.Equal(t, old, gone.Worker)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Equal(t, 1, count[event.ClaimGone](k.spy))
		k.enqueue("n")
		receive(t, p.began)
		require.NoError(t, pool.Drain(k.ctx()))
		k.empty("n")
		assert.Equal(t, []string{pool.id()}, k.strings("SMEMBERS", "workers"))
	})
}

// TestAnOutcomeOfAFencedWorkerCountsWhileNobodyTookItsJob: the job was done, and doing it again would be worse.
func TestAnOutcomeOfAFencedWorkerCountsWhileNobodyTookItsJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		done := make(chan struct{})
		began := make(chan struct{}, 10)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("n", func(ctx context.Context) error {
			began <- struct{}{}
			<-ctx.Done()
			close(done)
			return nil
		}))
		pool.workers[0].daemons.stop() // so that nobody takes the job, however long the handler needs on a busy machine
		k.enqueue("n")
		receive(t, began)
		require.Equal(t, 1, k.number("SREM", "workers", pool.id()))
		receive(t, done)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Empty(t, began)
		assert.Zero(t, count[event.ClaimGone](k.spy))
		k.empty("n")
	})
}

// wipe is what FLUSHALL does, in this test's namespace only.
func (k *kit) wipe() {
	conn, err := redis.Dial("tcp", k.server.Addr())
	require.NoError(k.t, err)
	defer conn.Close()
	_, err = conn.Do("DEL", redis.Args{}.AddFlat(k.remains(""))...)
	require.NoError(k.t, err)
}

func TestJobsRunOnWhenRedisLosesItsData(t *testing.T) {
	t.Parallel()
	losses := map[string]struct {
		lose    func(k *kit)
		settled bool // whether the outcome of the job that runs still finds its claim
	}{
		"all of it":      {func(k *kit) { k.wipe() }, false},
		"but a newer id": {func(k *kit) { k.do("SET", "epoch", "another") }, true},
	}
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				p := newPatient()
				pool := k.start(NewWorkerPool(nil, 2, k.options()).Job("n", p.handle))
				k.enqueue("n")
				receive(t, p.began)
				id := pool.id()
				loss.lose(k)
				assert.Equal(t, event.DataLost{Worker: id, Held: 1}, await[event.DataLost](t, k.spy, nil))
				k.until("it is registered again", func() bool { return k.number("SISMEMBER", "workers", id) == 1 })
				k.enqueue("n")
				receive(t, p.began)
				assert.Empty(t, p.ended, "the handler runs on")
				close(p.goOn)
				require.NoError(t, pool.Drain(k.ctx()))
				k.until("both have ended",
					func() bool { return count[event.JobDone](k.spy) == 2 && pool.workers[0].slots.held.Load() == 0 })
				assert.Equal(t, loss.settled, count[event.ClaimGone](k.spy) == 0)
				assert.Equal(t, 1, count[event.DataLost](k.spy))
				assert.Zero(t, count[event.WorkerFenced](k.spy))
				assert.Equal(t, id, pool.id())
				k.empty("n")
			})
		})
	}
}

// TestAFetchDoesNotDecideThatAWorkerIsDead: a fetch sees that the worker is not registered, but not why.
func TestAFetchDoesNotDecideThatAWorkerIsDead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := newPatient()
		pool := k.start(NewWorkerPool(nil, 2, k.options()).Job("n", p.handle))
		k.enqueue("n")
		receive(t, p.began)
		for range 3 { // at various moments between two heartbeats
			k.wipe()
			k.do("LPUSH", "wake:n", "1") // the fetcher asks before the heartbeat does
			k.until("it is registered again", func() bool { return k.number("SISMEMBER", "workers", pool.id()) == 1 })
		}
		assert.Empty(t, p.ended)
		assert.Zero(t, count[event.WorkerFenced](k.spy))
		close(p.goOn)
	})
}

func TestALapseOfAllHeartbeatsReapsNobody(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := newPatient()
		var pools []*WorkerPool
		for range 3 {
			pools = append(pools, k.start(NewWorkerPool(nil, 1, k.options()).Job("n", p.handle)))
			k.enqueue("n")
			receive(t, p.began)
		}
		// Redis was away: all keys have expired, and come back one by one.
		for range 2 {
			for _, pool := range pools {
				k.do("DEL", "worker:"+pool.id())
			}
			k.until("all are back", func() bool {
				there := 0
				for _, pool := range pools {
					there += k.number("EXISTS", "worker:"+pool.id())
				}
				return there == 3
			})
		}
		close(p.goOn)
		require.NoError(t, pools[0].Drain(k.ctx()))
		assert.Zero(t, count[event.WorkerFenced](k.spy)+count[event.WorkerReaped](k.spy)+count[event.ClaimGone](k.spy))
		assert.Empty(t, p.began)
		k.empty("n")
	})
}
