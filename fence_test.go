package work

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// shortLived are options with heartbeats that last for a second.
func (k *kit) shortLived(s *spy) WorkerOptions {
	o := k.another(s)
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
		options := k.options()
		options.Redis, options.HeartbeatLife, options.FenceAfter = proxy.DSN(), time.Second, 900*time.Millisecond
		type note struct {
			where string
			token int64
		}
		notes, goOn := make(chan note, 10), make(chan struct{})
		cutOff := k.start(NewWorkerPool(nil, 1, options).Job("n", func(ctx context.Context, job *Job) error {
			notes <- note{"begins in the first", job.FencingToken()}
			select {
			case <-ctx.Done():
				assert.ErrorIs(t, context.Cause(ctx), ErrFenced)
				notes <- note{"ends in the first", job.FencingToken()}
				return ctx.Err()
			case <-goOn:
				return nil
			}
		}))
		first := cutOff.id()
		id := k.enqueue("n").ID
		begun := receive(t, notes)
		k.start(NewWorkerPool(nil, 1, k.shortLived(newSpy())).Job("n", func(job *Job) error {
			notes <- note{"begins in the second", job.FencingToken()}
			<-goOn
			return nil
		}))
		proxy.Pause()
		assert.Equal(t, note{"ends in the first", begun.token}, receive(t, notes))
		told := await[event.WorkerCutOff](t, k.spy, nil)
		assert.Equal(t, first, told.Worker)
		assert.Equal(t, 1, told.Jobs)
		assert.GreaterOrEqual(t, told.Silence, options.FenceAfter)
		again := receive(t, notes)
		assert.Equal(t, "begins in the second", again.where)
		assert.Greater(t, again.token, begun.token)
		k.until("the death is noted", func() bool { return len(k.diedWith(id)) == 1 })

		proxy.Resume()
		await[event.WorkerFenced](t, k.spy, nil)
		k.until("it was none", func() bool { return len(k.diedWith(id)) == 0 })
		assert.Zero(t, k.number("ZCARD", "deaths"))
		k.enqueue("n")
		assert.Equal(t, "begins in the first", receive(t, notes).where, "it goes on")
		close(goOn)
		require.NoError(t, cutOff.Drain(k.ctx()))
		k.empty("n")
	})
}

// TestAWorkerThatIsHeardAgainGoesOnAsBefore: nobody has taken its jobs. What it held and had not begun begins only
// then.
func TestAWorkerThatIsHeardAgainGoesOnAsBefore(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.HeartbeatLife, options.FenceAfter, options.Prefetch = time.Minute, 2*time.Second, 1
		var silent atomic.Bool
		began, goOn := make(chan string, 10), make(chan struct{})
		pool := NewWorkerPool(nil, 1, options).Job("n", func(ctx context.Context, job *Job) error {
			began <- job.ID
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-goOn:
				return nil
			}
		})
		k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			if silent.Load() && nameOf(calls[0]) == "beat" {
				return nil, errors.New("nobody answers")
			}
			return pass(ctx, calls...)
		}})
		k.start(pool)
		id := pool.id()
		k.enqueueAs("first", "n")
		k.enqueueAs("second", "n")
		require.Equal(t, "first", receive(t, began))
		k.until("both are held", func() bool { return k.number("HLEN", "claimed") == 2 })
		silent.Store(true)
		await[event.WorkerCutOff](t, k.spy, nil)
		k.until("both are given back", func() bool { return k.number("LLEN", "queue:n") == 2 })
		assert.Empty(t, began, "nothing begins meanwhile")
		silent.Store(false)
		assert.Equal(t, "first", receive(t, began))
		close(goOn)
		assert.Equal(t, "second", receive(t, began))
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Equal(t, id, pool.id())
		assert.Zero(t, count[event.WorkerFenced](k.spy)+count[event.JobFailed](k.spy)+count[event.ClaimGone](k.spy))
		k.empty("n")
	})
}

// TestAFenceFallsForWhoAsksAfterAPause: the process was paused, and its timers have not rung yet.
func TestAFenceFallsForWhoAsksAfterAPause(t *testing.T) {
	t.Parallel()
	parent, cancel := context.WithCancelCause(context.Background())
	falls := 0
	f := &fence{after: time.Minute, fall: func() int { falls++; cancel(ErrFenced); return 1 },
		tell: func(time.Duration, int) {}}
	assert.False(t, f.isDown(), "before the first heartbeat")
	f.answered(time.Now())
	defer f.stop()
	c := &runContext{parent: parent, labels: parent, fence: f}
	require.NoError(t, c.Err())
	assert.False(t, f.isDown())

	f.heard = f.heard.Add(-2 * time.Minute)
	require.Error(t, c.Err(), "the first thing that a handler asks")
	require.ErrorIs(t, context.Cause(c), ErrFenced)
	f.answered(time.Now().Add(-90 * time.Second))
	assert.True(t, f.isDown(), "the answer came too late: it was sent before the pause")
	assert.Equal(t, 1, falls)
	f.answered(time.Now())
	assert.False(t, f.isDown())

	off := &fence{}
	off.answered(time.Now().Add(-time.Hour))
	assert.False(t, off.isDown(), "nobody asked for it")
}

func TestTheLifeOfAHeartbeatDecidesAboutItsOwnWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		reaper := k.start(NewWorkerPool(nil, 1, k.options()).Job("other", func() error { return nil }))
		k.until("it looks after the others", func() bool { return k.text("GET", "lease") == reaper.id() })
		pools := map[time.Duration]*WorkerPool{}
		for _, life := range []time.Duration{time.Second, 3 * time.Second, 30 * time.Second} {
			o := k.another(newSpy())
			o.HeartbeatLife = life
			name, began := life.String(), make(chan struct{}, 1)
			pool := NewWorkerPool(nil, 1, o).Job(name, func(ctx context.Context) error {
				began <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			})
			require.NoError(t, pool.Start(k.ctx()))
			k.enqueue(name)
			receive(t, began)
			k.until("just after a heartbeat more than half of its life is left", func() bool {
				left := k.number("PTTL", "worker:"+pool.id())
				assert.LessOrEqual(t, left, int(life.Milliseconds()))
				return left > int(life.Milliseconds())/2
			})
			pools[life] = pool
		}
		var order []string
		for _, pool := range pools {
			pool.crash()
		}
		for range 2 {
			order = append(order, await(t, k.spy,
				func(e event.WorkerReaped) bool { return len(order) == 0 || e.Worker != order[0] }).Worker)
		}
		assert.Equal(t, []string{pools[time.Second].id(), pools[3*time.Second].id()}, order)
		assert.Equal(t, 1, k.number("SISMEMBER", "workers", pools[30*time.Second].id()), "its heartbeat still stands")
	})
}

func TestOptionsOfHeartbeatsAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		life, fence time.Duration
		wrong       string
	}{
		{0, 0, ""}, {time.Second, 0, ""}, {10 * time.Minute, time.Hour, ""}, {0, 2 * time.Second, ""},
		{time.Second, 667 * time.Millisecond, ""},
		{999 * time.Millisecond, 0, "give 1s to 10m0s, or 0 for 3s"},
		{11 * time.Minute, 0, "give 1s to 10m0s"},
		{-1, 0, "HeartbeatLife"},
		{0, -1, "WorkerOptions.FenceAfter"},
		{0, 1999 * time.Millisecond, "give 2s or more, which is two heartbeats, up to 3s, the HeartbeatLife"},
		{time.Minute, time.Second, "give 2s or more, which is two heartbeats, up to 1m0s"},
		{time.Second, 600 * time.Millisecond, "two heartbeats, up to 1s"},
	} {
		t.Run(fmt.Sprint(c.life, " ", c.fence), func(t *testing.T) {
			t.Parallel()
			mistakes := WorkerOptions{HeartbeatLife: c.life, FenceAfter: c.fence}.withDefaults().validate()
			if c.wrong == "" {
				assert.Empty(t, mistakes)
				return
			}
			require.Len(t, mistakes, 1)
			assert.Contains(t, mistakes[0].Error(), c.wrong)
		})
	}
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
				k.enqueue("n", 1)
				victim := k.holding(t, "n", 1)
				began := make(chan struct{}, 1)
				next := NewWorkerPool(nil, 1, k.options()).Job("n", func(int) error { began <- struct{}{}; return nil })
				var behind atomic.Int64 // ms that the clock was set back, as far as this worker is told
				k.tamper(next, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
					error) {
					replies, err := pass(ctx, calls...)
					if err == nil && nameOf(calls[0]) == "beat" {
						if answer, is := replies[0].Value.([]any); is && len(answer) > 1 {
							ms := rdb.Read("beat", []any{answer[1]}).Number()
							answer[1] = []byte(fmt.Sprint(ms - behind.Load()))
						}
					}
					return replies, err
				}})
				if survives {
					k.start(next)
				}
				victim.crash()
				const hour = 3_600_000
				for _, key := range []string{"worker:" + victim.id(), "lease", "deputy"} {
					k.do("SET", key, k.text("GET", "worker:"+victim.id()), "PX", hour, "XX")
				}
				k.do("SET", "lease", victim.id(), "PX", hour)
				k.do("SET", "deputy", victim.id(), "PX", hour)
				k.do("ZINCRBY", "deadlines", hour, victim.id())
				behind.Store(hour)
				if !survives {
					k.start(next)
				}
				receive(t, began)
				k.until("it has the lease", func() bool { return k.text("GET", "lease") == next.id() })
			})
		})
	}
}
