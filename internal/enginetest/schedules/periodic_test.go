package schedules_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
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

func TestAPeriodicJobRunsWithItsArgs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		type ran struct {
			table string
			rows  int64
			meta  map[string]string
			id    string
		}
		runs := make(chan ran, 100)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("export", func(job *work.Job, table string, rows int64) error {
				runs <- ran{table, rows, job.Meta, job.ID}
				return nil
			}).
			PeriodicWithOptions("@every 1s", "export", work.PeriodicOptions{ID: "each second"}, "users",
				int64(1234567890123456789)))
		first, second := pooltest.Receive(t, runs), pooltest.Receive(t, runs)
		for _, one := range []ran{first, second} {
			assert.Equal(t, "users", one.table)
			assert.Equal(t, int64(1234567890123456789), one.rows, "exact")
			assert.Equal(t, "each second", one.meta["schedule"])
			tick, err := time.Parse(time.RFC3339Nano, one.meta["tick"])
			require.NoError(t, err)
			told := pooltest.Await(t, k.Spy, func(e event.PeriodicEnqueued) bool { return e.ID == one.id })
			assert.True(t, tick.Equal(told.Tick))
			assert.Zero(t, tick.UnixMilli()%1000, "it counts from Unix 0")
		}
		assert.NotEqual(t, first.id, second.id)
	})
}

// Three pools run at once, and two of them come and go. Whatever ticks there were, each has been enqueued once.
func TestSeveralPoolsAndRestartsEnqueueEachTickOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		type run struct{ id, tick string }
		runs := make(chan run, 1000)
		made := func() *work.WorkerPool {
			return work.NewWorkerPool(nil, 2, k.Options()).
				Job("export", func(job *work.Job) error { runs <- run{job.ID, job.Meta["tick"]}; return nil }).
				Periodic("@every 1s", "export")
		}
		k.Start(made())
		ticks := map[int64]string{} // second -> id of its job
		see := func() {
			r := pooltest.Receive(t, runs)
			at, err := time.Parse(time.RFC3339Nano, r.tick)
			require.NoError(t, err)
			if before, again := ticks[at.Unix()]; again { // one that a crashed pool had begun
				require.Equal(t, before, r.id, "one job for each tick")
			}
			ticks[at.Unix()] = r.id
		}
		for range 2 {
			second, third := made(), made()
			require.NoError(t, second.Start(t.Context()))
			require.NoError(t, third.Start(t.Context()))
			see()
			k.Crash(third)
			require.NoError(t, k.Stop(second))
			see()
		}
		seconds := slices.Sorted(maps.Keys(ticks))
		first, last := seconds[0], seconds[len(seconds)-1]
		for second := first; second <= last; second++ {
			for ticks[second] == "" { // it may be with a pool that crashed; a tick that was lost never comes
				see()
			}
		}
	})
}

// A schedule that was added reaches the daemon by a hint; where hints are lost, the heartbeat tells.
func TestAScheduleThatIsAddedWhileThePoolRuns(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"by a hint": false, "by the heartbeat": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				ran := make(chan struct{}, 100)
				pool := work.NewWorkerPool(nil, 1, k.Options()).
					Job("export", func() error { ran <- struct{}{}; return nil })
				if deaf {
					k.TamperWith(pool, &pooltest.Tampered{Deaf: true})
				} else {
					k.TamperWith(pool, &pooltest.Tampered{Tamper: silenceRevision})
				}
				k.Start(pool)
				if deaf {
					k.UntilLeased(pool)
				} else {
					k.leased(pool)
				}
				i := k.ByHand()
				require.NoError(t, i.AddSchedule(k.Ctx(), "@every 1s", "export", work.PeriodicOptions{}))
				pooltest.Receive(t, ran)
				require.NoError(t, i.RemoveSchedule(k.Ctx(), "export"))
				assert.Empty(t, k.Schedules())
			})
		})
	}
}

// silenceRevision takes from heartbeats what they tell of schedules.
func silenceRevision(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
	replies, err := pass(ctx, calls...)
	if err == nil && pooltest.NameOf(calls[0]) == "beat" {
		if list, ok := replies[0].Value.([]any); ok && len(list) > 5 {
			list[5] = nil
		}
	}
	return replies, err
}

func TestAWorkerTellsItsServiceAndSchedules(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		opts := k.Options()
		opts.Service = "shop"
		pool := k.Start(work.NewWorkerPool(nil, 1, opts).Job("export", func() error { return nil }).
			Periodic("@yearly", "export").
			PeriodicWithOptions("0 4 * * *", "export",
				work.PeriodicOptions{ID: "four", TZ: "Europe/Berlin", Jitter: time.Minute, Missed: work.MissedSkip,
					Overlap: work.OverlapSkip}))
		assert.Equal(t, "shop", k.Text("HGET", "worker:"+pooltest.WorkerID(pool)+":info", "service"))
		assert.Equal(t, "export\nfour", k.Text("HGET", "worker:"+pooltest.WorkerID(pool)+":info", "schedules"))
		all := k.Schedules()
		require.Len(t, all, 2)
		four := all["four"]
		assert.WithinDuration(t, time.Now(), four.Last, time.Minute, "the first sight stores now")
		assert.Equal(t, 4, four.Next.In(berlin(t)).Hour())
		four.Last, four.Next = time.Time{}, time.Time{}
		assert.Equal(t, enginetest.SeenSchedule{
			ID: "four", Spec: "0 4 * * *", Name: "export", Args: json.RawMessage("[]"), Service: "shop",
			Options: work.PeriodicOptions{ID: "four", TZ: "Europe/Berlin", Jitter: time.Minute, Missed: work.MissedSkip,
				Overlap: work.OverlapSkip},
		}, four)
	})
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	return zone
}

func TestSchedulesThatRedisHasLostAreDeclaredAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("export", func() error { return nil }).
			Periodic("@yearly", "export"))
		require.Len(t, k.Schedules(), 1)
		k.Unlink("schedules", "ticks", "schedules:revision", "epoch", "workers")
		pooltest.Await[event.DataLost](t, k.Spy, nil)
		k.Until("it is declared again", func() bool { return len(k.Schedules()) == 1 })
		assert.WithinDuration(t, time.Now(), k.Schedules()["export"].Last, time.Minute)
	})
}

// declaring is a pool of a service that declares schedules, by their ids, all with that spec.
func (k *kit) declaring(service, spec string, ids ...string) *work.WorkerPool {
	opts := k.Options()
	opts.Service = service
	pool := work.NewWorkerPool(nil, 1, opts).Job("export", func() error { return nil })
	for _, id := range ids {
		pool.PeriodicWithOptions(spec, "export", work.PeriodicOptions{ID: id})
	}
	return pool
}

// run starts a pool that the test stops.
func (k *kit) run(p *work.WorkerPool) *work.WorkerPool {
	k.T.Helper()
	require.NoError(k.T, p.Start(k.T.Context()))
	return p
}

func (k *kit) has(ids ...string) {
	k.T.Helper()
	all := k.Schedules()
	assert.Len(k.T, all, len(ids))
	for _, id := range ids {
		assert.Contains(k.T, all, id)
	}
}

func TestAScheduleGoesWhenItsServiceStartsWithoutIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		require.NoError(t, k.ByHand().AddSchedule(k.Ctx(), "@yearly", "anything", work.PeriodicOptions{ID: "by hand"}))
		require.NoError(t, k.Stop(k.run(k.declaring("shop", "@yearly", "a", "b"))))
		require.NoError(t, k.Stop(k.run(k.declaring("blog", "@yearly", "c"))))
		k.has("a", "b", "c", "by hand") // with no worker alive they stay

		require.NoError(t, k.Stop(k.run(k.declaring("blog", "@yearly"))))
		k.has("a", "b", "by hand") // other services' are not touched
		assert.Equal(t, event.PeriodicRemoved{Schedule: "c", Service: "blog"},
			pooltest.Await[event.PeriodicRemoved](t, k.Spy, nil))

		old := k.run(k.declaring("shop", "@yearly", "a", "b"))
		newer := k.Start(k.declaring("shop", "@yearly", "b"))
		k.has("a", "b", "by hand") // one that runs declares it
		require.NoError(t, k.Stop(old))
		k.has("a", "b", "by hand")
		require.NoError(t, k.Stop(k.run(k.declaring("shop", "@yearly", "b"))))
		k.has("b", "by hand")
		assert.False(t, k.pending(old), "it wanted nothing to go")
		assert.True(t, k.pending(newer), "it would have looked again")
	})
}

// pending tells whether a pool still looks for a chance to remove schedules.
func (k *kit) pending(p *work.WorkerPool) bool { return pooltest.Parts(p).Periodics.Pending() }

// In a rolling deployment the old processes stop after the new ones have started.
func TestAScheduleGoesAfterARollingDeployment(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		old := k.run(k.declaring("shop", "@yearly", "a", "b"))
		newer := k.Start(k.declaring("shop", "@yearly", "b"))
		k.has("a", "b")
		require.NoError(t, k.Stop(old))
		e := pooltest.Parts(newer).Periodics
		require.True(t, e.Pending())
		e.Undeclared(true, time.Time{}) // half a minute later
		e.Hint()
		pooltest.Await(t, k.Spy, func(e event.PeriodicRemoved) bool { return e.Schedule == "a" })
		k.has("b")
		k.Until("it looks no more", func() bool { return !k.pending(newer) })
	})
}

func TestTheLaterDeclarationWinsAndIsTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(k.declaring("shop", "@yearly", "a"))
		k.LastTick("a", time.Now().Add(-300*24*time.Hour))
		k.Start(k.declaring("shop", "@yearly", "a"))
		assert.Zero(t, pooltest.Count[event.PeriodicChanged](k.Spy), "it is the same")
		k.Start(k.declaring("shop", "@monthly", "a"))
		assert.Equal(t, event.PeriodicChanged{Schedule: "a", Spec: "@monthly", Service: "shop", FormerSpec: "@yearly",
			FormerService: "shop"},
			pooltest.Await[event.PeriodicChanged](t, k.Spy, nil))
		assert.Equal(t, "@monthly", k.Schedules()["a"].Spec)
		assert.WithinDuration(t, time.Now(), k.Schedules()["a"].Last, time.Minute, "no tick of the new spec was missed")
	})
}

func TestAPauseOutlivesADeclaration(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(k.declaring("shop", "@yearly", "a"))
		require.NoError(t, k.ByHand().PauseSchedule(k.Ctx(), "a"))
		k.Start(k.declaring("shop", "@monthly", "a"))
		assert.True(t, k.Schedules()["a"].Paused)
		assert.Equal(t, "@monthly", k.Schedules()["a"].Spec)
	})
}

func TestAnIDOfAnotherServiceThatRunsIsRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		owner, other string
		stopped      bool
		refused      bool
	}{
		"another one that runs":               {"shop", "blog", false, true},
		"one without a name, against another": {"shop", "", false, true},
		"another one that has stopped":        {"shop", "blog", true, false},
		"one without a name that runs":        {"", "blog", false, false},
		"the same":                            {"shop", "shop", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				owner := k.run(k.declaring(row.owner, "@yearly", "a"))
				if row.stopped {
					require.NoError(t, k.Stop(owner))
				} else {
					defer func() { require.NoError(t, k.Stop(owner)) }()
				}
				other := k.declaring(row.other, "@monthly", "a")
				err := other.Start(t.Context())
				if !row.refused {
					require.NoError(t, err)
					require.NoError(t, k.Stop(other))
					assert.Equal(t, "@monthly", k.Schedules()["a"].Spec)
					return
				}
				var invalid *work.InvalidError
				require.ErrorAs(t, err, &invalid)
				assert.Contains(t, err.Error(), `schedule "a" (added at periodic_test.go:`)
				assert.Contains(t, err.Error(), `that of a schedule of service "shop", which runs: give it another ID`)
				assert.Equal(t, "@yearly", k.Schedules()["a"].Spec)
				assert.Equal(t, 1, k.Number("SCARD", "workers"), "what has not started is not registered")
				require.NoError(t, k.Stop(other))
			})
		})
	}
}

func TestMistakesInSchedulesAreReturnedByStart(t *testing.T) {
	t.Parallel()
	export := func(table string, rows int) error { return errors.New(table) }
	withOptions := func(opts work.PeriodicOptions) func(p *work.WorkerPool) {
		return func(p *work.WorkerPool) { p.PeriodicWithOptions("0 3 * * *", "export", opts, "users", 7) }
	}
	for name, row := range map[string]struct {
		add  func(p *work.WorkerPool)
		want []string // each is part of one mistake
	}{
		"a spec with a typo": {func(p *work.WorkerPool) { p.Periodic("0 3 * *", "export", "users", 7) },
			[]string{`the cron spec is "0 3 * *": write five fields`}},
		"a day that never is": {func(p *work.WorkerPool) { p.Periodic("0 0 31 2 *", "export", "users", 7) },
			[]string{"no such day ever comes"}},
		"a zone with a typo": {withOptions(work.PeriodicOptions{TZ: "Europe/Berln"}),
			[]string{`the time zone is "Europe/Berln"`}},
		"a negative jitter": {withOptions(work.PeriodicOptions{Jitter: -time.Second}),
			[]string{"PeriodicOptions.Jitter is -1s: give a positive duration"}},
		"too large a jitter": {withOptions(work.PeriodicOptions{Jitter: 24 * time.Hour}),
			[]string{"PeriodicOptions.Jitter is 24h0m0s: give less than the 24h0m0s that may lie between"}},
		"a Missed that is none": {withOptions(work.PeriodicOptions{Missed: work.MissedAll(0)}),
			[]string{"PeriodicOptions.Missed is MissedAll(0): give MissedOnce"}},
		"a Missed below": {withOptions(work.PeriodicOptions{Missed: work.MissedAll(math.MinInt)}),
			[]string{"PeriodicOptions.Missed is MissedAll(-92"}},
		"a Missed like MissedSkip": {withOptions(work.PeriodicOptions{Missed: work.MissedAll(-1)}),
			[]string{"PeriodicOptions.Missed is MissedAll(-1)"}},
		"a Missed of a thousand": {withOptions(work.PeriodicOptions{Missed: work.MissedAll(1000)}),
			[]string{"PeriodicOptions.Missed is MissedAll(1000): give MissedOnce"}},
		"too many to make up": {withOptions(work.PeriodicOptions{Missed: 101}),
			[]string{"PeriodicOptions.Missed is MissedAll(101)"}},
		"an Overlap of its own": {withOptions(work.PeriodicOptions{Overlap: 2}),
			[]string{"PeriodicOptions.Overlap is 2"}},
		"a long key": {withOptions(work.PeriodicOptions{Key: strings.Repeat("k", 201)}),
			[]string{"which has 201 bytes: use at most 200"}},
		"a key with a NUL": {withOptions(work.PeriodicOptions{Key: "a\x00b"}),
			[]string{`PeriodicOptions.Key is "a\x00b": use one without control characters`}},
		"too large a weight": {withOptions(work.PeriodicOptions{Key: "a", Weight: 101}),
			[]string{"PeriodicOptions.Weight is 101: use 1 to 100, or 0 for 1"}},
		"a negative weight": {withOptions(work.PeriodicOptions{Key: "a", Weight: -1}),
			[]string{"PeriodicOptions.Weight is -1: use 1 to 100"}},
		"a weight without a key": {withOptions(work.PeriodicOptions{Weight: 2}),
			[]string{"PeriodicOptions.Weight is given without Key: give the key"}},
		"an id with a newline": {withOptions(work.PeriodicOptions{ID: "a\nb"}), []string{"schedule id is"}},
		"another service's job": {func(p *work.WorkerPool) { p.Periodic("@daily", "import") },
			[]string{`of job "import": no such job is registered: add the schedule to the pool that runs it; there are ["export"]`}},
		"args that do not fit": {func(p *work.WorkerPool) { p.Periodic("@daily", "export", "users", "many") },
			[]string{`args of job "export" do not fit its handler`}},
		"args that are missing": {func(p *work.WorkerPool) { p.Periodic("@daily", "export") },
			[]string{`args of job "export" do not fit its handler`}},
		"args that do not encode": {func(p *work.WorkerPool) { p.Periodic("@daily", "export", func() {}) },
			[]string{"does not encode as JSON"}},
		"one id, two specs": {func(p *work.WorkerPool) {
			p.Periodic("@daily", "export", "users", 7).Periodic("@hourly", "export", "users", 7)
		}, []string{"another one than that of the same id at periodic_test.go:"}},
		"one id, two args": {func(p *work.WorkerPool) {
			p.Periodic("@daily", "export", "users", 7).Periodic("@daily", "export", "users", 8)
		}, []string{"give each an ID of its own"}},
		"all of them at once": {func(p *work.WorkerPool) {
			p.Periodic("@dayly", "import").PeriodicWithOptions("x", "export",
				work.PeriodicOptions{Jitter: -1, TZ: "Mars"})
		}, []string{"@dayly", "Jitter is -1ns", `the time zone is "Mars"`, "no such job", "do not fit"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := work.NewWorkerPool(nil, 1,
				work.WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: pooltest.Silent()}).
				Job("export", export)
			row.add(pool)
			err := pool.Start(context.Background())
			var setup *work.SetupError
			require.ErrorAs(t, err, &setup)
			require.Len(t, setup.Mistakes, len(row.want), "%v", err)
			for i, part := range row.want {
				assert.Contains(t, setup.Mistakes[i].Error(), part)
				assert.Contains(t, setup.Mistakes[i].Error(), "(added at periodic_test.go:")
			}
			var invalid *work.InvalidError
			if name != "args that do not fit" && name != "args that are missing" {
				assert.ErrorAs(t, err, &invalid)
			}
		})
	}
}
