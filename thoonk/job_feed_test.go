package thoonk_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

func (k *kit) put(feed *jobs, ids ...string) {
	k.t.Helper()
	for _, id := range ids {
		_, err := feed.Put(k.ctx(), "item "+id, thoonk.WithID(id))
		require.NoError(k.t, err)
	}
}

// state says where jobs are: waiting (the next one first), running and stalled.
func (k *kit) state(feed *jobs) string {
	k.t.Helper()
	ids, err := feed.IDs(k.ctx())
	require.NoError(k.t, err)
	text := "waiting"
	for i := range ids {
		text += " " + ids[len(ids)-1-i]
	}
	running, err := feed.Running(k.ctx())
	require.NoError(k.t, err)
	text += ", running"
	for _, h := range running {
		text += " " + h.ID
	}
	stalled, err := feed.Stalled(k.ctx())
	require.NoError(k.t, err)
	return text + ", stalled" + strings.Join(append([]string{""}, stalled...), " ")
}

func TestJobPut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		id, err := feed.Put(k.ctx(), "one")
		require.NoError(t, err)
		assert.Equal(t, thoonk.Event{What: thoonk.Published, Feed: "a", ID: id, Item: []byte(`"one"`)}, k.next(events))
		k.put(feed, "mine")
		_, err = feed.Put(k.ctx(), "now", thoonk.WithID("front"), thoonk.AtFront())
		require.NoError(t, err)
		assert.Equal(t, "waiting front "+id+" mine, running, stalled", k.state(feed))
		value, err := feed.Item(k.ctx(), "mine")
		require.NoError(t, err)
		assert.Equal(t, "item mine", value)
		length, err := feed.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 3, length)
	})
}

func TestJobPutOfAnIDThatIsInTheFeed(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(k *kit, feed *jobs){
		"waiting": func(k *kit, feed *jobs) {},
		"claimed": func(k *kit, feed *jobs) { k.claim(feed) },
		"stalled": func(k *kit, feed *jobs) { require.NoError(k.t, feed.Stall(k.ctx(), k.claim(feed).Held)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				feed := k.jobs("a")
				k.put(feed, "x")
				make(k, feed)
				before := k.state(feed)
				_, err := feed.Put(k.ctx(), "other", thoonk.WithID("x"))
				require.ErrorIs(t, err, thoonk.ErrTaken)
				assert.Equal(t, before, k.state(feed))
				value, err := feed.Item(k.ctx(), "x")
				require.NoError(t, err)
				assert.Equal(t, "item x", value)
			})
		})
	}
}

func TestJobGetClaims(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x", "y")
		before := time.Now()
		claim := k.claim(feed)
		assert.Equal(t, "x", claim.ID)
		assert.Equal(t, "item x", claim.Item)
		assert.Zero(t, claim.Cancelled)
		assert.WithinDuration(t, before, claim.At, time.Minute)
		assert.Equal(t, "waiting y, running x, stalled", k.state(feed))
		running, err := feed.Running(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, []thoonk.Held{claim.Held}, running)
		has, err := feed.Has(k.ctx(), "x")
		require.NoError(t, err)
		assert.True(t, has)
	})
}

func TestJobGetWaits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		producer := k.jobs("a")
		_, err := producer.Get(k.ctx(), 20*time.Millisecond) // which may be over before it waits
		require.ErrorIs(t, err, thoonk.ErrEmpty)
		client, waits := k.waiter(k.server.DSN())
		feed := k.jobsOf(client, "a")
		claims := make(chan string, 1)
		go func() {
			claim, err := feed.Get(k.ctx(), 0)
			assert.NoError(t, err)
			claims <- claim.ID
		}()
		receive(t, waits)
		k.put(producer, "x")
		assert.Equal(t, "x", receive(t, claims))
	})
}

func TestJobFinish(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x", "y")
		claim := k.claim(feed)
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		require.NoError(t, feed.Finish(k.ctx(), claim.Held))
		assert.Equal(t, "waiting y, running, stalled", k.state(feed))
		assert.Equal(t, thoonk.Event{What: thoonk.Finished, Feed: "a", ID: "x"}, k.next(events))
		_, err := feed.Item(k.ctx(), "x")
		require.ErrorIs(t, err, thoonk.ErrNoItem)
		_, found, err := feed.CheckResult(k.ctx(), "x")
		require.NoError(t, err)
		assert.False(t, found)
		require.ErrorIs(t, feed.Finish(k.ctx(), claim.Held), thoonk.ErrGone)
		assert.Equal(t, []string{"feed.config:a", "feed.ids:a", "feed.items:a", "feed.published:a", "feeds"}, k.keys())
	})
}

func TestJobCancel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x", "y")
		first := k.claim(feed)
		require.NoError(t, feed.Cancel(k.ctx(), first.Held))
		assert.Equal(t, "waiting y x, running, stalled", k.state(feed), "it goes to the end")
		assert.Zero(t, k.cmd("HLEN", "feed.claimed:a"))
		require.ErrorIs(t, feed.Cancel(k.ctx(), first.Held), thoonk.ErrGone)
		k.claim(feed)
		second := k.claim(feed)
		assert.Equal(t, "x", second.ID)
		assert.Equal(t, 1, second.Cancelled)
		require.NoError(t, feed.Cancel(k.ctx(), second.Held))
		assert.Equal(t, 2, k.claim(feed).Cancelled)
	})
}

// Who lost a claim cannot end the next one on the same job, even at the same time of Redis' clock.
func TestJobOutcomesCountForTheirOwnClaim(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(k *kit, feed *jobs, h thoonk.Held) error{
		"finish": func(k *kit, feed *jobs, h thoonk.Held) error { return feed.Finish(k.ctx(), h) },
		"result": func(k *kit, feed *jobs, h thoonk.Held) error { return feed.FinishWith(k.ctx(), h, "r", 0) },
		"cancel": func(k *kit, feed *jobs, h thoonk.Held) error { return feed.Cancel(k.ctx(), h) },
		"stall":  func(k *kit, feed *jobs, h thoonk.Held) error { return feed.Stall(k.ctx(), h) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				k.pass(time.Millisecond) // an embedded clock stands from now on
				feed := k.jobs("a")
				k.put(feed, "x")
				former := k.claim(feed)
				require.NoError(t, feed.Cancel(k.ctx(), former.Held))
				present := k.claim(feed)
				before := k.keys()
				require.ErrorIs(t, end(k, feed, former.Held), thoonk.ErrGone)
				assert.Equal(t, "waiting, running x, stalled", k.state(feed))
				assert.Equal(t, before, k.keys())
				require.NoError(t, end(k, feed, present.Held))
				assert.NotEqual(t, "waiting, running x, stalled", k.state(feed))
			})
		})
	}
}

// Who names a job alone ends whatever claim there is.
func TestJobOutcomesOfAnyClaim(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x")
		any := thoonk.Held{ID: "x"}
		require.ErrorIs(t, feed.Cancel(k.ctx(), any), thoonk.ErrGone)
		k.claim(feed)
		require.NoError(t, feed.Cancel(k.ctx(), any))
		k.claim(feed)
		require.NoError(t, feed.Stall(k.ctx(), any))
		assert.Equal(t, "waiting, running, stalled x", k.state(feed))
	})
}

func TestJobStallAndRetry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x", "y")
		require.NoError(t, feed.Cancel(k.ctx(), k.claim(feed).Held))
		k.claim(feed)
		claim := k.claim(feed)
		require.NoError(t, feed.Stall(k.ctx(), claim.Held))
		assert.Equal(t, "waiting, running y, stalled x", k.state(feed))
		require.ErrorIs(t, feed.Stall(k.ctx(), claim.Held), thoonk.ErrGone)
		_, err := feed.Get(k.ctx(), thoonk.NoWait)
		require.ErrorIs(t, err, thoonk.ErrEmpty)
		require.NoError(t, feed.Retry(k.ctx(), "x"))
		assert.Equal(t, "waiting x, running y, stalled", k.state(feed))
		assert.Zero(t, k.claim(feed).Cancelled, "it begins anew")
	})
}

// The released programs queued a job twice here.
func TestJobRetryOfWhatIsNotStalledIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x", "y")
		k.claim(feed)
		for _, id := range []string{"x", "y", "none"} {
			require.ErrorIs(t, feed.Retry(k.ctx(), id), thoonk.ErrNotStalled, id)
		}
		assert.Equal(t, "waiting y, running x, stalled", k.state(feed))
	})
}

func TestJobRetractFromAnyState(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(k *kit, feed *jobs){
		"waiting": func(k *kit, feed *jobs) {},
		"claimed": func(k *kit, feed *jobs) { k.claim(feed) },
		"cancelled": func(k *kit, feed *jobs) {
			require.NoError(k.t, feed.Cancel(k.ctx(), k.claim(feed).Held))
		},
		"stalled": func(k *kit, feed *jobs) { require.NoError(k.t, feed.Stall(k.ctx(), k.claim(feed).Held)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				feed := k.jobs("a")
				k.put(feed, "x")
				make(k, feed)
				events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
				require.NoError(t, feed.Retract(k.ctx(), "x"))
				assert.Equal(t, thoonk.Event{What: thoonk.Retracted, Feed: "a", ID: "x"}, k.next(events))
				assert.Equal(t, []string{"feed.config:a", "feeds"}, k.keys())
				require.ErrorIs(t, feed.Retract(k.ctx(), "x"), thoonk.ErrNoItem)
				k.pass(2 * time.Millisecond)
				done, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: time.Millisecond})
				require.NoError(t, err)
				assert.Empty(t, done, "it does not come back")
			})
		})
	}
}

// A claim whose answer was lost is found again by its token.
func TestJobGetOfAReplyThatIsLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		direct := k.jobs("a")
		k.put(direct, "w", "x", "y")
		require.NoError(t, direct.Finish(k.ctx(), k.claim(direct).Held)) // Redis knows the scripts now
		proxy := redistest.NewProxy(t, k.server.Addr())
		feed := k.jobsOf(k.open(proxy.DSN()), "a")
		swallowed := proxy.SwallowReply("feed.running:a")
		claim, err := feed.Get(k.ctx(), thoonk.NoWait)
		receive(t, swallowed)
		require.NoError(t, err)
		assert.Equal(t, "x", claim.ID)
		assert.Equal(t, "item x", claim.Item)
		assert.Equal(t, "waiting y, running x, stalled", k.state(direct))
		swallowed = proxy.SwallowReply("job.finish:a")
		require.NoError(t, feed.Finish(k.ctx(), claim.Held), "it is sent again, and gone means done")
		receive(t, swallowed)
		assert.Equal(t, "waiting y, running, stalled", k.state(direct))
	})
}

// What is claimed while the ctx of a Get ends is returned, or still waits.
func TestJobLosesNothingWhenCtxEndsAsItArrives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		producer := k.jobs("a")
		client, waits := k.waiter(k.server.DSN())
		feed := k.jobsOf(client, "a")
		for i := range 100 {
			ctx, cancel := context.WithCancel(k.ctx())
			ended := make(chan error, 1)
			go func() {
				claim, err := feed.Get(ctx, 0)
				if err == nil {
					err = feed.Finish(k.ctx(), claim.Held)
				}
				ended <- err
			}()
			receive(t, waits)
			put := make(chan struct{})
			go func() {
				defer close(put)
				_, err := producer.Put(k.ctx(), fmt.Sprint(i), thoonk.WithID("x"))
				assert.NoError(t, err)
			}()
			cancel()
			receive(t, put)
			if err := receive(t, ended); err != nil {
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, "waiting x, running, stalled", k.state(producer))
				require.NoError(t, producer.Retract(k.ctx(), "x"))
			}
			require.Equal(t, "waiting, running, stalled", k.state(producer))
			for len(waits) > 0 {
				<-waits
			}
		}
	})
}

func TestJobThatCannotBeDecodedIsHeld(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.cmd("HSET", "feed.items:a", "x", "no JSON")
		k.cmd("LPUSH", "feed.ids:a", "x")
		k.put(feed, "y")
		claim, err := feed.Get(k.ctx(), thoonk.NoWait)
		var bad *thoonk.DecodeError
		require.ErrorAs(t, err, &bad)
		require.NoError(t, feed.Stall(k.ctx(), claim.Held))
		assert.Equal(t, "y", k.claim(feed).ID)
		assert.Equal(t, "waiting, running y, stalled x", k.state(feed))
	})
}
