package work

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

func TestAScheduleIsAddedChangedAndRemovedByHand(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, ctx := k.inspector(), k.ctx()
		opts := PeriodicOptions{ID: "nightly", TZ: "Europe/Berlin", Missed: MissedAll(3)}
		require.NoError(t, i.AddSchedule(ctx, "0 3 * * *", "export", opts, "users", int64(1234567890123456789)))
		got := k.schedules()["nightly"]
		assert.Equal(t, "0 3 * * *", got.Spec)
		assert.Equal(t, opts, got.Options)
		assert.JSONEq(t, `["users",1234567890123456789]`, string(got.Args))
		assert.Empty(t, got.Service)
		assert.Equal(t, 3, got.Next.In(berlin(t)).Hour())
		require.ErrorIs(t, i.AddSchedule(ctx, "@daily", "export", PeriodicOptions{ID: "nightly"}), ErrScheduleExists)

		long := time.Now().Add(-100 * time.Hour).Truncate(time.Millisecond)
		k.lastTick("nightly", long)
		opts.Overlap = OverlapSkip
		require.NoError(t, i.ChangeSchedule(ctx, "0 3 * * *", "import", opts))
		got = k.schedules()["nightly"]
		assert.Equal(t, "import", got.Name)
		assert.Equal(t, json.RawMessage("[]"), got.Args)
		assert.Equal(t, OverlapSkip, got.Options.Overlap)
		assert.True(t, long.Equal(got.Last), "the ticks are the same: it goes on from its last one")
		opts.TZ = "America/New_York"
		require.NoError(t, i.ChangeSchedule(ctx, "0 3 * * *", "import", opts))
		assert.WithinDuration(t, time.Now(), k.schedules()["nightly"].Last, time.Minute,
			"they are others: they begin now")

		require.NoError(t, i.RemoveSchedule(ctx, "nightly"))
		assert.Empty(t, k.schedules())
		assert.Zero(t, k.number("HLEN", "ticks"))
		require.ErrorIs(t, i.RemoveSchedule(ctx, "nightly"), ErrNoSchedule)
		require.ErrorIs(t, i.ChangeSchedule(ctx, "@daily", "import", opts), ErrNoSchedule)
		require.ErrorIs(t, i.PauseSchedule(ctx, "nightly"), ErrNoSchedule)
		require.ErrorIs(t, i.ResumeSchedule(ctx, "nightly"), ErrNoSchedule)
		_, err := i.RunScheduleNow(ctx, "nightly")
		require.ErrorIs(t, err, ErrNoSchedule)
		assert.ErrorContains(t, err, `schedule "nightly" was not run`)
	})
}

func TestAScheduleThatCannotBeIsNotAdded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		for name, err := range map[string]error{
			"a spec with a typo":   i.AddSchedule(k.ctx(), "0 3 * *", "export", PeriodicOptions{}),
			"a zone with a typo":   i.AddSchedule(k.ctx(), "0 3 * * *", "export", PeriodicOptions{TZ: "Mars"}),
			"a negative jitter":    i.AddSchedule(k.ctx(), "0 3 * * *", "export", PeriodicOptions{Jitter: -1}),
			"no name":              i.AddSchedule(k.ctx(), "0 3 * * *", "", PeriodicOptions{}),
			"args that no JSON is": i.AddSchedule(k.ctx(), "0 3 * * *", "export", PeriodicOptions{}, make(chan int)),
			"a change to a typo":   i.ChangeSchedule(k.ctx(), "0 3 * *", "export", PeriodicOptions{}),
		} {
			var invalid *InvalidError
			assert.ErrorAs(t, err, &invalid, name)
		}
		assert.Empty(t, k.schedules())
	})
}

func TestAPausedScheduleMissesNothingThatIsMadeUpFor(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	c.add("@every 1m", PeriodicOptions{Missed: MissedAll(100)})
	i, e := c.inspector(), c.enqueuer()
	require.NoError(t, c.round(e))
	require.NoError(t, i.PauseSchedule(c.ctx(), "export"))
	require.NoError(t, i.PauseSchedule(c.ctx(), "export"), "once more")
	c.set(clockworkStart.Add(time.Hour))
	require.NoError(t, c.round(e))
	paused := c.schedules()["export"]
	assert.True(t, paused.Paused)
	assert.Zero(t, paused.Next)
	assert.Empty(t, c.ids())

	require.NoError(t, i.ResumeSchedule(c.ctx(), "export"))
	require.NoError(t, i.ResumeSchedule(c.ctx(), "export"), "once more")
	require.NoError(t, c.round(e))
	assert.Empty(t, c.ids(), "the ticks of the pause are not made up for")
	c.set(c.now.Add(time.Minute))
	require.NoError(t, c.round(e))
	assert.Len(t, c.ids(), 1)
}

// A tick was read before the pause and is sent after it.
func TestATickThatAPauseOvertakes(t *testing.T) {
	t.Parallel()
	c := newClockwork(t)
	c.add("@every 1m", PeriodicOptions{})
	late := &interrupted{Driver: c.store.Driver()}
	e := c.enqueuerOn(late)
	c.set(clockworkStart.Add(time.Minute))
	late.next = func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
		require.NoError(t, c.inspector().PauseSchedule(c.ctx(), "export"))
		return pass(ctx, calls...)
	}
	require.NoError(t, c.round(e))
	require.NoError(t, c.round(e))
	assert.Empty(t, c.ids())
}

func TestAScheduleIsRunNow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan Job, 10)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			Job("export", func(job *Job, table string) error { ran <- Job{ID: job.ID, Meta: job.Meta}; return nil }).
			PeriodicWithOptions("@yearly", "export", PeriodicOptions{Overlap: OverlapSkip}, "users"))
		i := pool.Inspector()
		require.NoError(t, i.PauseSchedule(k.ctx(), "export"))
		before := k.schedules()["export"].Last
		for range 2 {
			receipt, err := i.RunScheduleNow(k.ctx(), "export")
			require.NoError(t, err)
			assert.Equal(t, "export", receipt.Name)
			job := receive(t, ran)
			assert.Equal(t, receipt.ID, job.ID)
			assert.Equal(t, map[string]string{"schedule": "export"}, job.Meta, "it is of no tick")
			assert.Equal(t, receipt.ID, k.schedules()["export"].LastJob)
		}
		assert.Equal(t, before, k.schedules()["export"].Last, "its ticks are as they were")
	})
}

// Many run one schedule at a time: each has a job of its own.
func TestManyRunAScheduleNow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		require.NoError(t, i.AddSchedule(k.ctx(), "@yearly", "export", PeriodicOptions{}))
		ctx := k.ctx()
		var together sync.WaitGroup
		for range 5 {
			together.Go(func() {
				for range 5 {
					_, err := i.RunScheduleNow(ctx, "export")
					assert.NoError(t, err)
				}
			})
		}
		together.Wait()
		assert.Equal(t, 25, k.number("HLEN", "jobs"))
		assert.Equal(t, 25, k.number("LLEN", "queue:export"))
	})
}

// Many change one schedule at a time: what one does the next one sees.
func TestManyChangeASchedule(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, ctx := k.inspector(), k.ctx()
		var together sync.WaitGroup
		var added sync.Map
		for n := range 8 {
			together.Go(func() {
				if i.AddSchedule(ctx, "@yearly", "export", PeriodicOptions{ID: "one"}, n) == nil {
					added.Store(n, true)
				}
			})
		}
		together.Wait()
		winners := 0
		added.Range(func(any, any) bool { winners++; return true })
		assert.Equal(t, 1, winners, "the others were told that it exists")
	})
}

func TestASchedulesProblemIsShown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("HSET", "schedules", "newer", `{"spec":"@fortnightly","name":"export","args":[]}`, "text", "no JSON")
		all := k.schedules()
		require.Error(t, all["newer"].Problem)
		assert.Equal(t, "@fortnightly", all["newer"].Spec)
		require.Error(t, all["text"].Problem)
		require.NoError(t, k.inspector().RemoveSchedule(k.ctx(), "text"))
		assert.Len(t, k.schedules(), 1)
	})
}
