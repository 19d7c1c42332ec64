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
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// TestAWorkerThatDiesGivesAllBack: what it ran and what it had collected. Those run one by one then, and no crash is
// remembered of one that has ended.
func TestAWorkerThatDiesGivesAllBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("index", 0, 25)
		first := newSieve()
		first.wait = make(chan struct{})
		options := k.Another(pooltest.NewSpy())
		dying := k.Start(work.NewWorkerPool(nil, 2, options).JobWithOptions("index", of(20, time.Hour), first.handle))
		assert.Len(t, pooltest.Receive(t, first.begun), 20)
		k.Until("the others are collected", func() bool { return pooltest.Parts(dying).Slots.Held() == 25 })
		k.Crash(dying)
		seen := newSieve()
		pool := k.Tidy(k.pool(2, of(20, 0), seen.handle))
		k.Until("all have run", func() bool { return len(seen.all()) == 25 })
		k.Drained(pool)
		assert.ElementsMatch(t, numbers(25), seen.all())
		assert.Equal(t, slices.Repeat([]int{1}, 25), seen.sizes())
		k.clean(t)
	})
}

// TestAPoisonedMemberIsFound: each worker that has it dies, and only it is buried.
func TestAPoisonedMemberIsFound(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := k.EnqueueNumbers("index", 0, 10)
		var mu sync.Mutex
		done := map[int]bool{}
		deaths := 0
		for buried := false; !buried; deaths++ {
			require.Less(t, deaths, 6, "it is not found")
			died, dead := make(chan struct{}, 9), make(chan struct{}, 9)
			options := k.Options()
			options.HeartbeatLife = time.Second
			options.Observers = []work.Observer{work.ObserverFunc(func(e event.Event) {
				if _, is := e.(event.JobBuried); is {
					dead <- struct{}{}
				}
			})}
			pool := k.Tidy(work.NewWorkerPool(nil, 2, options).JobWithOptions("index", of(10, 100*time.Millisecond),
				func(ctx context.Context, batch work.Batch[int]) error {
					if slices.Contains(batch.Args(), 7) {
						died <- struct{}{}
						<-ctx.Done()
						return ctx.Err()
					}
					mu.Lock()
					defer mu.Unlock()
					for _, n := range batch.Args() {
						done[n] = true
					}
					return nil
				}))
			select {
			case <-died:
				k.Until("all others have ended", func() bool { return deaths == 0 || k.Number("HLEN", "jobs") == 1 })
				k.Crash(pool)
			case <-dead:
				buried = true
				k.Drained(pool)
			}
		}
		assert.Equal(t, 1, k.Number("ZCARD", "morgue"))
		assert.NotEmpty(t, k.Text("HGET", "trail", receipts[7].ID))
		assert.Len(t, done, 9)
		assert.False(t, done[7])
	})
}

func TestAStopInTheMidstOfCollectingGivesAllBackInOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := k.EnqueueNumbers("index", 0, 499)
		seen := newSieve()
		pool := k.Tidy(k.pool(2, of(500, time.Hour), seen.handle))
		k.Until("they are collected", func() bool { return pooltest.Parts(pool).Slots.Held() == 499 })
		begun := time.Now()
		require.NoError(t, k.Stop(pool))
		assert.Less(t, time.Since(begun), 10*time.Second)
		assert.Empty(t, seen.sizes())
		line := k.Strings("LRANGE", "queue:index", 0, -1)
		slices.Reverse(line)
		assert.Equal(t, pooltest.IdsOf(receipts), line)
		assert.Zero(t, k.Number("HLEN", "crashes"))
		again := newSieve()
		k.Drained(k.Tidy(k.pool(2, of(499, time.Hour), again.handle)))
		assert.Equal(t, [][]int{numbers(499)}, again.batches)
		k.clean(t)
	})
}

// TestAStopInTheMidstOfABatch: it may end, or is cut short; what its handler does not return is named.
func TestAStopInTheMidstOfABatch(t *testing.T) {
	t.Parallel()
	t.Run("it ends", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, s redistest.Server) {
			k := newKit(t, s)
			k.EnqueueNumbers("index", 0, 5)
			begun := make(chan work.Batch[int], 1)
			pool := k.Tidy(k.pool(1, of(5, time.Hour), func(ctx context.Context, batch work.Batch[int]) error {
				begun <- batch
				for _, item := range batch {
					for !item.Job.Checkin("on") {
						pooltest.Elapse(time.Millisecond)
					}
				}
				return work.Release(nil)
			}))
			pooltest.Receive(t, begun)[2].Fail(nil)
			require.NoError(t, k.Stop(pool))
			assert.Equal(t, 4, k.Number("LLEN", "queue:index"))
			assert.Equal(t, 1, pooltest.Count[event.JobDone](k.Spy))
		})
	})
	t.Run("it is cut short", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, s redistest.Server) {
			k := newKit(t, s)
			receipts := k.EnqueueNumbers("index", 0, 5)
			options, seen := k.Options(), newSieve()
			options.ShutdownTimeout = -1
			seen.wait = make(chan struct{})
			pool := work.NewWorkerPool(nil, 1, options).JobWithOptions("index", of(5, time.Hour), seen.handle)
			require.NoError(t, pool.Start(context.Background()))
			pooltest.Receive(t, seen.begun)
			var stop *work.StopError
			require.ErrorAs(t, k.Stop(pool), &stop)
			assert.Len(t, stop.Released, 5)
			assert.Empty(t, stop.Stuck)
			line := k.Strings("LRANGE", "queue:index", 0, -1)
			slices.Reverse(line)
			assert.Equal(t, pooltest.IdsOf(receipts), line)
		})
	})
	t.Run("it does not return", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, s redistest.Server) {
			k := newKit(t, s)
			receipts := k.EnqueueNumbers("index", 0, 5)
			options := k.Options()
			options.ShutdownTimeout = -1
			begun, goOn, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
			pool := work.NewWorkerPool(nil, 1, options).JobWithOptions("index", of(5, time.Hour),
				func(batch work.Batch[int]) error {
					defer close(over)
					close(begun)
					<-goOn
					return nil
				})
			require.NoError(t, pool.Start(context.Background()))
			pooltest.Receive(t, begun)
			var stop *work.StopError
			require.ErrorAs(t, k.Stop(pool), &stop)
			var stuck []string
			for _, ref := range stop.Stuck {
				stuck = append(stuck, ref.ID)
			}
			assert.ElementsMatch(t, pooltest.IdsOf(receipts), stuck)
			assert.Equal(t, 5, k.Number("LLEN", "queue:index"))
			close(goOn)
			<-over
		})
	})
}

// TestALostFetchOfABatch: what it claimed nobody has, and it comes again.
func TestALostFetchOfABatch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("index", 0, 300)
		seen := newSieve()
		pool := k.pool(2, of(100, 50*time.Millisecond), seen.handle)
		var mu sync.Mutex
		lost := 0
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(ctx context.Context, pass pooltest.Send,
			calls []redisconn.Call) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			mu.Lock()
			defer mu.Unlock()
			if pooltest.NameOf(calls[0]) == "fetch" && len(calls[0].Keys) > 14 && lost < 2 {
				lost++
				return nil, errors.New("the reply was lost")
			}
			return replies, err
		}})
		k.Tidy(pool)
		k.Drained(pool)
		assert.Equal(t, 2, lost)
		assert.ElementsMatch(t, numbers(300), seen.all(), "each ran once")
		k.clean(t)
	})
}

// TestALostReplyToTheOutcomesOfABatch: they are sent again, and count once.
func TestALostReplyToTheOutcomesOfABatch(t *testing.T) {
	t.Parallel()
	for name, arrives := range map[string]bool{"it had counted": true, "it had not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				k.EnqueueNumbers("index", 0, 300)
				seen := newSieve()
				pool := k.pool(2, of(100, time.Hour), seen.handle)
				var mu sync.Mutex
				lost := 0
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(ctx context.Context, pass pooltest.Send,
					calls []redisconn.Call) ([]redisconn.Reply, error) {
					mu.Lock()
					lose := pooltest.NameOf(calls[0]) == "complete" && lost < 2
					if lose {
						lost++
					}
					mu.Unlock()
					if lose && !arrives {
						return nil, errors.New("it was lost on the way")
					}
					replies, err := pass(ctx, calls...)
					if lose {
						return nil, errors.New("the reply was lost")
					}
					return replies, err
				}})
				k.Tidy(pool)
				k.Drained(pool)
				assert.Equal(t, []int{100, 100, 100}, seen.sizes())
				assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
				k.clean(t)
			})
		})
	}
}

// TestAFencedWorkerGivesUpItsBatches: what it ran and what it had collected goes back to the queue, and begins again.
func TestAFencedWorkerGivesUpItsBatches(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("index", 0, 25)
		begun, causes, seen := make(chan struct{}), make(chan error, 1), newSieve()
		var first sync.Once
		pool := k.Tidy(k.pool(2, of(20, time.Hour), func(ctx context.Context, batch work.Batch[int]) (err error) {
			first.Do(func() {
				close(begun)
				<-ctx.Done()
				causes <- context.Cause(ctx)
				err = ctx.Err()
			})
			if err == nil {
				err = seen.handle(ctx, batch)
			}
			return err
		}))
		pooltest.Receive(t, begun)
		k.Until("the others are collected", func() bool { return pooltest.Parts(pool).Slots.Held() == 25 })
		k.Do("SREM", "workers", pooltest.WorkerID(pool)) // as a reaper does
		pooltest.Await[event.WorkerFenced](t, k.Spy, nil)
		require.ErrorIs(t, pooltest.Receive(t, causes), work.ErrFenced)
		k.EnqueueNumbers("index", 25, 40)
		k.Drained(pool)
		assert.ElementsMatch(t, numbers(40), seen.all())
		k.clean(t)
	})
}

func TestACancelledMemberEndsAsThatAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := k.EnqueueNumbers("index", 0, 6)
		collected := k.EnqueueNumbers("index", 6, 8)
		begun := make(chan work.Batch[int], 1)
		goOn := make(chan struct{})
		var ended error
		pool := k.Tidy(k.pool(2, of(6, time.Hour), func(ctx context.Context, batch work.Batch[int]) error {
			begun <- batch
			<-goOn
			ended = ctx.Err()
			return nil
		}))
		batch := pooltest.Receive(t, begun)
		k.Until("two more are collected", func() bool { return pooltest.Parts(pool).Slots.Held() == 8 })
		assert.Equal(t, work.CancelFlagged, k.Cancel(receipts[0].ID).Effect)
		assert.Equal(t, work.CancelFlagged, k.Cancel(collected[1].ID).Effect)
		pooltest.Await(t, k.Spy, func(e event.JobCancelled) bool { return e.ID == collected[1].ID })
		k.Until("it is told", func() bool { return batch[0].Job.Checkin("") })
		assert.False(t, batch[1].Job.Checkin(""))
		close(goOn)
		pooltest.Await[event.BatchEnded](t, k.Spy, nil)
		require.NoError(t, ended)
		assert.Equal(t, []string{"cancelled", "done", "done", "done", "done", "done"}, endings(t, k.Spy, receipts))
		require.NoError(t, k.Stop(pool))
		assert.Equal(t, []string{collected[0].ID}, k.Strings("LRANGE", "queue:index", 0, -1))
		k.Unflagged()
	})
}

func TestABatchWhoseMembersAreAllCancelledIsTold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := k.EnqueueNumbers("index", 0, 3)
		begun, cause := make(chan struct{}), make(chan error, 1)
		pool := k.Tidy(k.pool(1, of(3, time.Hour), func(ctx context.Context, batch work.Batch[int]) error {
			close(begun)
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return ctx.Err()
		}))
		pooltest.Receive(t, begun)
		for _, receipt := range receipts {
			k.Cancel(receipt.ID)
		}
		require.ErrorIs(t, pooltest.Receive(t, cause), work.ErrCancelled)
		k.Drained(pool)
		assert.Equal(t, slices.Repeat([]string{"cancelled"}, 3), endings(t, k.Spy, receipts))
		k.clean(t)
	})
}

// TestWithdrawnNamesGiveBackWhatWasCollected, while the pool goes on with others.
func TestWithdrawnNamesGiveBackWhatWasCollected(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("index", 0, 3)
		seen := newSieve()
		pool := k.Tidy(k.pool(2, of(5, time.Hour), seen.handle).Job("other", pooltest.Nothing))
		k.Until("they are collected", func() bool { return pooltest.Parts(pool).Slots.Held() == 3 })
		require.NoError(t, pool.Withdraw(k.Ctx(), "index"))
		k.Until("they are back", func() bool { return k.Number("LLEN", "queue:index") == 3 })
		assert.Empty(t, seen.sizes())
		require.NoError(t, pool.Serve(k.Ctx(), "index"))
		k.EnqueueNumbers("index", 3, 5)
		assert.Equal(t, numbers(5), pooltest.Receive(t, seen.begun))
	})
}

// TestUniqueMembers: each frees its lock when it begins, or ends.
func TestUniqueMembers(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]work.Until{"begun": work.UntilStarted, "ended": work.UntilFinished} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				for i := range 10 {
					_, err := k.Enq.With(work.Unique(work.UniqueOptions{Key: fmt.Sprint(i), Until: until})).
						Enqueue(k.Ctx(), "index", i)
					require.NoError(t, err)
				}
				seen := newSieve()
				pool := k.Tidy(k.pool(1, of(10, time.Hour), seen.handle))
				k.Drained(pool)
				assert.Equal(t, []int{10}, seen.sizes())
				assert.Zero(t, k.Number("HLEN", "unique"))
				k.clean(t)
			})
		})
	}
}
