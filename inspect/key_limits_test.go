package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// held runs jobs of a name until the test lets go of them.
func (k *kit) held(name string, opts work.JobOptions) (pool *work.WorkerPool, letGo func()) {
	k.T.Helper()
	open := make(chan struct{})
	pool = k.Start(work.NewWorkerPool(nil, 10, k.Options()).JobWithOptions(name, opts, func(job *work.Job) error {
		<-open
		return nil
	}))
	return pool, func() { close(open) }
}

// key is one key of a queue as it is told.
func (k *kit) key(name, key string) (info inspect.KeyInfo) {
	k.T.Helper()
	page, err := k.inspector().Keys(k.Ctx(), inspect.KeysOptions{Name: name, Limit: 500})
	require.NoError(k.T, err)
	for _, info := range page.Keys {
		if info.Key == key {
			return info
		}
	}
	return info
}

func TestWhyAKeyWaits(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, ctx := k.inspector(), k.Ctx()
		pool, letGo := k.held("sync", work.JobOptions{PerKey: work.Limit{Concurrent: 2}})
		k.keyed("sync", "large", 5)
		k.keyed("sync", "small", 1)
		k.Until("the rest is parked", func() bool {
			return k.key("sync", "large").Parked == 3 && k.key("sync", "small").Running == 1
		})
		assert.Equal(t, inspect.KeyInfo{Key: "large", Weight: 1, Waiting: 3, Exact: true, Parked: 3, Running: 2,
			Share: 2. / 3, Limit: work.Limit{Concurrent: 2},
			Why: []inspect.WaitReason{{Kind: inspect.WaitKeyLimit, Limit: 2, Running: 2}}}, k.key("sync", "large"))
		small := k.key("sync", "small")
		assert.Equal(t, 1, small.Running)
		assert.Empty(t, small.Why)
		page, err := i.Page(ctx, inspect.PageOptions{State: work.StateQueued, Name: "sync"})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 3)
		assert.Equal(t, 3, page.Total)
		for _, job := range page.Jobs {
			assert.Equal(t, []inspect.WaitReason{{Kind: inspect.WaitKeyLimit, Limit: 2, Running: 2}}, job.Why)
			assert.Equal(t, "2 of its key run, and 2 may", job.Why[0].String())
		}
		queue, err := i.Queue(ctx, "sync")
		require.NoError(t, err)
		assert.Equal(t, 3, queue.Waiting)
		assert.False(t, queue.Oldest.IsZero(), "of the first that is parked, where no other waits")

		require.NoError(t, i.StopKey(ctx, "sync", "large"))
		large := k.key("sync", "large")
		assert.True(t, large.Stopped)
		assert.True(t, large.Operator)
		assert.Equal(t, []inspect.WaitReason{{Kind: inspect.WaitKeyStopped}}, large.Why)
		require.NoError(t, i.StopKey(ctx, "sync", "nobody"))
		idle := k.keyPages("sync", 1)
		assert.Equal(t, inspect.KeyInfo{Key: "nobody", Exact: true, Stopped: true, Operator: true}, idle[len(idle)-1])
		assert.Len(t, idle, 3)
		require.NoError(t, i.ResetKeyLimit(ctx, "sync", "nobody"))
		require.NoError(t, i.SetKeyLimit(ctx, "sync", "large", work.Limit{Concurrent: 4}))
		k.Until("two more run", func() bool { return k.key("sync", "large").Running == 4 })
		assert.Equal(t, work.Limit{Concurrent: 4}, k.key("sync", "large").Limit)
		require.NoError(t, i.ResetKeyLimit(ctx, "sync", "large"))
		require.NoError(t, i.ResetKeyLimit(ctx, "sync", "large"), "nothing is set any more")
		large = k.key("sync", "large")
		assert.Equal(t, work.Limit{Concurrent: 2}, large.Limit)
		assert.False(t, large.Operator)
		letGo()
		k.Drained(pool)
		assert.Empty(t, k.keyPages("sync", 50))
	})
}

func TestAnOrderedKeySaysBehindWhichJobItWaits(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		_, letGo := k.held("sync", work.JobOptions{Ordered: true})
		defer letGo()
		k.keyed("sync", "x", 1, work.ID("first"))
		k.Until("the first runs", func() bool { return k.key("sync", "x").Running == 1 })
		k.keyed("sync", "x", 1, work.ID("second"))
		k.Until("the second is parked", func() bool { return k.key("sync", "x").Parked == 1 })
		want := []inspect.WaitReason{{Kind: inspect.WaitKeyOrder, Job: "first"}}
		assert.Equal(t, want, k.key("sync", "x").Why)
		assert.True(t, k.key("sync", "x").Ordered)
		job, err := k.inspector().Job(k.Ctx(), "second")
		require.NoError(t, err)
		assert.Equal(t, want, job.Why)
		assert.Contains(t, job.String(), `behind job "first" in the order of its key`)
	})
}

func TestTheRateOfAKeySaysWhenTheNextMayBegin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		_, letGo := k.held("sync", work.JobOptions{PerKey: work.Limit{Rate: 2, Per: time.Hour, Burst: 2}})
		defer letGo()
		k.keyed("sync", "x", 4)
		k.Until("two are parked", func() bool { return k.key("sync", "x").Parked == 2 })
		key := k.key("sync", "x")
		require.Len(t, key.Why, 1)
		assert.Equal(t, inspect.WaitKeyRate, key.Why[0].Kind)
		assert.WithinDuration(t, time.Now().Add(30*time.Minute), key.Why[0].Until, 2*time.Minute)
		assert.Equal(t, work.Limit{Rate: 2, Per: time.Hour, Burst: 2}, key.Limit)
	})
}

func TestLimitsOfKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, ctx := k.inspector(), k.Ctx()
		for _, wanted := range []work.Limit{{}, {Concurrent: -1}, {Rate: 1}, {Burst: 2}} {
			err := i.SetKeyLimit(ctx, "sync", "a", wanted)
			var bad *work.LimitError
			require.ErrorAs(t, err, &bad, "%+v", wanted)
			assert.True(t, bad.PerKey)
			assert.NotEmpty(t, bad.Why)
		}
		for _, key := range []string{"", strings.Repeat("k", 201), "a\x00b"} {
			for _, err := range []error{i.StopKey(ctx, "sync", key), i.ResetKeyLimit(ctx, "sync", key),
				i.SetKeyLimit(ctx, "sync", key, work.Limit{Concurrent: 1})} {
				var bad *work.InvalidError
				require.ErrorAs(t, err, &bad, "%q", key)
			}
		}
		assert.Error(t, i.StopKey(ctx, "", "a"))
		assert.Zero(t, k.Number("EXISTS", "keyrules"))
	})
}

// Each partition knows it: a key that is moved finds it there.
func TestALimitOfAKeyIsSetInEachPartition(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(_ int, k *kit) { k.keyed("sync", "y", 1) })
		ctx := d.LongCtx()
		require.NoError(t, d.i.StopKey(ctx, "sync", "x"))
		page, err := d.i.Keys(ctx, inspect.KeysOptions{Name: "sync"})
		require.NoError(t, err)
		assert.Equal(t, []inspect.KeyInfo{{Key: "y", Weight: 1, Waiting: 3, Exact: true},
			{Key: "x", Exact: true, Stopped: true, Operator: true}}, page.Keys)
		for n := range parts {
			require.NoError(t, d.alone(n).StopKey(ctx, "sync", "x"), "which changes nothing")
		}
		require.NoError(t, d.i.ResetKeyLimit(ctx, "sync", "x"))
		assert.NoError(t, d.i.ResetKeyLimit(ctx, "sync", "x"))
	})
}
