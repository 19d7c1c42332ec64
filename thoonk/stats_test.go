package thoonk_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

func (k *kit) stats(feed thoonk.Feed) thoonk.Stats {
	k.t.Helper()
	stats, err := feed.Stats(k.ctx())
	require.NoError(k.t, err)
	return stats
}

func TestStatsOfALeaf(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("l", 2)
		assert.Equal(t, thoonk.Counts{}, k.stats(leaf).Counts)
		k.publish(leaf, "a", "b", "c")
		_, edited, err := leaf.Publish(k.ctx(), "new", thoonk.WithID(k.items(leaf)[0].ID))
		require.NoError(t, err)
		require.True(t, edited)
		require.NoError(t, leaf.Retract(k.ctx(), k.items(leaf)[0].ID))
		require.ErrorIs(t, leaf.Retract(k.ctx(), "none"), thoonk.ErrNoItem)
		stats := k.stats(leaf)
		assert.Equal(t, 1, stats.Items)
		assert.Equal(t, thoonk.Counts{Put: 3, Edited: 1, Dropped: 1, Retracted: 1}, stats.Counts)
		assert.WithinDuration(t, time.Now(), stats.Now, time.Minute)
		assert.Zero(t, stats.OldestPut)
	})
}

func TestStatsOfASortedFeed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.sorted("s") // of three
		id, err := feed.Append(k.ctx(), "a")
		require.NoError(t, err)
		_, err = feed.Prepend(k.ctx(), "b")
		require.NoError(t, err)
		require.NoError(t, feed.Edit(k.ctx(), id, "c"))
		require.NoError(t, feed.Retract(k.ctx(), id))
		stats := k.stats(feed)
		assert.Equal(t, 3+1, stats.Items)
		assert.Equal(t, thoonk.Counts{Put: 3 + 2, Edited: 1, Retracted: 1}, stats.Counts)
	})
}

func TestStatsOfAQueue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		queue := k.queue("q")
		for _, item := range []string{"a", "b"} {
			_, err := queue.Put(k.ctx(), item)
			require.NoError(t, err)
		}
		_, err := queue.Get(k.ctx(), thoonk.NoWait)
		require.NoError(t, err)
		stats := k.stats(queue)
		assert.Equal(t, 1, stats.Items)
		assert.Equal(t, thoonk.Counts{Put: 2, Taken: 1}, stats.Counts)
		k.cmd("DEL", "feed.counts:q")
		k.cmd("SET", "feed.counts:q", "broken")
		_, err = queue.Get(k.ctx(), thoonk.NoWait)
		require.NoError(t, err, "a count that cannot be kept is no reason to fail")
		require.NoError(t, k.client.Delete(k.ctx(), "q"))
		assert.Equal(t, int64(0), k.cmd("EXISTS", "feed.counts:q"))
	})
}

func TestStatsOfAJobFeed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		k.jobStats(feed)
		stats := k.stats(feed)
		assert.Zero(t, stats.Publishes, "the contract has no such counts")
		assert.Zero(t, stats.Finishes)
	})
}

func TestStatsOfJobFeedsInReleasedForms(t *testing.T) {
	t.Parallel()
	eachReleased(t, func(t *testing.T, p released) {
		feed := p.ours("j")
		p.kit.jobStats(feed)
		before := p.stats(feed)
		p.put("j", "theirs", `"x"`, true)
		id, _ := p.get("j")
		p.finish("j", id, `"r"`)
		after := p.stats(feed)
		assert.Equal(t, before.Publishes+1, after.Publishes, "what others do is in their counts")
		if p.python() { // the other program does not count these
			assert.Equal(t, before.Finishes+1, after.Finishes)
		}
		assert.Equal(t, before.Counts, after.Counts, "and not in ours")
	})
}

// jobStats does everything that is counted, and compares.
func (k *kit) jobStats(feed *jobs) {
	t := k.t
	k.put(feed, "f", "c", "s", "r", "l")
	finish, cancel, stall, retract, lapse := k.claim(feed), k.claim(feed), k.claim(feed), k.claim(feed), k.claim(feed)
	require.NoError(t, feed.FinishWith(k.ctx(), finish.Held, "r", 0))
	require.ErrorIs(t, feed.Finish(k.ctx(), finish.Held), thoonk.ErrGone)
	require.NoError(t, feed.Cancel(k.ctx(), cancel.Held))
	require.NoError(t, feed.Stall(k.ctx(), stall.Held))
	require.NoError(t, feed.Retract(k.ctx(), retract.ID))
	stats := k.stats(feed)
	assert.Equal(t, []int{1, 1, 1}, []int{stats.Items, stats.Running, stats.Stalled})
	assert.WithinDuration(t, lapse.At, stats.OldestClaim, time.Millisecond)
	assert.False(t, stats.OldestPut.IsZero())
	assert.False(t, stats.OldestPut.After(stats.OldestClaim))

	k.pass(2 * time.Millisecond)
	done, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: time.Millisecond})
	require.NoError(t, err)
	require.Equal(t, []string{lapse.ID}, done.Cancelled)
	require.NoError(t, feed.Retry(k.ctx(), stall.ID))
	stats = k.stats(feed)
	assert.Equal(t, []int{3, 0, 0}, []int{stats.Items, stats.Running, stats.Stalled})
	assert.Zero(t, stats.OldestClaim)
	assert.Equal(t, thoonk.Counts{
		Put: 5, Claimed: 5, Finished: 1, Cancelled: 1, Stalled: 1, Retracted: 1, Retried: 1, Lapsed: 1,
	}, stats.Counts)
	for range 3 {
		require.NoError(t, feed.Finish(k.ctx(), k.claim(feed).Held))
	}
	assert.Zero(t, k.stats(feed).OldestPut)
}

// Others end a job of the contract's form without a word about when it was put.
func TestTimesOfJobsThatOthersHaveEndedAreForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		k.put(feed, "a", "b")
		k.cmd("HDEL", "feed.items:j", "a")
		k.cmd("LREM", "feed.ids:j", 0, "a")
		_, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: time.Hour})
		require.NoError(t, err)
		assert.Nil(t, k.cmd("ZSCORE", "feed.published:j", "a"))
		assert.NotNil(t, k.cmd("ZSCORE", "feed.published:j", "b"))
	})
}
