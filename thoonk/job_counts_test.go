package thoonk_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

func TestAllIDsAreThoseOfJobsWhereverTheyAre(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		ids, err := feed.AllIDs(k.ctx())
		require.NoError(t, err)
		assert.Empty(t, ids)
		k.put(feed, "claimed", "stalled", "finished", "waits")
		k.claim(feed)
		require.NoError(t, feed.Stall(k.ctx(), k.claim(feed).Held))
		require.NoError(t, feed.Finish(k.ctx(), k.claim(feed).Held))
		ids, err = feed.AllIDs(k.ctx())
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"claimed", "stalled", "waits"}, ids)
		require.NoError(t, k.client.Delete(k.ctx(), "j"))
		_, err = feed.AllIDs(k.ctx())
		assert.ErrorIs(t, err, thoonk.ErrNoFeed)
	})
}

func TestCancelsOfAJobWhereverItIs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		k.put(feed, "a")
		cancels := func() int {
			n, err := feed.Cancels(k.ctx(), "a")
			require.NoError(t, err)
			return n
		}
		assert.Zero(t, cancels())
		for range 2 {
			require.NoError(t, feed.Cancel(k.ctx(), k.claim(feed).Held))
		}
		assert.Equal(t, 2, cancels(), "it waits")
		claim := k.claim(feed)
		assert.Equal(t, 2, cancels(), "it is claimed")
		require.NoError(t, feed.Stall(k.ctx(), claim.Held))
		assert.Equal(t, 2, cancels(), "it is stalled")
		require.NoError(t, feed.Retry(k.ctx(), "a"))
		assert.Zero(t, cancels(), "it begins anew")
		require.NoError(t, feed.Finish(k.ctx(), k.claim(feed).Held))
		_, err := feed.Cancels(k.ctx(), "a")
		assert.ErrorIs(t, err, thoonk.ErrNoItem)
	})
}

// Servers write a round score, which is a time of a claim in the released forms, in one way or the other.
func TestATimeThatIsARoundNumber(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		k.put(feed, "a")
		k.claim(feed)
		for _, stored := range []string{"1800000000000", "1.8e+12", "1800000000"} {
			k.cmd("HSET", "feed.claimed:j", "a", stored)
			running, err := feed.Running(k.ctx())
			require.NoError(t, err)
			assert.Equal(t, int64(1800000000000), running[0].At.UnixMilli(), stored)
		}
	})
}
