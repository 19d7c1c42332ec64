package thoonk_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

// What is said on each channel, byte by byte, as programs hear it that do not use this package.
func TestMessagesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		heard := map[string]<-chan string{}
		for _, channel := range []string{
			"newfeed", "conffeed", "delfeed", "feed.publish:l", "feed.edit:l", "feed.retract:l", "feed.publish:s",
			"feed.edit:s", "feed.position:s", "feed.publish:j", "job.finish:j", "feed.retract:j",
		} {
			heard[channel] = k.hear(channel)
		}
		said := func(channel, want string) {
			t.Helper()
			assert.Equal(t, want, receive(t, heard[channel]), channel)
		}
		by := "\x00" + k.client.Instance()
		leaf := k.leaf("l", 0)
		said("newfeed", "l"+by)
		require.NoError(t, k.client.SetConfig(k.ctx(), "l", thoonk.Config{MaxLength: 1}))
		said("conffeed", "l"+by)
		for _, value := range []string{"1", "2"} {
			_, _, err := leaf.Publish(k.ctx(), value, thoonk.WithID("x"))
			require.NoError(t, err)
		}
		said("feed.publish:l", "x\x00\"1\"")
		said("feed.edit:l", "x\x00\"2\"")
		require.NoError(t, leaf.Retract(k.ctx(), "x"))
		said("feed.retract:l", "x")
		require.NoError(t, k.client.Delete(k.ctx(), "l"))
		said("delfeed", "l"+by)

		k.create("s", thoonk.Config{Kind: thoonk.KindSorted})
		sorted, err := thoonk.OpenSortedFeed[string](k.ctx(), k.client, "s", nil)
		require.NoError(t, err)
		_, err = sorted.Append(k.ctx(), "a")
		require.NoError(t, err)
		said("feed.publish:s", "1\x00\"a\"")
		said("feed.position:s", "1\x00:end")
		_, err = sorted.InsertBefore(k.ctx(), 1, "b")
		require.NoError(t, err)
		said("feed.position:s", "2\x00:1")
		require.NoError(t, sorted.MoveAfter(k.ctx(), 2, 1))
		said("feed.position:s", "2\x001:")
		require.NoError(t, sorted.MoveFirst(k.ctx(), 2))
		said("feed.position:s", "2\x00begin:")
		require.NoError(t, sorted.Edit(k.ctx(), 2, "c"))
		said("feed.edit:s", "2\x00\"c\"")

		feed := k.jobs("j")
		k.put(feed, "x", "y", "z")
		said("feed.publish:j", "x\x00\"item x\"")
		require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "r", 0))
		said("job.finish:j", "x\x00\"r\"")
		require.NoError(t, feed.Finish(k.ctx(), k.claim(feed).Held))
		said("job.finish:j", "y\x00")
		require.NoError(t, feed.Retract(k.ctx(), "z"))
		said("feed.retract:j", "z")
	})
}
