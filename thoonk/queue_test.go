package thoonk_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

func TestQueueIsFirstInFirstOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		queue := k.queue("a")
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		for _, value := range []string{"1", "2", "3"} {
			id, err := queue.Put(k.ctx(), value)
			require.NoError(t, err)
			assert.Equal(t, thoonk.Event{What: thoonk.Published, Feed: "a", ID: id, Item: []byte(`"` + value + `"`)},
				k.next(events))
		}
		length, err := queue.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 3, length)
		assert.Equal(t, []string{"1", "2", "3"}, k.drain(queue))
		assert.Equal(t, []string{"feed.config:a", "feeds"}, k.keys())
	})
}

// drain takes all there is.
func (k *kit) drain(queue *thoonk.Queue[string]) []string {
	k.t.Helper()
	taken := []string{}
	for {
		item, err := queue.Get(k.ctx(), thoonk.NoWait)
		if err != nil {
			require.ErrorIs(k.t, err, thoonk.ErrEmpty)
			return taken
		}
		taken = append(taken, item.Value)
	}
}

func TestQueuePutsAtTheFront(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		queue := k.queue("a")
		for _, value := range []string{"1", "2"} {
			_, err := queue.Put(k.ctx(), value)
			require.NoError(t, err)
		}
		_, err := queue.Put(k.ctx(), "first", thoonk.AtFront())
		require.NoError(t, err)
		assert.Equal(t, []string{"first", "1", "2"}, k.drain(queue))
	})
}

func TestQueuePutsAnIDOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		queue := k.queue("a")
		_, err := queue.Put(k.ctx(), "1", thoonk.WithID("x"))
		require.NoError(t, err)
		_, err = queue.Put(k.ctx(), "2", thoonk.WithID("x"))
		require.ErrorIs(t, err, thoonk.ErrTaken)
		assert.Equal(t, []string{"1"}, k.drain(queue))
		_, err = queue.Put(k.ctx(), "3", thoonk.WithID("x"))
		require.NoError(t, err, "it is free again")
	})
}

func TestQueueEmpty(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{
		"no wait": thoonk.NoWait, "at once": time.Nanosecond, "a while": 30 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				_, err := k.queue("a").Get(k.ctx(), timeout)
				require.ErrorIs(t, err, thoonk.ErrEmpty)
				var told *thoonk.FeedError
				require.ErrorAs(t, err, &told)
				assert.Equal(t, "a", told.Feed)
			})
		})
	}
}

// waiter is one more client, which tells when it begins to wait.
func (k *kit) waiter(dsn string) (*thoonk.Client, <-chan struct{}) {
	k.t.Helper()
	waits := make(chan struct{}, 1000)
	return k.open(dsn, thoonk.OnWait(func() { waits <- struct{}{} })), waits
}

func (k *kit) queueOf(c *thoonk.Client, name string) *thoonk.Queue[string] {
	k.t.Helper()
	queue, err := thoonk.OpenQueue[string](k.ctx(), c, name, nil)
	require.NoError(k.t, err)
	return queue
}

// got is what a Get has returned.
type got struct {
	value string
	err   error
}

// get runs a Get beside the test.
func get(ctx context.Context, queue *thoonk.Queue[string], timeout time.Duration) <-chan got {
	result := make(chan got, 1)
	go func() {
		item, err := queue.Get(ctx, timeout)
		result <- got{item.Value, err}
	}()
	return result
}

func TestQueueGetWaits(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"for ever": 0, "with a timeout": patience} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				producer := k.queue("a")
				client, waits := k.waiter(k.server.DSN())
				queue := k.queueOf(client, "a")
				for i := range 3 {
					result := get(k.ctx(), queue, timeout)
					receive(t, waits)
					_, err := producer.Put(k.ctx(), fmt.Sprint(i))
					require.NoError(t, err)
					assert.Equal(t, got{value: fmt.Sprint(i)}, receive(t, result))
				}
			})
		})
	}
}

// A program of another make pushes an id and stores an item, and knows nothing of us.
func TestQueueGetIsWokenByOtherPrograms(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.queue("a")
		client, waits := k.waiter(k.server.DSN())
		result := get(k.ctx(), k.queueOf(client, "a"), 0)
		receive(t, waits)
		k.cmd("HSET", "feed.items:a", "x", `"theirs"`, "y", `"second"`)
		k.cmd("LPUSH", "feed.ids:a", "x", "y")
		assert.Equal(t, got{value: "theirs"}, receive(t, result))
		assert.Equal(t, []string{"second"}, k.drain(k.queueOf(client, "a")))
	})
}

func TestQueueGetEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		producer := k.queue("a")
		client, waits := k.waiter(k.server.DSN())
		ctx, cancel := context.WithCancel(k.ctx())
		result := get(ctx, k.queueOf(client, "a"), 0)
		receive(t, waits)
		cancel()
		require.ErrorIs(t, receive(t, result).err, context.Canceled)
		_, err := producer.Put(k.ctx(), "later")
		require.NoError(t, err)
		assert.Equal(t, []string{"later"}, k.drain(producer), "nobody waits for it any more")
	})
}

// What is put while the ctx of a Get ends is either returned or still there.
func TestQueueLosesNothingWhenCtxEndsAsAnItemArrives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		producer := k.queue("a")
		client, waits := k.waiter(k.server.DSN())
		queue := k.queueOf(client, "a")
		kept := []string{}
		const rounds = 100
		for i := range rounds {
			ctx, cancel := context.WithCancel(k.ctx())
			result := get(ctx, queue, 0)
			receive(t, waits)
			var both sync.WaitGroup
			both.Go(func() {
				_, err := producer.Put(k.ctx(), fmt.Sprint(i))
				assert.NoError(t, err)
			})
			both.Go(cancel)
			both.Wait()
			if r := receive(t, result); r.err == nil {
				kept = append(kept, r.value)
			}
			kept = append(kept, k.drain(producer)...)
			for len(waits) > 0 {
				<-waits
			}
		}
		assert.Len(t, kept, rounds)
	})
}

func TestCloseFreesBlockedCalls(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.queue("a")
		k.jobs("b")
		client, waits := k.waiter(k.server.DSN())
		queue, feed := k.queueOf(client, "a"), k.jobsOf(client, "b")
		events, err := client.Subscribe(k.ctx(), thoonk.Watch{Registry: true})
		require.NoError(t, err)
		errs, listens := make(chan error, 3), make(chan struct{}, 1)
		go func() { _, err := queue.Get(k.ctx(), 0); errs <- err }()
		go func() { _, err := feed.Get(k.ctx(), 0); errs <- err }()
		go func() { _, err := feed.Result(k.ctx(), "x", 0); errs <- err }()
		left := make(chan struct{})
		go func() {
			defer close(left)
			for range events {
				listens <- struct{}{}
			}
		}()
		for range 3 {
			receive(t, waits)
		}
		receive(t, listens)
		require.NoError(t, client.Close())
		for range 3 {
			require.ErrorIs(t, receive(t, errs), thoonk.ErrClosed)
		}
		receive(t, left)

		_, err = queue.Put(k.ctx(), "x")
		require.ErrorIs(t, err, thoonk.ErrClosed)
		_, err = client.Names(k.ctx())
		require.ErrorIs(t, err, thoonk.ErrClosed)
		_, err = client.Subscribe(k.ctx(), thoonk.Watch{Registry: true})
		require.ErrorIs(t, err, thoonk.ErrClosed)
	})
}

// Many consumers, of one client and of others, take each item once.
func TestQueueOfMany(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		producer := k.queue("a")
		const items = 300
		ctx, cancel := context.WithCancel(k.ctx())
		defer cancel()
		taken := make(chan string, items+10)
		var all sync.WaitGroup
		var left atomic.Int64
		left.Store(items)
		for range 3 {
			queue := k.queueOf(k.open(k.server.DSN()), "a")
			for range 4 {
				all.Go(func() {
					for {
						item, err := queue.Get(ctx, 0)
						if err != nil {
							assert.ErrorIs(t, err, context.Canceled)
							return
						}
						taken <- item.Value
						if left.Add(-1) == 0 {
							cancel()
						}
					}
				})
			}
		}
		for i := range items {
			_, err := producer.Put(k.ctx(), fmt.Sprint(i))
			require.NoError(t, err)
		}
		all.Wait()
		close(taken)
		seen := map[string]bool{}
		for value := range taken {
			assert.False(t, seen[value], value)
			seen[value] = true
		}
		assert.Len(t, seen, items)
	})
}

// An id without an item is left by programs that died between the two.
func TestQueueDropsIDsWithoutAnItem(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		queue := k.queue("a")
		for i := range 600 {
			k.cmd("RPUSH", "feed.ids:a", fmt.Sprint("ghost", i))
		}
		_, err := queue.Put(k.ctx(), "real")
		require.NoError(t, err)
		assert.Equal(t, []string{"real"}, k.drain(queue))
	})
}

func TestQueueGetOfAReplyThatIsLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		producer := k.queue("a")
		_, err := producer.Put(k.ctx(), "1")
		require.NoError(t, err)
		require.Equal(t, []string{"1"}, k.drain(producer)) // Redis knows the script now
		_, err = producer.Put(k.ctx(), "2")
		require.NoError(t, err)
		proxy := redistest.NewProxy(t, k.server.Addr())
		queue := k.queueOf(k.open(proxy.DSN()), "a")
		swallowed := proxy.SwallowReply("feed.ids:a")
		_, err = queue.Get(k.ctx(), thoonk.NoWait)
		receive(t, swallowed)
		require.ErrorIs(t, err, thoonk.ErrUncertain)
		assert.Empty(t, k.drain(producer))
	})
}

// A connection that is lost while a Get waits is made again.
func TestQueueGetOutlivesALostConnection(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		producer := k.queue("a")
		proxy := redistest.NewProxy(t, k.server.Addr())
		client, waits := k.waiter(proxy.DSN())
		queue := k.queueOf(client, "a")
		_, err := queue.Get(k.ctx(), thoonk.NoWait) // a pooled connection is there
		require.ErrorIs(t, err, thoonk.ErrEmpty)
		swallowed := proxy.SwallowReply("BLMOVE")
		result := get(k.ctx(), queue, 0)
		receive(t, waits)
		_, err = producer.Put(k.ctx(), "x")
		require.NoError(t, err)
		receive(t, swallowed)
		assert.Equal(t, got{value: "x"}, receive(t, result))
	})
}

func TestQueueDecodes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		queue := k.queue("a")
		k.cmd("HSET", "feed.items:a", "x", "no JSON")
		k.cmd("LPUSH", "feed.ids:a", "x")
		item, err := queue.Get(k.ctx(), thoonk.NoWait)
		var bad *thoonk.DecodeError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, "no JSON", string(bad.Item))
		assert.Equal(t, "x", item.ID)
	})
}

// A feed that is deleted ends the waits on it, at the latest after one step.
func TestQueueThatIsDeletedWhileOneWaits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.queue("a")
		client, waits := k.waiter(k.server.DSN())
		result := get(k.ctx(), k.queueOf(client, "a"), 0)
		receive(t, waits)
		require.NoError(t, k.client.Delete(k.ctx(), "a"))
		require.ErrorIs(t, receive(t, result).err, thoonk.ErrNoFeed)
	})
}
