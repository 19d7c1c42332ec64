package loss_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/lazyctx"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// shortLived are options with heartbeats that last for a second.
func (k *kit) shortLived(s *pooltest.Spy) work.WorkerOptions {
	o := k.Another(s)
	o.HeartbeatLife = time.Second
	return o
}

// TestWhatMayRunElsewhereIsEndedBefore has a worker cut off from Redis: its handler ends before another one begins the
// job, the token of the second claim is larger, and that the first worker was there all the time is no crash of its
// job.
func TestWhatMayRunElsewhereIsEndedBefore(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.Options()
		options.Connection = k.Via(proxy.DSN())
		options.HeartbeatLife, options.FenceAfter = time.Second, 900*time.Millisecond
		type note struct {
			where string
			token int64
		}
		notes, goOn := make(chan note, 10), make(chan struct{})
		cutOff := k.Start(work.NewWorkerPool(nil, 1, options).Job("n", func(ctx context.Context, job *work.Job) error {
			notes <- note{"begins in the first", job.FencingToken()}
			select {
			case <-ctx.Done():
				assert.ErrorIs(t, context.Cause(ctx), work.ErrFenced)
				notes <- note{"ends in the first", job.FencingToken()}
				return ctx.Err()
			case <-goOn:
				return nil
			}
		}))
		first := pooltest.WorkerID(cutOff)
		id := k.Enqueue("n").ID
		begun := pooltest.Receive(t, notes)
		k.Start(work.NewWorkerPool(nil, 1, k.shortLived(pooltest.NewSpy())).Job("n", func(job *work.Job) error {
			notes <- note{"begins in the second", job.FencingToken()}
			<-goOn
			return nil
		}))
		proxy.Pause()
		assert.Equal(t, note{"ends in the first", begun.token}, pooltest.Receive(t, notes))
		told := pooltest.Await[event.WorkerCutOff](t, k.Spy, nil)
		assert.Equal(t, first, told.Worker)
		assert.Equal(t, 1, told.Jobs)
		assert.GreaterOrEqual(t, told.Silence, options.FenceAfter)
		again := pooltest.Receive(t, notes)
		assert.Equal(t, "begins in the second", again.where)
		assert.Greater(t, again.token, begun.token)
		k.Until("the death is noted", func() bool { return len(k.DiedWith(id)) == 1 })

		proxy.Resume()
		pooltest.Await[event.WorkerFenced](t, k.Spy, nil)
		k.Until("it was none", func() bool { return len(k.DiedWith(id)) == 0 })
		assert.Zero(t, k.Number("ZCARD", "deaths"))
		k.Enqueue("n")
		assert.Equal(t, "begins in the first", pooltest.Receive(t, notes).where, "it goes on")
		close(goOn)
		require.NoError(t, cutOff.Drain(k.Ctx()))
		k.Empty("n")
	})
}

// TestAWorkerThatIsHeardAgainGoesOnAsBefore: nobody has taken its jobs. What it held and had not begun begins only
// then.
func TestAWorkerThatIsHeardAgainGoesOnAsBefore(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.HeartbeatLife, options.FenceAfter, options.Prefetch = time.Minute, 2*time.Second, 1
		var silent atomic.Bool
		began, goOn := make(chan string, 10), make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, options).Job("n", func(ctx context.Context, job *work.Job) error {
			began <- job.ID
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-goOn:
				return nil
			}
		})
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if silent.Load() && pooltest.NameOf(calls[0]) == "beat" {
				return nil, errors.New("nobody answers")
			}
			return pass(ctx, calls...)
		}})
		k.Start(pool)
		id := pooltest.WorkerID(pool)
		k.EnqueueAs("first", "n")
		k.EnqueueAs("second", "n")
		require.Equal(t, "first", pooltest.Receive(t, began))
		k.Until("both are held", func() bool { return k.Number("HLEN", "claimed") == 2 })
		silent.Store(true)
		pooltest.Await[event.WorkerCutOff](t, k.Spy, nil)
		k.Until("both are given back", func() bool { return k.Number("LLEN", "queue:n") == 2 })
		assert.Empty(t, began, "nothing begins meanwhile")
		silent.Store(false)
		assert.Equal(t, "first", pooltest.Receive(t, began))
		close(goOn)
		assert.Equal(t, "second", pooltest.Receive(t, began))
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, id, pooltest.WorkerID(pool))
		assert.Zero(t, pooltest.Count[event.WorkerFenced](k.Spy)+pooltest.Count[event.JobFailed](k.Spy)+
			pooltest.Count[event.ClaimGone](k.Spy))
		k.Empty("n")
	})
}

// TestAContextEndsForWhoAsksAfterAPause: the process was paused, and its timers have not rung yet.
func TestAContextEndsForWhoAsksAfterAPause(t *testing.T) {
	t.Parallel()
	parent, cancel := context.WithCancelCause(context.Background())
	f := liveness.NewFence(time.Minute, func() int { cancel(work.ErrFenced); return 1 }, func(time.Duration, int) {})
	f.Answered(time.Now())
	defer f.Stop()
	c := &lazyctx.Context{Parent: parent, Labels: parent, Gate: f}
	require.NoError(t, c.Err())
	f.Age(2 * time.Minute)
	require.Error(t, c.Err(), "the first thing that a handler asks")
	require.ErrorIs(t, context.Cause(c), work.ErrFenced)
}

func TestTheLifeOfAHeartbeatDecidesAboutItsOwnWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		reaper := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("other", func() error { return nil }))
		k.Until("it looks after the others", func() bool { return k.Text("GET", "lease") == pooltest.WorkerID(reaper) })
		pools := map[time.Duration]*work.WorkerPool{}
		for _, life := range []time.Duration{time.Second, 3 * time.Second, 30 * time.Second} {
			o := k.Another(pooltest.NewSpy())
			o.HeartbeatLife = life
			name, began := life.String(), make(chan struct{}, 1)
			pool := work.NewWorkerPool(nil, 1, o).Job(name, func(ctx context.Context) error {
				began <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			})
			require.NoError(t, pool.Start(k.Ctx()))
			k.Enqueue(name)
			pooltest.Receive(t, began)
			k.Until("just after a heartbeat more than half of its life is left", func() bool {
				left := k.Number("PTTL", "worker:"+pooltest.WorkerID(pool))
				assert.LessOrEqual(t, left, int(life.Milliseconds()))
				return left > int(life.Milliseconds())/2
			})
			pools[life] = pool
		}
		var order []string
		for _, pool := range pools {
			k.Crash(pool)
		}
		for range 2 {
			order = append(order, pooltest.Await(t, k.Spy,
				func(e event.WorkerReaped) bool { return len(order) == 0 || e.Worker != order[0] }).Worker)
		}
		assert.Equal(t, []string{pooltest.WorkerID(pools[time.Second]), pooltest.WorkerID(pools[3*time.Second])}, order)
		assert.Equal(t, 1, k.Number("SISMEMBER", "workers", pooltest.WorkerID(pools[30*time.Second])),
			"its heartbeat still stands")
	})
}

// TestAClockSetBackKeepsNobodyAlive: a worker dies, and at once Redis' clock is set back: its heartbeat, its deadline
// and the lease that it had would stand until the clock shows the old time again.
func TestAClockSetBackKeepsNobodyAlive(t *testing.T) {
	t.Parallel()
	for name, survives := range map[string]bool{"another worker sees it": true,
		"the next worker starts after it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				k.Enqueue("n", 1)
				victim := k.Holding(t, "n", 1)
				began := make(chan struct{}, 1)
				next := work.NewWorkerPool(nil, 1, k.Options()).
					Job("n", func(int) error { began <- struct{}{}; return nil })
				var behind atomic.Int64 // ms that the clock was set back, as far as this worker is told
				k.TamperWith(next, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					replies, err := pass(ctx, calls...)
					if err == nil && pooltest.NameOf(calls[0]) == "beat" {
						if answer, is := replies[0].Value.([]any); is && len(answer) > 1 {
							ms := redisconn.Read("beat", []any{answer[1]}).Number()
							answer[1] = []byte(fmt.Sprint(ms - behind.Load()))
						}
					}
					return replies, err
				}})
				if survives {
					k.Start(next)
				}
				k.Crash(victim)
				const hour = 3_600_000
				for _, key := range []string{"worker:" + pooltest.WorkerID(victim), "lease", "deputy"} {
					k.Do("SET", key, k.Text("GET", "worker:"+pooltest.WorkerID(victim)), "PX", hour, "XX")
				}
				k.Do("SET", "lease", pooltest.WorkerID(victim), "PX", hour)
				k.Do("SET", "deputy", pooltest.WorkerID(victim), "PX", hour)
				k.Do("ZINCRBY", "deadlines", hour, pooltest.WorkerID(victim))
				behind.Store(hour)
				if !survives {
					k.Start(next)
				}
				pooltest.Receive(t, began)
				k.Until("it has the lease", func() bool { return k.Text("GET", "lease") == pooltest.WorkerID(next) })
			})
		})
	}
}

// TestAWorkerThatNeverBeganIsNotCutOff: the start failed after Redis had answered its registration. The fence of the
// next start falls later than that one would have.
func TestAWorkerThatNeverBeganIsNotCutOff(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.HeartbeatLife, options.FenceAfter = time.Minute, 2*time.Second
		var silent, refused atomic.Bool
		pool := work.NewWorkerPool(nil, 1, options).JobWithOptions("n",
			work.JobOptions{Limit: work.Limit{Concurrent: 1}}, func() error { return nil })
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if name := pooltest.NameOf(calls[0]); silent.Load() && name == "beat" ||
				name == "define" && !refused.Swap(true) {
				return nil, pooltest.ErrLuck
			}
			return pass(ctx, calls...)
		}})
		require.ErrorIs(t, pool.Start(k.Ctx()), pooltest.ErrLuck)
		k.Start(pool)
		silent.Store(true)
		assert.Equal(t, pooltest.WorkerID(pool), pooltest.Await[event.WorkerCutOff](t, k.Spy, nil).Worker)
		assert.Equal(t, 1, pooltest.Count[event.WorkerCutOff](k.Spy))
		silent.Store(false)
	})
}
