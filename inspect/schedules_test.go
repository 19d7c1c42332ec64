package inspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/maintaintest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/schedule"
)

func TestAScheduleIsAddedChangedAndRemovedByHand(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, ctx := k.inspector(), k.Ctx()
		opts := work.PeriodicOptions{ID: "nightly", TZ: "Europe/Berlin", Missed: work.MissedAll(3), Key: "customer-7",
			Weight: 3}
		require.NoError(t, i.AddSchedule(ctx, "0 3 * * *", "export", opts, "users", int64(1234567890123456789)))
		got := k.schedules()["nightly"]
		assert.Equal(t, "0 3 * * *", got.Spec)
		assert.Equal(t, opts, got.Options)
		assert.JSONEq(t, `["users",1234567890123456789]`, string(got.Args))
		assert.Empty(t, got.Service)
		assert.Equal(t, 3, got.Next.In(berlin(t)).Hour())
		require.ErrorIs(t, i.AddSchedule(ctx, "@daily", "export", work.PeriodicOptions{ID: "nightly"}),
			work.ErrScheduleExists)

		long := time.Now().Add(-100 * time.Hour).Truncate(time.Millisecond)
		k.lastTick("nightly", long)
		opts.Overlap = work.OverlapSkip
		require.NoError(t, i.ChangeSchedule(ctx, "0 3 * * *", "import", opts))
		got = k.schedules()["nightly"]
		assert.Equal(t, "import", got.Name)
		assert.Equal(t, json.RawMessage("[]"), got.Args)
		assert.Equal(t, work.OverlapSkip, got.Options.Overlap)
		assert.True(t, long.Equal(got.Last), "the ticks are the same: it goes on from its last one")
		opts.TZ = "America/New_York"
		require.NoError(t, i.ChangeSchedule(ctx, "0 3 * * *", "import", opts))
		assert.WithinDuration(t, time.Now(), k.schedules()["nightly"].Last, time.Minute,
			"they are others: they begin now")

		require.NoError(t, i.RemoveSchedule(ctx, "nightly"))
		assert.Empty(t, k.schedules())
		assert.Zero(t, k.Number("HLEN", "ticks"))
		require.ErrorIs(t, i.RemoveSchedule(ctx, "nightly"), work.ErrNoSchedule)
		require.ErrorIs(t, i.ChangeSchedule(ctx, "@daily", "import", opts), work.ErrNoSchedule)
		require.ErrorIs(t, i.PauseSchedule(ctx, "nightly"), work.ErrNoSchedule)
		require.ErrorIs(t, i.ResumeSchedule(ctx, "nightly"), work.ErrNoSchedule)
		_, err := i.RunScheduleNow(ctx, "nightly")
		require.ErrorIs(t, err, work.ErrNoSchedule)
		assert.ErrorContains(t, err, `schedule "nightly" was not run`)
	})
}

func TestAScheduleThatCannotBeIsNotAdded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		for name, err := range map[string]error{
			"a spec with a typo": i.AddSchedule(k.Ctx(), "0 3 * *", "export", work.PeriodicOptions{}),
			"a zone with a typo": i.AddSchedule(k.Ctx(), "0 3 * * *", "export", work.PeriodicOptions{TZ: "Mars"}),
			"a negative jitter":  i.AddSchedule(k.Ctx(), "0 3 * * *", "export", work.PeriodicOptions{Jitter: -1}),
			"no name":            i.AddSchedule(k.Ctx(), "0 3 * * *", "", work.PeriodicOptions{}),
			"args that no JSON is": i.AddSchedule(k.Ctx(), "0 3 * * *", "export", work.PeriodicOptions{},
				make(chan int)),
			"a change to a typo": i.ChangeSchedule(k.Ctx(), "0 3 * *", "export", work.PeriodicOptions{}),
		} {
			var invalid *work.InvalidError
			assert.ErrorAs(t, err, &invalid, name)
		}
		assert.Empty(t, k.schedules())
	})
}

func TestAScheduleIsRunNow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan work.Job, 10)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("export", func(job *work.Job, table string) error {
				ran <- work.Job{ID: job.ID, Meta: job.Meta}
				return nil
			}).
			PeriodicWithOptions("@yearly", "export", work.PeriodicOptions{Overlap: work.OverlapSkip}, "users"))
		i := inspect.Of(pool)
		require.NoError(t, i.PauseSchedule(k.Ctx(), "export"))
		before := k.schedules()["export"].Last
		for range 2 {
			receipt, err := i.RunScheduleNow(k.Ctx(), "export")
			require.NoError(t, err)
			assert.Equal(t, "export", receipt.Name)
			job := pooltest.Receive(t, ran)
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
		require.NoError(t, i.AddSchedule(k.Ctx(), "@yearly", "export", work.PeriodicOptions{}))
		ctx := k.Ctx()
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
		assert.Equal(t, 25, k.Number("HLEN", "jobs"))
		assert.Equal(t, 25, k.Number("LLEN", "queue:export"))
	})
}

// Many change one schedule at a time: what one does the next one sees.
func TestManyChangeASchedule(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, ctx := k.inspector(), k.Ctx()
		var together sync.WaitGroup
		var added sync.Map
		for n := range 8 {
			together.Go(func() {
				if i.AddSchedule(ctx, "@yearly", "export", work.PeriodicOptions{ID: "one"}, n) == nil {
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
		k.Do("HSET", "schedules", "newer", `{"spec":"@fortnightly","name":"export","args":[]}`, "text", "no JSON")
		all := k.schedules()
		require.Error(t, all["newer"].Problem)
		assert.Equal(t, "@fortnightly", all["newer"].Spec)
		require.Error(t, all["text"].Problem)
		require.NoError(t, k.inspector().RemoveSchedule(k.Ctx(), "text"))
		assert.Len(t, k.schedules(), 1)
	})
}

// schedules are all of the namespace, by id.
func (k *kit) schedules() map[string]inspect.ScheduleInfo {
	k.T.Helper()
	list, err := k.inspector().Schedules(k.Ctx())
	require.NoError(k.T, err)
	all := map[string]inspect.ScheduleInfo{}
	for _, one := range list {
		all[one.ID] = one
	}
	return all
}

// lastTick has Redis believe that a schedule has moved on up to then.
func (k *kit) lastTick(id string, at time.Time) {
	k.T.Helper()
	k.Do("HSET", "ticks", id, fmt.Sprint(at.UnixMilli(), " "))
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	return zone
}

func TestAPausedScheduleMissesNothingThatIsMadeUpFor(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	c.Add(schedule.Wanted{Spec: "@every 1m", Missed: 100})
	i, e := lookInto(c), c.Enqueuer()
	require.NoError(t, c.Round(e))
	require.NoError(t, i.PauseSchedule(t.Context(), "export"))
	require.NoError(t, i.PauseSchedule(t.Context(), "export"), "once more")
	c.Set(maintaintest.Start.Add(time.Hour))
	require.NoError(t, c.Round(e))
	all, err := i.Schedules(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	paused := all[0]
	assert.True(t, paused.Paused)
	assert.Zero(t, paused.Next)
	assert.Empty(t, c.IDs())

	require.NoError(t, i.ResumeSchedule(t.Context(), "export"))
	require.NoError(t, i.ResumeSchedule(t.Context(), "export"), "once more")
	require.NoError(t, c.Round(e))
	assert.Empty(t, c.IDs(), "the ticks of the pause are not made up for")
	c.Set(c.Now.Add(time.Minute))
	require.NoError(t, c.Round(e))
	assert.Len(t, c.IDs(), 1)
}

// A tick was read before the pause and is sent after it.
func TestATickThatAPauseOvertakes(t *testing.T) {
	t.Parallel()
	c := maintaintest.New(t)
	c.Add(schedule.Wanted{Spec: "@every 1m"})
	late := &maintaintest.Interrupted{Driver: c.Store.Driver()}
	e := c.EnqueuerOn(late)
	c.Set(maintaintest.Start.Add(time.Minute))
	late.Next = func(ctx context.Context, pass maintaintest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
		require.NoError(t, lookInto(c).PauseSchedule(ctx, "export"))
		return pass(ctx, calls...)
	}
	require.NoError(t, c.Round(e))
	require.NoError(t, c.Round(e))
	assert.Empty(t, c.IDs())
}

// lookInto looks into a namespace in which the test sets the time.
func lookInto(c *maintaintest.Clockwork) *inspect.Inspector {
	c.T.Helper()
	i, err := inspect.New(c.Server.DSN(), work.Namespace(c.Namespace))
	require.NoError(c.T, err)
	c.T.Cleanup(func() { require.NoError(c.T, i.Close()) })
	return i
}
