package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

var errTampered = errors.New("the connection broke")

// tells tells whether history is among the calls.
func tells(calls []rdb.Call) bool {
	return slices.ContainsFunc(calls, func(call rdb.Call) bool { return nameOf(call) == "add" })
}

// breakHistory are the ways in which telling fails. Each does so for a few times, and then lets go.
func breakHistory(times int32) map[string]func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
	type tamper = func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error)
	some := func(fault tamper) tamper {
		var met atomic.Int32
		return func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			if tells(calls) && met.Add(1) <= times {
				return fault(ctx, pass, calls)
			}
			return pass(ctx, calls...)
		}
	}
	return map[string]tamper{
		"the answer is lost": some(func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			_, _ = pass(ctx, calls...)
			return nil, errTampered
		}),
		"it is not sent": some(func(context.Context, send, []rdb.Call) ([]rdb.Reply, error) {
			return nil,
				errTampered
		}),
		"it is sent twice": some(func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			_, _ = pass(ctx, calls...)
			return pass(ctx, calls...)
		}),
		"it is refused": some(func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			n := slices.IndexFunc(calls, func(call rdb.Call) bool { return nameOf(call) == "add" })
			replies, err := pass(ctx, slices.Delete(slices.Clone(calls), n, n+1)...)
			return slices.Insert(replies, n, rdb.Reply{Err: &rdb.ServerError{Code: "LOADING", Message: "LOADING"}}), err
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
				pool := NewWorkerPool(nil, 4, k.options()).
					Job("a", func() error { return nil }).
					JobWithOptions("b", JobOptions{Retries: -1}, func(n int) error { return fmt.Errorf("no %d", n) })
				d := k.tamper(pool, &tampered{tamper: breakHistory(2)[name]})
				require.NoError(t, pool.Start(k.ctx()))
				const rounds, each = 4, 7
				for round := range rounds {
					before, _ := d.sent("add")
					for n := range each {
						k.enqueue("a")
						k.enqueue("b", round*each+n)
					}
					require.NoError(t, pool.Drain(k.ctx()))
					if round < rounds-1 { // the last is told by the stop
						k.until("some of it is told", func() bool { now, _ := d.sent("add"); return now > before })
					}
				}
				require.NoError(t, pool.Stop(k.ctx()))
				k.counted("a", HistoryPoint{Done: rounds * each})
				k.counted("b", HistoryPoint{Dead: rounds * each})
				groups, err := k.inspector().Errors(k.ctx(), "")
				require.NoError(t, err)
				require.Len(t, groups, 1)
				assert.EqualValues(t, rounds*each, groups[0].Count)
			})
		})
	}
}

// counted checks the sums of one name by the minute and by the day; Run and Waited have as many as there were attempts.
func (k *kit) counted(name string, want HistoryPoint) {
	k.t.Helper()
	for _, by := range []time.Duration{time.Minute, 24 * time.Hour} {
		history, err := k.inspector().History(k.ctx(), HistoryOptions{Names: []string{name}, By: by})
		require.NoError(k.t, err)
		got := sum(history[name])
		attempts := want.Done + want.Failed + want.Dead
		assert.Equal(k.t, [3]int64{want.Done, want.Failed, want.Dead}, [3]int64{got.Done, got.Failed, got.Dead},
			"%s by %s", name, by)
		assert.Equal(k.t, [2]int64{attempts, attempts}, [2]int64{got.Run.Count(), got.Waited.Count()}, "%s by %s", name,
			by)
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
				pool := NewWorkerPool(nil, 4, k.options()).Job("a", func() error { return nil })
				var stopping atomic.Bool
				fault := breakHistory(2)[name]
				k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
					error) {
					if stopping.Load() {
						return fault(ctx, pass, calls)
					}
					return pass(ctx, calls...)
				}})
				require.NoError(t, pool.Start(k.ctx()))
				k.enqueue("a")
				require.NoError(t, pool.Drain(k.ctx()))
				stopping.Store(true)
				require.NoError(t, pool.Stop(k.ctx()))
				k.counted("a", HistoryPoint{Done: 1})
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
		pool := NewWorkerPool(nil, 4, k.options()).Job("a", func() error { return nil })
		var lost atomic.Bool
		k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			replies, err := pass(ctx, calls...)
			if tells(calls) && lost.CompareAndSwap(false, true) {
				k.do("SREM", "workers", pool.id())
				return nil, errTampered
			}
			return replies, err
		}})
		k.start(pool)
		for range 5 {
			k.enqueue("a")
		}
		require.NoError(t, pool.Drain(k.ctx()))
		await[event.WorkerFenced](t, k.spy, nil)
		k.enqueue("a")
		require.NoError(t, pool.Drain(k.ctx()))
		require.NoError(t, pool.Stop(k.ctx()))
		k.counted("a", HistoryPoint{Done: 6})
	})
}

// TestHistoryThatCannotBeWrittenHoldsNothingUp: the trouble is reported once, and what was counted comes when the key
// is mended.
func TestHistoryThatCannotBeWrittenHoldsNothingUp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("SET", "errors", "x")
		pool := k.start(NewWorkerPool(nil, 4, k.options()).Job("a", func() error { return nil }))
		k.enqueue("a")
		trouble := await(t, k.spy, func(e event.Trouble) bool { return e.Component == "history" })
		assert.ErrorContains(t, trouble.Err, "errors has the wrong type")
		k.enqueue("a")
		require.NoError(t, pool.Drain(k.ctx()), "jobs run")
		require.NoError(t, pool.Healthy(k.ctx()), "and the heartbeat goes on")
		k.do("DEL", "errors")
		await(t, k.spy, func(e event.TroubleOver) bool { return e.Component == "history" })
		require.NoError(t, pool.Stop(k.ctx()))
		k.counted("a", HistoryPoint{Done: 2})
	})
}

// TestALostClaimIsNotCountedTwice: whoever runs the job instead counts it.
func TestALostClaimIsNotCountedTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p := newPatient()
		pool := k.start(NewWorkerPool(nil, 2, k.options()).Job("n", p.handle))
		k.enqueue("n")
		receive(t, p.began)
		old := pool.id()
		require.Equal(t, 1, k.number("SREM", "workers", old))
		assert.Error(t, receive(t, p.ended), "its ctx ended")
		receive(t, p.began)
		k.until("the old one is taken apart", func() bool { return len(k.remains(old)) == 0 })
		close(p.goOn)
		await[event.ClaimGone](t, k.spy, nil)
		require.NoError(t, pool.Drain(k.ctx()))
		require.NoError(t, pool.Stop(k.ctx()))
		k.counted("n", HistoryPoint{Done: 1})
	})
}
