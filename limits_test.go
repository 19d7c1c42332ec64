package work

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

func TestALimitHoldsOverAllWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g, other := newGauge(), newGauge()
		other.release()
		k.enqueueNumbers("free", 0, 200)
		k.enqueueNumbers("scarce", 0, 60)
		limited := JobOptions{Limit: Limit{Concurrent: 3}}
		pools := make([]*WorkerPool, 3)
		for i := range pools {
			pools[i] = k.start(NewWorkerPool(nil, 8, k.another(newSpy())).
				JobWithOptions("scarce", limited, func(int) error { return g.handle() }).
				Job("free", func(int) error { return other.handle() }))
		}
		g.began(t, 3)
		other.began(t, 200)
		assert.EqualValues(t, 3, g.running.Load())
		for range 20 { // room is used at once
			g.pass(t, 1)
			g.began(t, 1)
		}
		g.release()
		require.NoError(t, pools[0].Drain(k.ctx()))
		assert.EqualValues(t, 3, g.most.Load())
		assert.EqualValues(t, 60, g.done.Load())
		assert.Zero(t, k.number("SCARD", "running:scarce"))
		k.empty("scarce", "free")
	})
}

func TestOrderIsKeptUnderALimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueueNumbers("n", 0, 100)
		ran := make(chan int, 100)
		k.start(NewWorkerPool(nil, 10, k.options()).
			JobWithOptions("n", JobOptions{Limit: Limit{Concurrent: 1}}, func(n int) error { ran <- n; return nil }))
		for n := range 100 {
			require.Equal(t, n, receive(t, ran))
		}
	})
}

func TestALimitIsChangedWhileJobsRun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g, i := newGauge(), k.inspector()
		k.enqueueNumbers("n", 0, 40)
		pool := NewWorkerPool(nil, 6, k.options()).Job("n", func(int) error { return g.handle() })
		d := k.tamper(pool, &tampered{})
		k.start(pool)
		t.Cleanup(g.release)
		g.began(t, 6)
		require.NoError(t, i.SetLimit(k.ctx(), "n", Limit{Concurrent: 2}))
		limits, err := i.Limits(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, []LimitInfo{{Name: "n", Limit: Limit{Concurrent: 2}, Operator: true, Running: 6}}, limits)
		g.pass(t, 4)
		k.until("four have ended", func() bool { return k.number("SCARD", "running:n") == 2 })
		k.settles(d)
		assert.EqualValues(t, 2, g.running.Load(), "none has begun since")
		g.pass(t, 1)
		g.began(t, 1)
		require.NoError(t, i.SetLimit(k.ctx(), "n", Limit{Concurrent: 4}))
		g.began(t, 2)
		k.settles(d)
		assert.EqualValues(t, 4, g.running.Load())
		require.NoError(t, i.ResetLimit(k.ctx(), "n"))
		g.began(t, 2)
		assert.Zero(t, k.number("EXISTS", "limits"))
		g.release()
		require.NoError(t, pool.Drain(k.ctx()))
		assert.EqualValues(t, 6, g.most.Load())
		assert.EqualValues(t, 40, g.done.Load())
	})
}

func TestARateLetsABurstBegin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g, i := newGauge(), k.inspector()
		g.release()
		k.enqueueNumbers("n", 0, 30)
		rate := Limit{Rate: 5, Per: 24 * time.Hour, Burst: 4}
		pool := NewWorkerPool(nil, 10, k.options()).
			JobWithOptions("n", JobOptions{Limit: rate}, func(int) error { return g.handle() })
		d := k.tamper(pool, &tampered{})
		k.start(pool)
		g.began(t, 4)
		k.settles(d)
		assert.Empty(t, g.begun)
		require.NoError(t, i.SetLimit(k.ctx(), "n", Limit{Rate: 1000, Per: time.Second}),
			"what is owed costs far less now")
		g.began(t, 26)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.EqualValues(t, 30, g.done.Load())
		limits, err := i.Limits(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, Limit{Rate: 1000, Per: time.Second, Burst: 100}, limits[0].Limit)
		assert.Equal(t, rate, limits[0].Declared)
	})
}

func TestAnOperatorsLimitHoldsUntilItIsReset(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		start := func(service string, limit Limit) (*WorkerPool, *spy) {
			seen := newSpy()
			opts := k.another(seen)
			opts.Service = service
			return k.start(NewWorkerPool(nil, 1, opts).
				JobWithOptions("n", JobOptions{Limit: limit}, func() error { return nil })), seen
		}
		now := func() LimitInfo {
			limits, err := i.Limits(k.ctx())
			require.NoError(t, err)
			require.Len(t, limits, 1)
			return limits[0]
		}
		five, six := Limit{Concurrent: 5}, Limit{Concurrent: 6}
		start("shop", five)
		assert.Equal(t, LimitInfo{Name: "n", Limit: five, Service: "shop", Declared: five}, now())
		require.NoError(t, i.SetLimit(k.ctx(), "n", Limit{}))
		start("shop", six)
		assert.Equal(t, LimitInfo{Name: "n", Operator: true, Service: "shop", Declared: six}, now())
		require.NoError(t, i.PauseQueue(k.ctx(), "n"))
		require.NoError(t, i.ResetLimit(k.ctx(), "n"))
		assert.Equal(t, LimitInfo{Name: "n", Paused: true, Limit: six, Service: "shop", Declared: six}, now())
		require.NoError(t, i.ResumeQueue(k.ctx(), "n"))

		_, seen := start("post", five)
		assert.Equal(t, event.LimitChanged{Name: "n", Limit: five.String(), Service: "post", Former: six.String(),
			FormerService: "shop"},
			await[event.LimitChanged](t, seen, nil), "the later start wins, and says so")
		start("shop", Limit{})
		assert.Equal(t, five, now().Limit, "that was not declared by this service")
		start("post", Limit{})
		assert.Zero(t, k.number("EXISTS", "limits"))
		require.NoError(t, i.ResetLimit(k.ctx(), "n"), "nothing to reset")
	})
}

func TestLimitsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		limit Limit
		why   string
	}{
		"concurrent below zero":     {Limit{Concurrent: -1}, "Concurrent is -1"},
		"rate below zero":           {Limit{Rate: -2, Per: time.Second}, "Rate is -2"},
		"a rate without time":       {Limit{Rate: 5}, "Per is 0s"},
		"a rate in next to no time": {Limit{Rate: 5, Per: time.Microsecond}, "Per is 1µs"},
		"time without a rate":       {Limit{Per: time.Second}, "no Rate"},
		"a burst without a rate":    {Limit{Concurrent: 3, Burst: 2}, "no Rate"},
		"a burst below zero":        {Limit{Rate: 5, Per: time.Second, Burst: -1}, "Burst is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1", Logger: silent()}).
				JobWithOptions("n", JobOptions{Limit: row.limit}, func() error { return nil })
			err := pool.Start(t.Context())
			var wrong *LimitError
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, row.limit, wrong.Limit)
			require.ErrorContains(t, err, row.why)
			require.ErrorAs(t, pool.Inspector().SetLimit(t.Context(), "n", row.limit), &wrong)
			require.NoError(t, pool.Stop(t.Context()))
		})
	}
	t.Run("fewer than none in a pool", func(t *testing.T) {
		t.Parallel()
		pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1", Logger: silent()}).
			JobWithOptions("n", JobOptions{MaxRunning: -1}, func() error { return nil })
		assert.ErrorContains(t, pool.Start(t.Context()), "JobOptions.MaxRunning")
		require.NoError(t, pool.Stop(t.Context()))
	})
}

func TestTheJanitorFinishesWhatWasBegun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := newGauge()
		k.enqueueNumbers("n", 0, 6)
		filling := rdb.Rule{Limit: rdb.Limit{Concurrent: 3}, Operator: true, Filling: "died"}
		k.do("HSET", "limits", "n", filling.Text())
		k.do("SADD", "running:n", "ended while there was no rule", "so was this")
		pool := k.tidy(NewWorkerPool(nil, 5, k.options()).Job("n", func(int) error { return g.handle() }))
		t.Cleanup(g.release)
		k.until("what was left over is gone", func() bool { return k.number("SCARD", "running:n") == 3 })
		g.began(t, 3)
		filling.Filling = ""
		assert.Equal(t, filling.Text(), k.text("HGET", "limits", "n"))
		g.release()
		require.NoError(t, pool.Drain(k.ctx()))
		assert.EqualValues(t, 3, g.most.Load())
	})
}

func TestALimitIsDeclaredAgainAfterALossOfData(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.start(NewWorkerPool(nil, 5, k.options()).JobWithOptions("n", JobOptions{Limit: Limit{Concurrent: 2}},
			func() error { return nil }))
		rule := k.text("HGET", "limits", "n")
		k.wipe()
		k.until("it is there again", func() bool { return k.text("HGET", "limits", "n") == rule })
	})
}

func TestAPoolRunsNoMoreThanMaxRunning(t *testing.T) {
	t.Parallel()
	for name, concurrency := range map[string]int{"one worker": 10, "two workers": maxPerWorker + 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				heavy, light := newGauge(), newGauge()
				light.release()
				k.enqueueNumbers("heavy", 0, 50)
				k.enqueueNumbers("light", 0, 300)
				pool := k.start(NewWorkerPool(nil, concurrency, k.options()).
					JobWithOptions("heavy", JobOptions{MaxRunning: 2, Priority: 100},
						func(int) error { return heavy.handle() }).
					Job("light", func(int) error { return light.handle() }))
				t.Cleanup(heavy.release)
				heavy.began(t, 2)
				light.began(t, 300)
				assert.Empty(t, heavy.begun)
				for range 20 { // room is used at once, although the fetcher waits for tokens
					heavy.pass(t, 1)
					heavy.began(t, 1)
				}
				k.enqueueNumbers("light", 300, 310)
				light.began(t, 10)
				heavy.release()
				require.NoError(t, pool.Drain(k.ctx()))
				assert.EqualValues(t, 2, heavy.most.Load())
				assert.EqualValues(t, 50, heavy.done.Load())
			})
		})
	}
}

// A full quota and a full limit have room at the same moment: whoever comes too early for one of them must hear of it.
func TestMaxRunningBesideALimitIsAsFastAsTheLimit(t *testing.T) {
	t.Parallel()
	for _, pools := range []int{1, 2} {
		t.Run(countOf(pools, "pool"), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				elapsed := func(options JobOptions) time.Duration {
					k := newKit(t, s)
					k.enqueueNumbers("n", 0, 40)
					ran := make(chan int, 40)
					begun := time.Now()
					for range pools {
						k.start(NewWorkerPool(nil, 10, k.another(newSpy())).
							JobWithOptions("n", options, func(n int) error {
								backoff.Pause(t.Context(), 20*time.Millisecond)
								ran <- n
								return nil
							}))
					}
					for range 40 {
						receive(t, ran)
					}
					return time.Since(begun)
				}
				limit := Limit{Concurrent: 2 * pools}
				alone := elapsed(JobOptions{Limit: limit})
				assert.Less(t, elapsed(JobOptions{Limit: limit, MaxRunning: 2}), 4*alone)
			})
		})
	}
}

func TestAJobThatWaitsForItsPoolsSaysSo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g, i := newGauge(), k.inspector()
		why := func(id string) []WaitReason {
			job, err := i.Job(k.ctx(), id)
			require.NoError(t, err)
			return job.Why
		}
		serve := func(most int) *WorkerPool {
			return k.start(NewWorkerPool(nil, 5, k.another(newSpy())).
				JobWithOptions("n", JobOptions{MaxRunning: most}, func(int) error { return g.handle() }))
		}
		serve(1)
		serve(2)
		t.Cleanup(g.release)
		receipts := k.enqueueNumbers("n", 0, 3)
		g.began(t, 3)
		last := k.enqueueNumbers("n", 3, 4)[0]
		assert.Equal(t, []WaitReason{{Kind: WaitPool, Limit: 3, Running: 3}}, why(last.ID))
		assert.Equal(t, "3 of its queue run in the pools that serve it, and 3 may", why(last.ID)[0].String())
		assert.Empty(t, why(receipts[0].ID), "it runs")
		third := serve(0)
		t.Cleanup(g.release) // before its stop
		g.began(t, 1)
		more := k.enqueueNumbers("n", 4, 9)[4]
		g.began(t, 4)
		assert.Empty(t, why(more.ID), "one of the pools has no quota")
		require.NoError(t, i.PauseWorker(k.ctx(), third.id()))
		assert.Equal(t, []WaitReason{{Kind: WaitPool, Limit: 3, Running: 3}}, why(more.ID), "and takes none")
	})
}

// What one pool may not take is for another.
func TestMaxRunningHoldsUpNoOtherPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := newGauge()
		t.Cleanup(g.release)
		for range 3 {
			k.start(NewWorkerPool(nil, 5, k.another(newSpy())).
				JobWithOptions("n", JobOptions{MaxRunning: 1}, func(int) error { return g.handle() }))
		}
		k.enqueueNumbers("n", 0, 9)
		g.began(t, 3)
		g.release()
		g.began(t, 6)
	})
}

func TestAQuota(t *testing.T) {
	t.Parallel()
	assert.Nil(t, newQuota(0))
	q := newQuota(3)
	assert.Equal(t, 2, q.reserve(2))
	assert.Equal(t, 1, q.reserve(2))
	assert.False(t, q.hasRoom())
	assert.False(t, q.giveBack(1), "nobody was refused")
	assert.Equal(t, 1, q.reserve(5))
	assert.Zero(t, q.reserve(1))
	assert.False(t, q.giveBack(0))
	assert.True(t, q.giveBack(1))
	assert.False(t, q.giveBack(1), "it was told already")
	assert.Equal(t, 2, q.reserve(9), fmt.Sprint(q.taken.Load()))
}

func TestALimitIsWrittenAsAPersonSaysIt(t *testing.T) {
	t.Parallel()
	for want, limit := range map[string]Limit{
		"none":                      {},
		"5 at once":                 {Concurrent: 5},
		"300 in 1m0s":               {Rate: 300, Per: time.Minute},
		"7 in 1s with a burst of 1": {Rate: 7, Per: time.Second, Burst: 1},
		"2 at once, 10 in 1s":       {Concurrent: 2, Rate: 10, Per: time.Second},
	} {
		assert.Equal(t, want, limit.String())
	}
}
