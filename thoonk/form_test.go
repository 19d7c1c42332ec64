package thoonk_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

func TestAConfigThatIsAHash(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		p := released{k, thoonk.FormHash}
		p.create("l", thoonk.KindLeaf)
		p.cmd("HSET", "feed.config:l", "title", "News: \x00 \xff")
		leaf, err := thoonk.OpenLeaf[string](k.ctx(), k.client, "l", nil)
		require.NoError(t, err)
		p.cmd("HSET", "feed.config:l", "max_length", "2")
		for range 3 {
			_, _, err := leaf.Publish(k.ctx(), "x")
			require.NoError(t, err)
		}
		n, err := leaf.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 2, n)

		p.cmd("HSET", "feed.config:l", "max_length", "None", "title", "News")
		_, _, err = leaf.Publish(k.ctx(), "x")
		require.NoError(t, err)
		n, err = leaf.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 3, n, "it was read anew, and what is no number is no limit")

		events := k.listen(k.client, thoonk.Watch{Registry: true})
		config, err := k.client.Config(k.ctx(), "l")
		require.NoError(t, err)
		assert.Equal(t, thoonk.Config{Kind: thoonk.KindLeaf, Form: thoonk.FormHash, Other: map[string]json.RawMessage{
			"title": json.RawMessage(`"News"`), "max_length": json.RawMessage(`"None"`),
		}}, config)
		config = thoonk.Config{MaxLength: 1, Other: map[string]json.RawMessage{"list": json.RawMessage(`[1]`)}}
		require.NoError(t, k.client.SetConfig(k.ctx(), "l", config))
		assert.Equal(t, thoonk.Configured, k.next(events).What)
		require.NoError(t, k.client.SetConfig(k.ctx(), "l", config), "again: it is no event")
		assert.ElementsMatch(t, []string{"type", "feed", "max_length", "1", "list", "[1]"},
			p.texts("HGETALL", "feed.config:l"))
		require.NoError(t, k.client.Delete(k.ctx(), "l"))
		assert.Equal(t, thoonk.Deleted, k.next(events).What)
		assert.Empty(t, k.keys())
	})
}

// A config that is a hash is enough: such a feed has their form before anybody has used it.
func TestAFeedWhoseConfigIsAHashIsTheirsFromTheStart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		p := released{k, thoonk.FormHash}
		p.create("j", thoonk.KindJob)
		feed := k.jobsOf(k.client, "j")
		k.put(feed, "x", "y")
		k.claim(feed)
		require.NoError(t, feed.Stall(k.ctx(), k.claim(feed).Held))
		assert.True(t, p.holds("j", "x"))
		assert.Equal(t, []string{"y"}, p.texts("SMEMBERS", "feed.stalled:j"))
		assert.Equal(t, 2, p.count("j"))
		p.create("l", thoonk.KindLeaf)
		leaf, err := thoonk.OpenLeaf[string](k.ctx(), k.client, "l", nil)
		require.NoError(t, err)
		_, _, err = leaf.Publish(k.ctx(), "x", thoonk.WithID("x"))
		require.NoError(t, err)
		assert.Equal(t, []string{"x"}, p.ids("l"))
	})
}

func TestAFeedHasTheFormThatItIsCreatedWith(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		p := released{k, thoonk.FormHash}
		for name, form := range map[string]thoonk.Form{"contract": "", "sorted": thoonk.FormSorted,
			"hash": thoonk.FormHash} {
			want := thoonk.Config{Kind: thoonk.KindJob, Form: form}
			k.create(name, want)
			config, err := k.client.Config(k.ctx(), name)
			require.NoError(t, err)
			assert.Equal(t, want, config)
			feed := k.jobsOf(k.client, name)
			k.put(feed, "w", "x")
			require.NoError(t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "r", 0))
			k.claim(feed)
		}
		assert.Equal(t, []string{"x"}, p.texts("HKEYS", "feed.claimed:contract"))
		assert.Equal(t, []string{"x"}, p.texts("ZRANGE", "feed.claimed:sorted", 0, -1))
		assert.Equal(t, []string{"x"}, p.texts("ZRANGE", "feed.claimed:hash", 0, -1))
		assert.Equal(t, "job", p.text("HGET", "feed.config:hash", "type"))
		assert.Equal(t, `{"type":"job"}`, p.text("GET", "feed.config:sorted"))
		err := k.client.Create(k.ctx(), "other", thoonk.Config{Form: "other"})
		require.ErrorContains(t, err, `form "other" is unknown: use FormContract`)
		for _, name := range []string{"contract", "sorted", "hash"} {
			require.NoError(t, k.client.Delete(k.ctx(), name))
		}
		assert.Empty(t, k.keys())
	})
}

// A feed that another program has created shows no form before it is used: it is the contract's, unless it is told.
func TestAFormIsGivenOnlyToWhatHasNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		p := released{k, thoonk.FormSorted}
		for _, name := range []string{"new", "used"} {
			p.create(name, thoonk.KindLeaf)
		}
		sorted := thoonk.Config{Form: thoonk.FormSorted}
		require.NoError(t, k.client.SetConfig(k.ctx(), "new", sorted))
		require.NoError(t, k.client.SetConfig(k.ctx(), "new", sorted), "again")
		publish := func(name string) *thoonk.Leaf[string] {
			leaf, err := thoonk.OpenLeaf[string](k.ctx(), k.client, name, nil)
			require.NoError(t, err)
			_, _, err = leaf.Publish(k.ctx(), "x", thoonk.WithID("x"))
			require.NoError(t, err)
			return leaf
		}
		publish("new")
		assert.Equal(t, []string{"x"}, p.ids("new"))
		publish("used")
		assert.Equal(t, []string{"x"}, p.texts("LRANGE", "feed.ids:used", 0, -1))
		err := k.client.SetConfig(k.ctx(), "used", thoonk.Config{Form: thoonk.FormHash})
		require.ErrorContains(t, err, "the form of a feed stays")
		k.create("hash", thoonk.Config{Form: thoonk.FormHash})
		require.ErrorContains(t, k.client.SetConfig(k.ctx(), "hash", sorted), "the form of a feed stays")
		require.NoError(t, k.client.SetConfig(k.ctx(), "hash", thoonk.Config{MaxLength: 5}))

		feed := k.jobs("jobs")
		k.put(feed, "x")
		claim := k.claim(feed)
		sorted.Kind = thoonk.KindJob
		var wrong *thoonk.FormError
		require.ErrorAs(t, k.client.SetConfig(k.ctx(), "jobs", sorted), &wrong)
		assert.Equal(t, thoonk.FormError{Key: k.prefix + "feed.claimed:jobs", Found: "hash", Want: "zset"}, *wrong)
		require.NoError(t, feed.Cancel(k.ctx(), claim.Held))
		require.NoError(t, k.client.SetConfig(k.ctx(), "jobs", sorted))
		k.claim(feed)
		assert.True(t, p.holds("jobs", "x"))
	})
}

// A leaf of the contract's form becomes one that released programs can read, with what they have published in vain.
func TestALeafIsGivenAnotherForm(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		p, leaf := released{k, thoonk.FormSorted}, k.leaf("l", 3)
		for _, id := range []string{"a", "b", "c"} {
			_, _, err := leaf.Publish(k.ctx(), id, thoonk.WithID(id))
			require.NoError(t, err)
		}
		k.cmd("INCR", "feed.publishes:l")
		k.cmd("HSET", "feed.items:l", "vain", `"vain"`)
		for range 2 {
			require.NoError(t, k.client.SetConfig(k.ctx(), "l", thoonk.Config{MaxLength: 4, Form: thoonk.FormSorted}))
			assert.Equal(t, []string{"a", "b", "c", "vain"}, p.ids("l"))
		}
		_, _, err := leaf.Publish(k.ctx(), "d", thoonk.WithID("d"))
		require.NoError(t, err)
		k.pass(2 * time.Millisecond)
		p.publish("l", "e", `"e"`)
		ids, err := leaf.IDs(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, []string{"e", "d", "vain", "c", "b"}, ids)
	})
}

// One claim of a released program in a feed of the contract's form is one among ours, whose form the next ones have.
func TestAClaimOfAReleasedProgramInAFeedOfTheContract(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		p := released{k, thoonk.FormSorted}
		feed := k.jobs("a")
		k.put(feed, "x", "y", "z")
		k.cmd("LMOVE", "feed.ids:a", k.prefix+"feed.running:a", "RIGHT", "LEFT") // of one that died before the time
		p.get("a")
		claim := k.claim(feed)
		assert.Equal(t, "z", claim.ID)
		running, err := feed.Running(k.ctx())
		require.NoError(t, err)
		assert.Len(t, running, 3)
		for _, h := range running {
			require.NoError(t, feed.Cancel(k.ctx(), thoonk.Held{ID: h.ID}))
		}
		assertGone(t, feed.Finish(k.ctx(), claim.Held))
		assert.Equal(t, 3, len(p.texts("LRANGE", "feed.ids:a", 0, -1)))
		k.claim(feed)
		assert.Equal(t, int64(1), k.cmd("HLEN", "feed.claimed:a"), "nothing is claimed: it is the contract's again")
	})
}

// The contract counts cancels by INCR of one key: they are those of all jobs then, and of none.
func TestCancelsThatAreCountedInOneNumber(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.cmd("INCR", "feed.cancelled:a")
		k.put(feed, "x")
		claim := k.claim(feed)
		assert.Equal(t, 0, claim.Cancelled)
		require.NoError(t, feed.Cancel(k.ctx(), claim.Held))
		assert.Equal(t, "2", string(k.cmd("GET", "feed.cancelled:a").([]byte)))
		again := k.claim(feed)
		running, err := feed.Running(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, []thoonk.Held{again.Held}, running)
		require.NoError(t, feed.Stall(k.ctx(), again.Held))
		require.NoError(t, feed.Retry(k.ctx(), "x"))
		require.NoError(t, feed.Finish(k.ctx(), k.claim(feed).Held))
	})
}
