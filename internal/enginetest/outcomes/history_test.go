package outcomes_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// TestHistoryCanBeTurnedOff: nothing is sent and nothing is stored, and jobs run.
func TestHistoryCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		opts := k.Options()
		opts.NoHistory = true
		pool := work.NewWorkerPool(nil, 2, opts).Job("a", func() error { return nil }).
			JobWithOptions("b", work.JobOptions{Retries: -1}, func() error { return fmt.Errorf("no") })
		d := k.TamperWith(pool, &pooltest.Tampered{})
		require.NoError(t, pool.Start(k.Ctx()))
		k.Enqueue("a")
		k.Enqueue("b")
		require.NoError(t, pool.Drain(k.Ctx()))
		d.UntilSent(t, "beat", 2)
		require.NoError(t, pool.Stop(k.Ctx()))
		tallies, _ := d.Sent("add")
		assert.Zero(t, tallies)
		history, err := k.ByHand().Sums(k.Ctx(), 0)
		require.NoError(t, err)
		assert.Empty(t, history)
		assert.Zero(t, k.Number("EXISTS", "errors"))
	})
}

// TestWhatHistoryCostsIsTold by an event for each call that Redis has taken, those of the stop together.
func TestWhatHistoryCostsIsTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 2, k.Options())
		const names = 30
		for n := range names {
			pool.Job(fmt.Sprint("n", n), func() error { return nil })
		}
		require.NoError(t, pool.Start(k.Ctx()))
		for n := range names {
			k.Enqueue(fmt.Sprint("n", n))
		}
		require.NoError(t, pool.Drain(k.Ctx()))
		require.NoError(t, pool.Stop(k.Ctx()))
		told := 0
		for _, e := range pooltest.Seen[event.HistoryTold](k.Spy) {
			told += e.Names
			assert.NotEmpty(t, e.Worker)
			assert.Positive(t, e.Every)
		}
		assert.GreaterOrEqual(t, told, names)
	})
}

// tells tells whether history is among the calls.
func tells(calls []redisconn.Call) bool {
	return slices.ContainsFunc(calls, func(call redisconn.Call) bool { return pooltest.NameOf(call) == "add" })
}

// breakHistory are the ways in which telling fails. Each does so for a few times, and then lets go.
func breakHistory(times int32) map[string]func(
	ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
) ([]redisconn.Reply, error) {
	type tamper = func(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error)
	some := func(fault tamper) tamper {
		var met atomic.Int32
		return func(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
			if tells(calls) && met.Add(1) <= times {
				return fault(ctx, pass, calls)
			}
			return pass(ctx, calls...)
		}
	}
	return map[string]tamper{
		"the answer is lost": some(func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			_, _ = pass(ctx, calls...)
			return nil, pooltest.ErrLuck
		}),
		"it is not sent": some(func(context.Context, pooltest.Send, []redisconn.Call) ([]redisconn.Reply, error) {
			return nil,
				pooltest.ErrLuck
		}),
		"it is sent twice": some(func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			_, _ = pass(ctx, calls...)
			return pass(ctx, calls...)
		}),
		"it is refused": some(func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			n := slices.IndexFunc(calls, func(call redisconn.Call) bool { return pooltest.NameOf(call) == "add" })
			replies, err := pass(ctx, slices.Delete(slices.Clone(calls), n, n+1)...)
			return slices.Insert(replies, n,
				redisconn.Reply{Err: &redisconn.ServerError{Code: "LOADING", Message: "LOADING"}}), err
		}),
	}
}

// TestHistoryIsExactWhateverIsLost: each job counts once, as the heartbeats tell and as the stop does.
func TestHistoryIsExactWhateverIsLost(t *testing.T) {
	t.Parallel()
	for name := range breakHistory(0) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := work.NewWorkerPool(nil, 4, k.Options()).
					Job("a", func() error { return nil }).
					JobWithOptions("b", work.JobOptions{Retries: -1},
						func(n int) error { return fmt.Errorf("no %d", n) })
				d := k.TamperWith(pool, &pooltest.Tampered{Tamper: breakHistory(2)[name]})
				require.NoError(t, pool.Start(k.Ctx()))
				const rounds, each = 4, 7
				for round := range rounds {
					before, _ := d.Sent("add")
					for n := range each {
						k.Enqueue("a")
						k.Enqueue("b", round*each+n)
					}
					require.NoError(t, pool.Drain(k.Ctx()))
					if round < rounds-1 { // the last is told by the stop
						k.Until("some of it is told", func() bool { now, _ := d.Sent("add"); return now > before })
					}
				}
				require.NoError(t, pool.Stop(k.Ctx()))
				k.counted("a", enginetest.SeenSums{Done: rounds * each})
				k.counted("b", enginetest.SeenSums{Failed: rounds * each, Dead: rounds * each})
				_, counts, err := k.ByHand().ErrorDigests(k.Ctx(), "")
				require.NoError(t, err)
				assert.Equal(t, []int64{rounds * each}, counts)
			})
		})
	}
}

// counted checks the sums of one name by the minute and by the day; Run and Waited have as many as there were attempts.
func (k *kit) counted(name string, want enginetest.SeenSums) {
	k.T.Helper()
	for _, by := range []time.Duration{time.Minute, 24 * time.Hour} {
		history, err := k.ByHand().Sums(k.Ctx(), by, name)
		require.NoError(k.T, err)
		want.Run = want.Done + want.Failed // whoever died has failed
		want.Waited = want.Run
		assert.Equal(k.T, want, history[name], "%s by %s", name, by)
	}
}

// TestAStopTellsWhatIsLeftInSpiteOfFaults: no heartbeat comes before it.
func TestAStopTellsWhatIsLeftInSpiteOfFaults(t *testing.T) {
	t.Parallel()
	for name := range breakHistory(0) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := work.NewWorkerPool(nil, 4, k.Options()).Job("a", func() error { return nil })
				var stopping atomic.Bool
				fault := breakHistory(2)[name]
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					if stopping.Load() {
						return fault(ctx, pass, calls)
					}
					return pass(ctx, calls...)
				}})
				require.NoError(t, pool.Start(k.Ctx()))
				k.Enqueue("a")
				require.NoError(t, pool.Drain(k.Ctx()))
				stopping.Store(true)
				require.NoError(t, pool.Stop(k.Ctx()))
				k.counted("a", enginetest.SeenSums{Done: 1})
			})
		})
	}
}

// TestAFencedWorkerTellsNothingTwice: what it told under the old id, without an answer, counted, and its lane knows
// that.
func TestAFencedWorkerTellsNothingTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 4, k.Options()).Job("a", func() error { return nil })
		var lost atomic.Bool
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			if tells(calls) && lost.CompareAndSwap(false, true) {
				k.Do("SREM", "workers", pooltest.WorkerID(pool))
				return nil, pooltest.ErrLuck
			}
			return replies, err
		}})
		k.Start(pool)
		for range 5 {
			k.Enqueue("a")
		}
		require.NoError(t, pool.Drain(k.Ctx()))
		pooltest.Await[event.WorkerFenced](t, k.Spy, nil)
		k.Enqueue("a")
		require.NoError(t, pool.Drain(k.Ctx()))
		require.NoError(t, pool.Stop(k.Ctx()))
		k.counted("a", enginetest.SeenSums{Done: 6})
	})
}

// TestHistoryThatCannotBeWrittenHoldsNothingUp: the trouble is reported once, and what was counted comes when the key
// is mended.
func TestHistoryThatCannotBeWrittenHoldsNothingUp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("SET", "errors", "x")
		pool := k.Start(work.NewWorkerPool(nil, 4, k.Options()).Job("a", func() error { return nil }))
		k.Enqueue("a")
		trouble := pooltest.Await(t, k.Spy, func(e event.Trouble) bool { return e.Component == "history" })
		assert.ErrorContains(t, trouble.Err, "errors has the wrong type")
		k.Enqueue("a")
		require.NoError(t, pool.Drain(k.Ctx()), "jobs run")
		require.NoError(t, pool.Healthy(k.Ctx()), "and the heartbeat goes on")
		k.Do("DEL", "errors")
		pooltest.Await(t, k.Spy, func(e event.TroubleOver) bool { return e.Component == "history" })
		require.NoError(t, pool.Stop(k.Ctx()))
		k.counted("a", enginetest.SeenSums{Done: 2})
	})
}

// TestALostClaimIsNotCountedTwice: whoever runs the job instead counts it.
func TestALostClaimIsNotCountedTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := pooltest.NewPatient()
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("n", p.Handle))
		k.Enqueue("n")
		pooltest.Receive(t, p.Began)
		old := pooltest.WorkerID(pool)
		require.Equal(t, 1, k.Number("SREM", "workers", old))
		assert.Error(t, pooltest.Receive(t, p.Ended), "its ctx ended")
		pooltest.Receive(t, p.Began)
		k.Until("the old one is taken apart", func() bool { return len(k.Remains(old)) == 0 })
		close(p.GoOn)
		pooltest.Await[event.ClaimGone](t, k.Spy, nil)
		require.NoError(t, pool.Drain(k.Ctx()))
		require.NoError(t, pool.Stop(k.Ctx()))
		k.counted("n", enginetest.SeenSums{Done: 1})
	})
}
