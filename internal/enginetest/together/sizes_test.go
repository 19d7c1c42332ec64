package together_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestABusyQueueGivesFullBatches(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("index", 0, 2000)
		seen := newSieve()
		pool := k.Tidy(k.pool(2, of(500, time.Hour), seen.handle))
		k.Drained(pool)
		assert.Equal(t, []int{500, 500, 500, 500}, seen.sizes(), "though its worker has two processors")
		assert.ElementsMatch(t, numbers(2000), seen.all())
		for _, batch := range seen.batches {
			assert.True(t, slices.IsSorted(batch), "in the order of the queue")
		}
		k.clean(t)
	})
}

func TestAQuietQueueMakesAJobWaitNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"a while": 300 * time.Millisecond, "not at all": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				seen := newSieve()
				k.Start(k.pool(2, of(500, wait), seen.handle))
				begun := time.Now()
				k.EnqueueNumbers("index", 0, 1)
				assert.Equal(t, []int{0}, pooltest.Receive(t, seen.begun))
				took := time.Since(begun)
				assert.GreaterOrEqual(t, took, wait)
				assert.Less(t, took, wait+2*time.Second)
			})
		})
	}
}

// TestABatchBeginsWhenItIsFull, although what it has came one by one and might wait for an hour.
func TestABatchBeginsWhenItIsFull(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen := newSieve()
		pool := k.Tidy(k.pool(1, of(5, time.Hour), seen.handle))
		for i := range 10 {
			k.EnqueueNumbers("index", i, i+1)
			if i%5 < 4 {
				held := i%5 + 1
				k.Until("it is collected", func() bool { return pooltest.Parts(pool).Slots.Held() == held })
			}
		}
		assert.Equal(t, []int{0, 1, 2, 3, 4}, pooltest.Receive(t, seen.begun))
		assert.Equal(t, []int{5, 6, 7, 8, 9}, pooltest.Receive(t, seen.begun))
		k.Drained(pool)
		k.clean(t)
	})
}

// TestWhatWaitsForOthersTakesNoProcessor: the only one runs other jobs meanwhile.
func TestWhatWaitsForOthersTakesNoProcessor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen, others := newSieve(), make(chan int, 10)
		pool := k.Tidy(k.pool(1, of(500, time.Hour), seen.handle).
			Job("other", func(n int) error { others <- n; return nil }))
		k.EnqueueNumbers("index", 0, 3)
		k.Until("they are collected", func() bool { return pooltest.Parts(pool).Slots.Held() == 3 })
		k.EnqueueNumbers("other", 0, 5)
		for range 5 {
			pooltest.Receive(t, others)
		}
		assert.Empty(t, seen.begun)
		k.Until("each is a running job for who looks", func() bool { return k.Number("HLEN", "claimed") == 3 })
		info, err := k.Inspector().Job(k.Ctx(), k.Strings("HKEYS", "claimed")[0])
		require.NoError(t, err)
		assert.Equal(t, work.StateRunning, info.State)
		require.NoError(t, k.Stop(pool))
		assert.Equal(t, 3, k.Number("LLEN", "queue:index"), "a stop waits for no others")
		assert.Zero(t, k.Number("HLEN", "claimed"))
	})
}

func TestNoMoreAreClaimedThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("index", 0, 3000)
		seen := newSieve()
		seen.wait = make(chan struct{})
		pool := k.Tidy(k.pool(20, of(500, time.Hour), seen.handle).Job("other", pooltest.Nothing))
		for range 3 {
			pooltest.Receive(t, seen.begun)
		}
		k.EnqueueNumbers("other", 0, 0)
		pool.Poll(k.Ctx())
		assert.Equal(t, 1500, k.Number("HLEN", "claimed"))
		assert.Len(t, seen.sizes(), 3)
		first, err := k.Enq.Enqueue(k.Ctx(), "other")
		require.NoError(t, err)
		pooltest.Await(t, k.Spy, func(e event.JobDone) bool { return e.ID == first.ID })
		close(seen.wait)
		k.Drained(pool)
		assert.Equal(t, []int{500, 500, 500, 500, 500, 500}, seen.sizes())
		slots := pooltest.Parts(pool).Slots
		assert.Equal(t, slots.Room(), slots.Free(), "nothing of it counts any more")
		k.clean(t)
	})
}

func TestByKeyABatchHasJobsOfOneKey(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var entries []work.Entry
		for i := range 90 {
			entry := work.Entry{Name: "index", Args: []any{i}}
			if key := i % 3; key > 0 {
				entry.Options = []work.EnqueueOption{work.Key(fmt.Sprint(key))}
			}
			entries = append(entries, entry)
		}
		_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		seen := newSieve()
		opts := of(10, time.Hour)
		opts.Together.ByKey = true
		pool := k.Tidy(k.pool(2, opts, seen.handle))
		k.Drained(pool)
		assert.Equal(t, slices.Repeat([]int{10}, 9), seen.sizes())
		for _, batch := range seen.batches {
			for _, n := range batch {
				assert.Equal(t, batch[0]%3, n%3)
			}
		}
		assert.ElementsMatch(t, numbers(90), seen.all())
		k.clean(t)
	})
}

// TestLimitsBoundBatches: a batch that can get no more members does not wait for some.
func TestLimitsBoundBatches(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*work.JobOptions){
		"of the pool":      func(o *work.JobOptions) { o.MaxRunning = 7 },
		"over all workers": func(o *work.JobOptions) { o.Limit = work.Limit{Concurrent: 7} },
		"of each key": func(o *work.JobOptions) {
			o.PerKey, o.Together.ByKey = work.Limit{Concurrent: 7}, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				for i := range 70 {
					_, err := k.Enq.With(work.Key("one")).Enqueue(k.Ctx(), "index", i)
					require.NoError(t, err)
				}
				seen, opts := newSieve(), of(500, time.Hour)
				change(&opts)
				pool := k.Tidy(k.pool(3, opts, seen.handle))
				k.Drained(pool)
				for _, size := range seen.sizes() {
					assert.LessOrEqual(t, size, 7)
				}
				assert.ElementsMatch(t, numbers(70), seen.all())
				k.clean(t)
			})
		})
	}
}

// TestBatchesAndSingleJobsHaveTheirShares: neither starves.
func TestBatchesAndSingleJobsHaveTheirShares(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("index", 0, 800)
		k.EnqueueNumbers("other", 0, 80)
		order := make(chan string, 400)
		pool := k.Tidy(k.pool(1, of(10, time.Hour), func(_ context.Context, batch work.Batch[int]) error {
			order <- "batch"
			return nil
		}).Job("other", func(int) error { order <- "single"; return nil }))
		k.Drained(pool)
		require.Len(t, order, 160)
		first := <-order
		for next := first; next == first; next = <-order { // until the fetcher knows of both
		}
		singles := 0
		for range 20 {
			if <-order == "single" {
				singles++
			}
		}
		assert.InDelta(t, 10, singles, 3)
		k.clean(t)
	})
}
