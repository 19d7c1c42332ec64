package work

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/workgroup"
)

func TestSettingsOfAnEntryAreWhatItsOptionsSay(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_900_000_000_000)
	unique, retries := UniqueOptions{Key: "k"}, 3
	entry := Entry{Options: []EnqueueOption{
		ID("first"), ID("second"), Retries(3), Timeout(time.Minute), Retention(time.Hour), OmitArgs(), Meta("a", "1"),
		Meta("b", "2"), Tags("x", "y"),
		Front(), Unique(unique), ExpireAt(at), Deadline(at), RetryFor(time.Hour), Completion("ended"),
		WaitReplicas(2, time.Second), Key("customer-42"), Weight(3),
	}}
	want := EntrySettings{
		ID: "second", Retries: &retries, Timeout: time.Minute, Retention: time.Hour, OmitArgs: true,
		Meta: map[string]string{"a": "1", "b": "2"},
		Tags: []string{"x", "y"}, Front: true, Unique: &unique, ExpireAt: at, Deadline: at, RetryFor: time.Hour,
		Completion: "ended",
		Replicas:   2,
		Key:        "customer-42", Weight: 3,
	}
	got := entry.Settings()
	assert.Equal(t, want, got)

	got.Tags[0], got.Meta["a"], got.Unique.Key = "changed", "changed", "changed"
	*got.Retries = 9
	assert.Equal(t, want, entry.Settings(), "they are the caller's own")
	assert.Equal(t, EntrySettings{ExpireIn: time.Minute},
		Entry{Options: []EnqueueOption{ExpireAt(at), ExpireIn(time.Minute)}}.Settings())
	assert.Equal(t, EntrySettings{}, Entry{}.Settings())
}

// A field of jobSettings or jobTimes that is added belongs into EntrySettings too.
func TestSettingsOfAnEntryAreComplete(t *testing.T) {
	t.Parallel()
	// made of others, or of no interest
	inner := []string{"chosen", "err", "times", "replicaWait", "turn", "codecs", "born"}
	fields := reflect.TypeFor[jobSettings]().NumField() - len(inner) + reflect.TypeFor[jobTimes]().NumField() +
		reflect.TypeFor[rdb.Turn]().NumField()
	assert.Equal(t, fields, reflect.TypeFor[EntrySettings]().NumField())
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

func TestTheLimitsOfArgsAreTheDefaults(t *testing.T) {
	t.Parallel()
	assert.Equal(t, jobargs.NewLimits(0, 0), newEnqueuer(partition.NewDirectory(unopened{}, "test"),
		enqueuerSettings{}).core.limits)
}

func TestACloneDoesNotChangeWithThePool(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://localhost"}).Job("a", func() error { return nil })
	clone := pool.Clone(WorkerOptions{Redis: "redis://localhost"})
	pool.Job("b", func() error { return nil })
	clone.Job("c", func() error { return nil })
	assert.Equal(t, []string{"a", "c"}, slices.Sorted(maps.Keys(clone.registered)))
	assert.NotContains(t, slices.Sorted(maps.Keys(pool.registered)), "c")
	assert.False(t, pool.registered["a"] == clone.registered["a"])
}

func TestAnIdleTimeoutThatIsTooShortIsRefused(t *testing.T) {
	t.Parallel()
	for timeout, wrong := range map[time.Duration]bool{0: false, 10 * time.Millisecond: false, time.Hour: false,
		10*time.Millisecond - 1: true, -1: true} {
		t.Run(timeout.String(), func(t *testing.T) {
			t.Parallel()
			mistakes := WorkerOptions{IdleTimeout: timeout}.withDefaults().validate()
			if !wrong {
				assert.Empty(t, mistakes)
				return
			}
			require.Len(t, mistakes, 1)
			assert.Contains(t, mistakes[0].Error(), "WorkerOptions.IdleTimeout")
			assert.Contains(t, mistakes[0].Error(), "give 10ms or more, or 0 for never")
		})
	}
}

func TestTheSameScheduleTwiceIsOne(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent()}).
		Job("export", func() error { return nil }).
		Periodic("@daily", "export").
		Periodic("@daily", "export").
		PeriodicWithOptions("@hourly", "export", PeriodicOptions{ID: "export hourly"})
	require.NoError(t, pool.prepare())
	assert.Equal(t, "export\nexport hourly", pool.home.declared().IDs())
}

func TestAScheduleAfterTheStartHasNoEffect(t *testing.T) {
	t.Parallel()
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent()}).
		Job("export", func() error { return nil })
	pool.state = poolStarted
	pool.Periodic("@daily", "export")
	assert.Empty(t, pool.periodics)
}

func TestAServiceIsNamedOrMadeOfTheServedNames(t *testing.T) {
	t.Parallel()
	made := func(opts WorkerOptions, names ...string) string {
		opts.Redis, opts.Logger = "redis://127.0.0.1:1/0", silent()
		pool := NewWorkerPool(nil, 1, opts)
		for _, name := range names {
			pool.Job(name, func() error { return nil })
		}
		require.NoError(t, pool.prepare())
		return pool.service()
	}
	assert.Equal(t, "shop", made(WorkerOptions{Service: "shop"}, "a"))
	assert.Equal(t, made(WorkerOptions{}, "a", "b"), made(WorkerOptions{}, "b", "a"))
	assert.NotEqual(t, made(WorkerOptions{}, "a", "b"), made(WorkerOptions{}, "a"))
	assert.Equal(t, made(WorkerOptions{Only: []string{"a"}}, "a", "b"), made(WorkerOptions{}, "a"))

	err := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://127.0.0.1:1/0", Logger: silent(), Service: "default:x"}).
		Job("a", func() error { return nil }).Start(context.Background())
	assert.ErrorContains(t, err, `WorkerOptions.Service is "default:x": use one that does not begin with default:`)
}

// What is fetched ahead is bounded by the processors, and by what a worker may hold.
func TestHowManyAreFetchedAheadAtTheMost(t *testing.T) {
	t.Parallel()
	for processors, want := range map[int]int{1: 12, 4: 48, 20: 240, 22: 256, 128: 256, 200: 184, 256: 128} {
		held := min(maxHeld, processors+max(processors, 64))
		w := &worker{concurrency: processors, slots: workgroup.NewSlots(processors, held)}
		assert.Equal(t, want, mostAhead(w), fmt.Sprint(processors))
		assert.LessOrEqual(t, held+want, maxHeld, fmt.Sprint(processors))
	}
}
