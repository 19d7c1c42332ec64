package work

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// fetchesOf tells whether calls are a fetch that names the queue.
func fetchesOf(calls []rdb.Call, queue string) bool {
	return nameOf(calls[0]) == "fetch" && slices.ContainsFunc(calls[0].Keys, func(key string) bool {
		return strings.HasSuffix(key, ":queue:"+queue)
	})
}

// TestALostFetchIsLookedIntoBeforeTheNext: what the fetch claimed goes back, what the worker runs does not, and the
// next fetch asks for less.
func TestALostFetchIsLookedIntoBeforeTheNext(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newTally()
		began, gate := make(chan struct{}, 5), make(chan struct{})
		pool := NewWorkerPool(nil, 9, k.options()).Job("n", ran.handle).
			Job("long", func() error { began <- struct{}{}; <-gate; return nil })
		var mu sync.Mutex
		var after []string // what the fetcher sent after the fetch that was lost
		var next []any     // the args of the first fetch after it
		lost := false
		k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			replies, err := pass(ctx, calls...)
			mu.Lock()
			defer mu.Unlock()
			switch name := nameOf(calls[0]); {
			case !lost && fetchesOf(calls, "n"):
				lost = true
				return nil, errors.New("the reply was lost")
			case lost && (name == "fetch" || name == "survey"):
				after = append(after, name)
				if next == nil && fetchesOf(calls, "n") {
					next = calls[0].Args
				}
			}
			return replies, err
		}})
		k.start(pool)
		k.enqueue("long")
		receive(t, began)
		receipts := k.enqueueNumbers("n", 0, 8)
		returned := await[event.JobsReturned](t, k.spy, nil)
		assert.Equal(t, 8, returned.Jobs, "the job that runs is not among them")
		k.until("all have run", func() bool { return count[event.JobDone](k.spy) == 8 })
		close(gate)
		require.NoError(t, pool.Drain(k.ctx()))
		ran.once(t, receipts)
		assert.Empty(t, began, "it ran once")
		assert.Zero(t, count[event.ClaimGone](k.spy))
		k.empty("n", "long")

		mu.Lock()
		defer mu.Unlock()
		require.NotEmpty(t, after)
		assert.Equal(t, "survey", after[0])
		require.NotNil(t, next)
		assert.LessOrEqual(t, next[2], 4, "half of the eight that were asked for")
	})
}

// TestAWorkerWhoseNumbersAreBehindGoesOn: a backup of Redis was restored, which knows larger numbers.
func TestAWorkerWhoseNumbersAreBehindGoesOn(t *testing.T) {
	t.Parallel()
	for name, atOnce := range map[string]bool{"the first survey meets them": true, "a fetch meets them": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				ran := newTally()
				pool := NewWorkerPool(nil, 2, k.options()).Job("n", ran.handle)
				var behind atomic.Bool
				behind.Store(atOnce)
				k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
					error) {
					script := nameOf(calls[0])
					if (script == "survey" || fetchesOf(calls, "n")) && behind.CompareAndSwap(true, false) {
						advance := rdb.Call{Command: "HSET", Args: []any{calls[0].Keys[0], "n", 1_000_000}}
						if _, err := pass(ctx, advance); err != nil {
							return nil, err
						}
					}
					return pass(ctx, calls...)
				}})
				k.start(pool)
				receipts := k.enqueueNumbers("n", 0, 1)
				await[event.JobDone](t, k.spy, nil)
				behind.Store(true)
				receipts = append(receipts, k.enqueueNumbers("n", 1, 3)...)
				k.until("all have run", func() bool { return count[event.JobDone](k.spy) == 3 })
				ran.once(t, receipts)
				assert.False(t, behind.Load(), "the numbers in Redis were advanced")
			})
		})
	}
}
