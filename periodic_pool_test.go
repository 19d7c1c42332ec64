package work

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
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
		k.start(NewWorkerPool(nil, 1, k.options()).
			Job("export", func(job *Job, table string, rows int64) error {
				runs <- ran{table, rows, job.Meta, job.ID}
				return nil
			}).
			PeriodicWithOptions("@every 1s", "export", PeriodicOptions{ID: "each second"}, "users",
				int64(1234567890123456789)))
		first, second := receive(t, runs), receive(t, runs)
		for _, one := range []ran{first, second} {
			assert.Equal(t, "users", one.table)
			assert.Equal(t, int64(1234567890123456789), one.rows, "exact")
			assert.Equal(t, "each second", one.meta["schedule"])
			tick, err := time.Parse(time.RFC3339Nano, one.meta["tick"])
			require.NoError(t, err)
			told := await(t, k.spy, func(e event.PeriodicEnqueued) bool { return e.ID == one.id })
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
		made := func() *WorkerPool {
			return NewWorkerPool(nil, 2, k.options()).
				Job("export", func(job *Job) error { runs <- run{job.ID, job.Meta["tick"]}; return nil }).
				Periodic("@every 1s", "export")
		}
		k.start(made())
		ticks := map[int64]string{} // second -> id of its job
		see := func() {
			r := receive(t, runs)
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
			third.crash()
			require.NoError(t, k.stop(second))
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
				pool := NewWorkerPool(nil, 1, k.options()).Job("export", func() error { ran <- struct{}{}; return nil })
				if deaf {
					k.tamper(pool, &tampered{deaf: true})
				} else {
					k.tamper(pool, &tampered{tamper: silenceRevision})
				}
				k.start(pool)
				if deaf {
					k.until("the pool has the lease", pool.workers[0].daemons.leased.Load)
				} else {
					k.leased(pool)
				}
				i := k.inspector()
				require.NoError(t, i.AddSchedule(k.ctx(), "@every 1s", "export", PeriodicOptions{}))
				receive(t, ran)
				require.NoError(t, i.RemoveSchedule(k.ctx(), "export"))
				assert.Empty(t, k.schedules())
			})
		})
	}
}

// silenceRevision takes from heartbeats what they tell of schedules.
func silenceRevision(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
	replies, err := pass(ctx, calls...)
	if err == nil && nameOf(calls[0]) == "beat" {
		if list, ok := replies[0].Value.([]any); ok && len(list) == 6 {
			list[5] = nil
		}
	}
	return replies, err
}

func TestAWorkerTellsItsServiceAndSchedules(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		opts := k.options()
		opts.Service = "shop"
		pool := k.start(NewWorkerPool(nil, 1, opts).Job("export", func() error { return nil }).
			Periodic("@yearly", "export").
			PeriodicWithOptions("0 4 * * *", "export",
				PeriodicOptions{ID: "four", TZ: "Europe/Berlin", Jitter: time.Minute, Missed: MissedSkip,
					Overlap: OverlapSkip}))
		assert.Equal(t, "shop", k.text("HGET", "worker:"+pool.id()+":info", "service"))
		assert.Equal(t, "export\nfour", k.text("HGET", "worker:"+pool.id()+":info", "schedules"))
		all := k.schedules()
		require.Len(t, all, 2)
		four := all["four"]
		assert.WithinDuration(t, time.Now(), four.Last, time.Minute, "the first sight stores now")
		assert.Equal(t, 4, four.Next.In(berlin(t)).Hour())
		four.Last, four.Next = time.Time{}, time.Time{}
		assert.Equal(t, ScheduleInfo{
			ID: "four", Spec: "0 4 * * *", Name: "export", Args: json.RawMessage("[]"), Service: "shop",
			Options: PeriodicOptions{ID: "four", TZ: "Europe/Berlin", Jitter: time.Minute, Missed: MissedSkip,
				Overlap: OverlapSkip},
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
		k.start(NewWorkerPool(nil, 1, k.options()).Job("export", func() error { return nil }).
			Periodic("@yearly", "export"))
		require.Len(t, k.schedules(), 1)
		for _, key := range []string{"schedules", "ticks", "schedules:revision", "epoch", "workers"} {
			k.do("UNLINK", key)
		}
		await[event.DataLost](t, k.spy, nil)
		k.until("it is declared again", func() bool { return len(k.schedules()) == 1 })
		assert.WithinDuration(t, time.Now(), k.schedules()["export"].Last, time.Minute)
	})
}

func TestATickAtFullMemoryComesLater(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	s := c.add("@every 1m", PeriodicOptions{})
	full := &interrupted{Driver: c.store.Driver()}
	e := c.enqueuerOn(full)
	c.set(clockworkStart.Add(time.Minute))
	full.next = refuse("OOM command not allowed when used memory > 'maxmemory'.")
	require.ErrorContains(t, c.round(e), "OOM")
	assert.Empty(t, c.ids())
	for _, one := range e.known {
		one.after = time.Time{} // the rest after a refusal
	}
	c.set(c.now.Add(time.Second))
	require.NoError(t, c.round(e))
	assert.Equal(t, []string{s.tickJob(clockworkStart.Add(time.Minute), c.now).ID}, c.ids())
}
