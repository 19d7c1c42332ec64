package thoonk_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

type result = thoonk.Result[string, string]

func TestJobResult(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x")
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "done", 0))
		want := result{Item: "item x", Result: "done"}
		for range 2 { // reading takes nothing away
			got, err := feed.Result(k.ctx(), "x", 0)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
		got, found, err := feed.CheckResult(k.ctx(), "x")
		require.NoError(t, err)
		assert.True(t, found)
		assert.Equal(t, want, got)
		assert.Equal(t, thoonk.Event{What: thoonk.Claimed, Feed: "a", ID: "x"}, k.next(events))
		assert.Equal(t, thoonk.Event{What: thoonk.Finished, Feed: "a", ID: "x", Item: []byte(`"done"`)}, k.next(events))
		assert.Equal(t, []any{[]byte("\"item x\"\x00\"done\"")}, k.cmd("LRANGE", "feed.jobfinished:a:x", 0, -1))
	})
}

func TestJobResultForSeveralWaiters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		client, waits := k.waiter(k.server.DSN())
		waiting := k.jobsOf(client, "a")
		const waiters = 5
		results := make(chan result, waiters)
		for range waiters {
			go func() {
				got, err := waiting.Result(k.ctx(), "x", patience)
				assert.NoError(t, err)
				results <- got
			}()
		}
		for range waiters {
			receive(t, waits)
		}
		k.put(feed, "x")
		require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "done", time.Hour))
		for range waiters {
			assert.Equal(t, result{Item: "item x", Result: "done"}, receive(t, results))
		}
	})
}

func TestJobResultThatDoesNotCome(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x")
		for _, timeout := range []time.Duration{thoonk.NoWait, 20 * time.Millisecond} {
			_, err := feed.Result(k.ctx(), "x", timeout)
			require.ErrorIs(t, err, thoonk.ErrNoResult)
		}
		client, waits := k.waiter(k.server.DSN())
		waiting, err := thoonk.OpenJobFeed[string, string](k.ctx(), client, "a", nil, nil)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(k.ctx())
		ended := make(chan error, 1)
		go func() {
			_, err := waiting.Result(ctx, "x", 0)
			ended <- err
		}()
		receive(t, waits)
		cancel()
		require.ErrorIs(t, receive(t, ended), context.Canceled)
	})
}

// The TTL outlives those who wait and read; by default it is an hour, not nothing.
func TestJobResultHasATTL(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ keep, atLeast, atMost time.Duration }{
		"default": {0, time.Hour - time.Minute, time.Hour},
		"chosen":  {time.Minute, 30 * time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				feed := k.jobs("a")
				client, waits := k.waiter(k.server.DSN())
				k.put(feed, "x")
				results := make(chan error, 1)
				go func() {
					_, err := k.jobsOf(client, "a").Result(k.ctx(), "x", 0)
					results <- err
				}()
				receive(t, waits)
				require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "done", c.keep))
				require.NoError(t, receive(t, results))
				left := time.Duration(k.cmd("PTTL", "feed.jobfinished:a:x").(int64)) * time.Millisecond
				assert.Greater(t, left, c.atLeast)
				assert.LessOrEqual(t, left, c.atMost)
			})
		})
	}
}

func TestJobResultExpires(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x", "y")
		require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "short", 50*time.Millisecond))
		require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "long", time.Hour))
		k.pass(100 * time.Millisecond)
		_, found, err := feed.CheckResult(k.ctx(), "x")
		require.NoError(t, err)
		assert.False(t, found)
		done, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: time.Hour})
		require.NoError(t, err)
		assert.Equal(t, thoonk.Maintained{Expired: 1}, done)
		assert.Equal(t, []any{[]byte("y")}, k.cmd("SMEMBERS", "feed.jobresults:a"))
	})
}

func TestJobResultThatIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x")
		claim := k.claim(feed)
		require.ErrorContains(t, feed.FinishWith(k.ctx(), claim.Held, "r", -time.Second), "cannot be kept for -1s")
		assert.Equal(t, "waiting, running x, stalled", k.state(feed))
	})
}

// A job whose id is used again has the result of its last run, and only that.
func TestJobResultOfAnIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		for _, want := range []string{"one", "two"} {
			k.put(feed, "x")
			require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, want, 0))
			got, err := feed.Result(k.ctx(), "x", thoonk.NoWait)
			require.NoError(t, err)
			assert.Equal(t, want, got.Result)
		}
		assert.Equal(t, int64(1), k.cmd("LLEN", "feed.jobfinished:a:x"))
	})
}

// The result of an earlier run is not that of one which ended without.
func TestJobResultGivesWayToNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x")
		require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "one", 0))
		k.put(feed, "x")
		require.NoError(t, feed.Finish(k.ctx(), k.claim(feed).Held))
		_, found, err := feed.CheckResult(k.ctx(), "x")
		require.NoError(t, err)
		assert.False(t, found)
		assert.Equal(t, []string{"feed.config:a", "feeds"}, k.keys())
	})
}

// "a" and "b:c", "a:b" and "c" name the same list: what ends without a result in one feed takes away none of another.
func TestJobResultStaysWhereAnotherFeedHasAnIDWithAColon(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		kept, feed := k.jobs("a:b"), k.jobs("a")
		k.put(kept, "c")
		require.NoError(t, kept.FinishWith(k.ctx(), k.claim(kept).Held, "kept", 0))
		k.cmd("HSET", "feed.items:a", "b:c", `"theirs"`)
		k.cmd("LPUSH", "feed.ids:a", "b:c")
		require.NoError(t, feed.Finish(k.ctx(), k.claim(feed).Held))
		got, err := kept.Result(k.ctx(), "c", thoonk.NoWait)
		require.NoError(t, err)
		assert.Equal(t, "kept", got.Result)
	})
}

// A wait for a result outlives its connection.
func TestJobResultOutlivesALostConnection(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		proxy := redistest.NewProxy(t, k.server.Addr())
		client, waits := k.waiter(proxy.DSN())
		waiting := k.jobsOf(client, "a")
		swallowed := proxy.SwallowReply("BLMOVE")
		results := make(chan result, 1)
		go func() {
			got, err := waiting.Result(k.ctx(), "x", 0)
			assert.NoError(t, err)
			results <- got
		}()
		receive(t, waits)
		k.put(feed, "x")
		require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "done", 0))
		receive(t, swallowed)
		assert.Equal(t, "done", receive(t, results).Result)
	})
}
