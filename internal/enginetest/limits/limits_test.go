package limits_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestALimitHoldsOverAllWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g, other := pooltest.NewGauge(), pooltest.NewGauge()
		other.Release()
		k.EnqueueNumbers("free", 0, 200)
		k.EnqueueNumbers("scarce", 0, 60)
		limited := work.JobOptions{Limit: work.Limit{Concurrent: 3}}
		pools := make([]*work.WorkerPool, 3)
		for i := range pools {
			pools[i] = k.Start(work.NewWorkerPool(nil, 8, k.Another(pooltest.NewSpy())).
				JobWithOptions("scarce", limited, func(int) error { return g.Handle() }).
				Job("free", func(int) error { return other.Handle() }))
		}
		g.Began(t, 3)
		other.Began(t, 200)
		assert.EqualValues(t, 3, g.Running.Load())
		for range 20 { // room is used at once
			g.Pass(t, 1)
			g.Began(t, 1)
		}
		g.Release()
		require.NoError(t, pools[0].Drain(k.Ctx()))
		assert.EqualValues(t, 3, g.Most.Load())
		assert.EqualValues(t, 60, g.Done.Load())
		assert.Zero(t, k.Number("SCARD", "running:scarce"))
		k.Empty("scarce", "free")
	})
}

func TestOrderIsKeptUnderALimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("n", 0, 100)
		ran := make(chan int, 100)
		k.Start(work.NewWorkerPool(nil, 10, k.Options()).
			JobWithOptions("n", work.JobOptions{Limit: work.Limit{Concurrent: 1}},
				func(n int) error { ran <- n; return nil }))
		for n := range 100 {
			require.Equal(t, n, pooltest.Receive(t, ran))
		}
	})
}

func TestLimitsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		limit work.Limit
		why   string
	}{
		"concurrent below zero":     {work.Limit{Concurrent: -1}, "Concurrent is -1"},
		"rate below zero":           {work.Limit{Rate: -2, Per: time.Second}, "Rate is -2"},
		"a rate without time":       {work.Limit{Rate: 5}, "Per is 0s"},
		"a rate in next to no time": {work.Limit{Rate: 5, Per: time.Microsecond}, "Per is 1µs"},
		"time without a rate":       {work.Limit{Per: time.Second}, "no Rate"},
		"a burst without a rate":    {work.Limit{Concurrent: 3, Burst: 2}, "no Rate"},
		"a burst below zero":        {work.Limit{Rate: 5, Per: time.Second, Burst: -1}, "Burst is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := work.NewWorkerPool(nil, 1,
				work.WorkerOptions{Redis: "redis://127.0.0.1:1", Logger: pooltest.Silent()}).
				JobWithOptions("n", work.JobOptions{Limit: row.limit}, func() error { return nil })
			err := pool.Start(t.Context())
			var wrong *work.LimitError
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, row.limit, wrong.Limit)
			require.ErrorContains(t, err, row.why)
			refusing := pooltest.Connection{Of: (&pooltest.Tampered{Tamper: func(context.Context, pooltest.Send,
				[]redisconn.Call) ([]redisconn.Reply, error) {
				return nil, pooltest.ErrLuck
			}}).Over(nil)}
			hands, err := inspect.New("", work.WithConnection(refusing))
			require.NoError(t, err)
			require.ErrorAs(t, hands.SetLimit(t.Context(), "n", row.limit), &wrong)
			require.NoError(t, pool.Stop(t.Context()))
		})
	}
	t.Run("fewer than none in a pool", func(t *testing.T) {
		t.Parallel()
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://127.0.0.1:1", Logger: pooltest.Silent()}).
			JobWithOptions("n", work.JobOptions{MaxRunning: -1}, func() error { return nil })
		assert.ErrorContains(t, pool.Start(t.Context()), "JobOptions.MaxRunning")
		require.NoError(t, pool.Stop(t.Context()))
	})
}

func TestTheJanitorFinishesWhatWasBegun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		k.EnqueueNumbers("n", 0, 6)
		filling := rdb.Rule{Limit: rdb.Limit{Concurrent: 3}, Operator: true, Filling: "died"}
		k.Do("HSET", "limits", "n", filling.Text())
		k.Do("SADD", "running:n", "ended while there was no rule", "so was this")
		pool := k.Tidy(work.NewWorkerPool(nil, 5, k.Options()).Job("n", func(int) error { return g.Handle() }))
		t.Cleanup(g.Release)
		k.Until("what was left over is gone", func() bool { return k.Number("SCARD", "running:n") == 3 })
		g.Began(t, 3)
		filling.Filling = ""
		assert.Equal(t, filling.Text(), k.Text("HGET", "limits", "n"))
		g.Release()
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.EqualValues(t, 3, g.Most.Load())
	})
}

func TestALimitIsDeclaredAgainAfterALossOfData(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 5, k.Options()).
			JobWithOptions("n", work.JobOptions{Limit: work.Limit{Concurrent: 2}}, func() error { return nil }))
		rule := k.Text("HGET", "limits", "n")
		k.Unlink(k.Keys()...)
		k.Until("it is there again", func() bool { return k.Text("HGET", "limits", "n") == rule })
	})
}

func TestAPoolRunsNoMoreThanMaxRunning(t *testing.T) {
	t.Parallel()
	for name, concurrency := range map[string]int{"one worker": 10, "two workers": pooltest.MaxPerWorker + 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				heavy, light := pooltest.NewGauge(), pooltest.NewGauge()
				light.Release()
				k.EnqueueNumbers("heavy", 0, 50)
				k.EnqueueNumbers("light", 0, 300)
				pool := k.Start(work.NewWorkerPool(nil, concurrency, k.Options()).
					JobWithOptions("heavy", work.JobOptions{MaxRunning: 2, Priority: 100},
						func(int) error { return heavy.Handle() }).
					Job("light", func(int) error { return light.Handle() }))
				t.Cleanup(heavy.Release)
				heavy.Began(t, 2)
				light.Began(t, 300)
				assert.Empty(t, heavy.Begun)
				for range 20 { // room is used at once, although the fetcher waits for tokens
					heavy.Pass(t, 1)
					heavy.Began(t, 1)
				}
				k.EnqueueNumbers("light", 300, 310)
				light.Began(t, 10)
				heavy.Release()
				require.NoError(t, pool.Drain(k.Ctx()))
				assert.EqualValues(t, 2, heavy.Most.Load())
				assert.EqualValues(t, 50, heavy.Done.Load())
			})
		})
	}
}

// A full quota and a full limit have room at the same moment: whoever comes too early for one of them must hear of it.
// It compares times, so it runs beside no other test of this package.
func TestMaxRunningBesideALimitIsAsFastAsTheLimit(t *testing.T) {
	for _, pools := range []int{1, 2} {
		t.Run(fmt.Sprint(pools, " pools"), func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				elapsed := func(options work.JobOptions) time.Duration {
					k := newKit(t, s)
					k.EnqueueNumbers("n", 0, 40)
					ran := make(chan int, 40)
					begun := time.Now()
					for range pools {
						k.Start(work.NewWorkerPool(nil, 10, k.Another(pooltest.NewSpy())).
							JobWithOptions("n", options, func(n int) error {
								backoff.Pause(t.Context(), 20*time.Millisecond)
								ran <- n
								return nil
							}))
					}
					for range 40 {
						pooltest.Receive(t, ran)
					}
					return time.Since(begun)
				}
				limit := work.Limit{Concurrent: 2 * pools}
				alone := elapsed(work.JobOptions{Limit: limit})
				// half of what a second for each batch of two would take
				stalls := 10 * time.Second / time.Duration(pools)
				assert.Less(t, elapsed(work.JobOptions{Limit: limit, MaxRunning: 2}), alone+stalls)
			})
		})
	}
}

// What one pool may not take is for another.
func TestMaxRunningHoldsUpNoOtherPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		t.Cleanup(g.Release)
		for range 3 {
			k.Start(work.NewWorkerPool(nil, 5, k.Another(pooltest.NewSpy())).
				JobWithOptions("n", work.JobOptions{MaxRunning: 1}, func(int) error { return g.Handle() }))
		}
		k.EnqueueNumbers("n", 0, 9)
		g.Began(t, 3)
		g.Release()
		g.Began(t, 6)
	})
}

func TestALimitIsWrittenAsAPersonSaysIt(t *testing.T) {
	t.Parallel()
	for want, limit := range map[string]work.Limit{
		"none":                      {},
		"5 at once":                 {Concurrent: 5},
		"300 in 1m0s":               {Rate: 300, Per: time.Minute},
		"7 in 1s with a burst of 1": {Rate: 7, Per: time.Second, Burst: 1},
		"2 at once, 10 in 1s":       {Concurrent: 2, Rate: 10, Per: time.Second},
	} {
		assert.Equal(t, want, limit.String())
	}
}
