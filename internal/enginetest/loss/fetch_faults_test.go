package loss_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// fetchesOf tells whether calls are a fetch that names the queue.
func fetchesOf(calls []redisconn.Call, queue string) bool {
	return pooltest.NameOf(calls[0]) == "fetch" && slices.ContainsFunc(calls[0].Keys, func(key string) bool {
		return strings.HasSuffix(key, ":queue:"+queue)
	})
}

// TestALostFetchIsLookedIntoBeforeTheNext: what the fetch claimed goes back, what the worker runs does not, and the
// next fetch asks for less.
func TestALostFetchIsLookedIntoBeforeTheNext(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := pooltest.NewTally()
		began, gate := make(chan struct{}, 5), make(chan struct{})
		pool := work.NewWorkerPool(nil, 9, k.Options()).Job("n", ran.Handle).
			Job("long", func() error { began <- struct{}{}; <-gate; return nil })
		var mu sync.Mutex
		var after []string // what the fetcher sent after the fetch that was lost
		var next []any     // the args of the first fetch after it
		lost, waits := false, false
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			mu.Lock()
			defer mu.Unlock()
			switch name := pooltest.NameOf(calls[0]); {
			case !lost && waits && fetchesOf(calls, "n"): // behind the one with which a worker begins
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
		k.Start(pool)
		k.Enqueue("long")
		pooltest.Receive(t, began)
		mu.Lock()
		waits = true
		mu.Unlock()
		receipts := k.EnqueueNumbers("n", 0, 8)
		returned := pooltest.Await[event.JobsReturned](t, k.Spy, nil)
		assert.Equal(t, 8, returned.Jobs, "the job that runs is not among them")
		k.Until("all have run", func() bool { return pooltest.Count[event.JobDone](k.Spy) == 8 })
		close(gate)
		require.NoError(t, pool.Drain(k.Ctx()))
		ran.Once(t, receipts)
		assert.Empty(t, began, "it ran once")
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
		k.Empty("n", "long")

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
				ran := pooltest.NewTally()
				pool := work.NewWorkerPool(nil, 2, k.Options()).Job("n", ran.Handle)
				var behind atomic.Bool
				behind.Store(atOnce)
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					script := pooltest.NameOf(calls[0])
					if (script == "survey" || fetchesOf(calls, "n")) && behind.CompareAndSwap(true, false) {
						// By so many, not to so many: numbers alone never fall back, as all that came with them stays.
						advance := redisconn.Call{Command: "HINCRBY", Args: []any{calls[0].Keys[0], "n", 1_000_000}}
						if _, err := pass(ctx, advance); err != nil {
							return nil, err
						}
					}
					return pass(ctx, calls...)
				}})
				done := func(all int) func() bool {
					return func() bool { return pooltest.Count[event.JobDone](k.Spy) >= all }
				}
				k.Start(pool)
				receipts := k.EnqueueNumbers("n", 0, 1)
				k.Until("the first has run", done(1))
				behind.Store(true)
				receipts = append(receipts, k.EnqueueNumbers("n", 1, 3)...)
				k.Until("more have run", done(3))
				k.Until("the numbers in Redis were advanced", func() bool { return !behind.Load() })
				receipts = append(receipts, k.EnqueueNumbers("n", 3, 4)...)
				k.Until("all have run", done(4))
				k.Drained(pool)
				ran.Once(t, receipts)
			})
		})
	}
}

// A worker that happens to look while another one was called must not fetch in vain; what is still there a moment later
// it takes.
func TestWhatOthersWereCalledForIsLeftToThem(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]bool{"others come": true, "nobody comes": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				ran := make(chan string, 1)
				pool := work.NewWorkerPool(nil, 2, k.Options()).
					Job("n", func(job *work.Job) error { ran <- job.ID; return nil })
				var looks, fetches atomic.Int64
				var seen atomic.Bool
				driver := k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					if pooltest.NameOf(calls[0]) != "fetch" {
						return pass(ctx, calls...)
					}
					if calls[0].Args[2] != 0 {
						fetches.Add(1)
						return pass(ctx, calls...)
					}
					replies, err := pass(ctx, calls...)
					answer, _ := replies[0].Value.([]any)
					ready, _ := answer[2].([]any)
					if len(ready) > 0 {
						seen.Store(true)
					}
					if seen.Load() && looks.Add(1) == 1 && others { // another worker takes it now
						k.Do("LPOP", "queue:n")
						k.Do("SREM", "ready", "n")
					}
					return replies, err
				}})
				require.NoError(t, pool.Start(k.Ctx()))
				driver.UntilSentInAll(t, "BLPOP", 1) // it rests
				before := fetches.Load()
				k.Store("n", "lost", `{"jid":"lost","name":"n","args":[],"t":1}`) // and no token: that was taken
				if others {
					require.Eventually(t, func() bool { return looks.Load() >= 2 }, pooltest.Patience, time.Millisecond)
					assert.Equal(t, before, fetches.Load(), "nothing was asked in vain")
				} else {
					assert.Equal(t, "lost", pooltest.Receive(t, ran))
					assert.GreaterOrEqual(t, looks.Load(), int64(2), "it looked twice")
				}
				require.NoError(t, k.Stop(pool))
			})
		})
	}
}
