package together_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// enqueueOf stores jobs of so many keys in turn, whose argument is their number.
func (k *kit) enqueueOf(t *testing.T, keys, jobs int) {
	t.Helper()
	entries := make([]work.Entry, jobs)
	for i := range entries {
		entries[i] = work.Entry{Name: "index", Args: []any{i},
			Options: []work.EnqueueOption{work.Key(fmt.Sprint("k", i%keys))}}
	}
	_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
	require.NoError(t, err)
}

// TestABatchHasNoMoreOfAKeyThanMayRun, nor have several at once, whether its jobs are of one key or of many.
func TestABatchHasNoMoreOfAKeyThanMayRun(t *testing.T) {
	t.Parallel()
	for name, byKey := range map[string]bool{"of many keys": false, "of one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				k.enqueueOf(t, 3, 60)
				opts := of(20, 20*time.Millisecond)
				opts.PerKey, opts.Together.ByKey = work.Limit{Concurrent: 2}, byKey
				var mu sync.Mutex
				running, most, all := map[int]int{}, map[int]int{}, []int{}
				count := func(batch work.Batch[int], by int) {
					mu.Lock()
					defer mu.Unlock()
					for _, n := range batch.Args() {
						running[n%3] += by
						most[n%3] = max(most[n%3], running[n%3])
					}
				}
				pool := k.Tidy(k.pool(3, opts, func(_ context.Context, batch work.Batch[int]) error {
					count(batch, 1)
					defer count(batch, -1)
					mu.Lock()
					all = append(all, batch.Args()...)
					mu.Unlock()
					if byKey {
						for _, item := range batch {
							assert.Equal(t, batch[0].Job.Key, item.Job.Key)
						}
					}
					return nil
				}))
				k.Drained(pool)
				assert.ElementsMatch(t, numbers(60), all)
				for key, n := range most {
					assert.LessOrEqual(t, n, 2, "of key %d", key)
				}
				k.clean(t)
			})
		})
	}
}

// TestABatchHasOneJobOfAnOrderedKey at the most, which is the next of it, also over retries: the others of the batch
// are of other keys.
func TestABatchHasOneJobOfAnOrderedKey(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const keys = 4
		k.enqueueOf(t, keys, 40)
		opts := of(20, 20*time.Millisecond)
		opts.Ordered = true
		opts.Backoff = func(*work.Job, error) time.Duration { return 5 * time.Millisecond }
		var mu sync.Mutex
		ended, failed := map[int][]int{}, map[int]bool{}
		pool := k.Tidy(k.pool(3, opts, func(_ context.Context, batch work.Batch[int]) error {
			mu.Lock()
			defer mu.Unlock()
			seen := map[string]bool{}
			for _, item := range batch {
				assert.False(t, seen[item.Job.Key], "two of %s in %v", item.Job.Key, batch.Args())
				seen[item.Job.Key] = true
				if n := item.Args; n%3 == 0 && !failed[n] {
					failed[n] = true
					item.Fail(errors.New("at first"))
					continue
				}
				ended[item.Args%keys] = append(ended[item.Args%keys], item.Args)
			}
			return nil
		}))
		k.Until("all have ended", func() bool { return k.Number("EXISTS", "jobs") == 0 })
		k.Drained(pool)
		for key := range keys {
			assert.Len(t, ended[key], 10)
			assert.True(t, slices.IsSorted(ended[key]), "%v", ended[key])
		}
		k.clean(t)
	})
}

// TestAWorkerThatDiesWithABatchKeepsTheOrderOfKeys: each of them is next again, alone.
func TestAWorkerThatDiesWithABatchKeepsTheOrderOfKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const keys = 3
		k.enqueueOf(t, keys, 12)
		opts := of(10, 20*time.Millisecond)
		opts.Ordered = true
		first := newSieve()
		first.wait = make(chan struct{})
		dying := k.Start(work.NewWorkerPool(nil, 2, k.Another(pooltest.NewSpy())).
			JobWithOptions("index", opts, first.handle))
		assert.ElementsMatch(t, numbers(keys), pooltest.Receive(t, first.begun))
		k.Crash(dying)
		seen := newSieve()
		pool := k.Tidy(k.pool(2, opts, seen.handle))
		k.Drained(pool)
		of := map[int][]int{}
		for _, n := range seen.all() {
			of[n%keys] = append(of[n%keys], n)
		}
		for key := range keys {
			assert.Equal(t, []int{key, key + keys, key + 2*keys, key + 3*keys}, of[key])
		}
		k.clean(t)
	})
}

// TestADeadMemberMayStopItsKey while those of other keys go on.
func TestADeadMemberMayStopItsKey(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueueOf(t, 2, 8)
		opts := of(10, 20*time.Millisecond)
		opts.Ordered, opts.StopAtDeath = true, true
		seen := newSieve()
		seen.each = func(item *work.Item[int]) {
			if item.Args == 2 {
				item.Fail(work.Bury(errOne))
			}
		}
		pool := k.Start(k.pool(2, opts, seen.handle))
		k.Until("the other key is done, and the first one stands", func() bool { return k.Number("HLEN", "jobs") == 3 })
		assert.Equal(t, 1, pooltest.Count[event.JobBuried](k.Spy))
		assert.ElementsMatch(t, []int{0, 1, 2, 3, 5, 7}, seen.all())
		require.NoError(t, k.Stop(pool))
		assert.Equal(t, 1, k.Number("ZCARD", "morgue"))
	})
}
