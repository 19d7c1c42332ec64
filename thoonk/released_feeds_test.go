package thoonk_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

// leafOf opens a leaf in their form, which they have created or we.
func (p released) leafOf(name string, ours bool, limit int) *thoonk.Leaf[string] {
	p.t.Helper()
	if ours {
		p.kit.create(name, thoonk.Config{MaxLength: limit, Form: p.form})
	} else {
		p.create(name, thoonk.KindLeaf)
		p.publish(name, "first", `"first"`)
	}
	leaf, err := thoonk.OpenLeaf[string](p.ctx(), p.client, name, nil)
	require.NoError(p.t, err)
	return leaf
}

func TestALeafIsSharedWithReleasedPrograms(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{true, false} {
		t.Run(fmt.Sprint("ours ", ours), func(t *testing.T) {
			t.Parallel()
			eachReleased(t, func(t *testing.T, p released) {
				leaf := p.leafOf("l", ours, 0)
				if ours {
					_, _, err := leaf.Publish(p.ctx(), "first", thoonk.WithID("first"))
					require.NoError(t, err)
				}
				published, edited := p.hear("feed.publish:l"), p.hear("feed.edit:l")
				_, _, err := leaf.Publish(p.ctx(), "ours", thoonk.WithID("ours"))
				require.NoError(t, err)
				assert.Equal(t, "ours\x00"+`"ours"`, receive(t, published))
				p.pass(2 * time.Millisecond)
				p.publish("l", "theirs", `"theirs"`)
				assert.Equal(t, []string{"first", "ours", "theirs"}, p.ids("l"))
				ids, err := leaf.IDs(p.ctx())
				require.NoError(t, err)
				assert.Equal(t, []string{"theirs", "ours", "first"}, ids, "the newest first")
				n, err := leaf.Length(p.ctx())
				require.NoError(t, err)
				assert.Equal(t, 3, n)
				_, isEdit, err := leaf.Publish(p.ctx(), "more", thoonk.WithID("first"))
				require.NoError(t, err)
				assert.True(t, isEdit)
				assert.Equal(t, "first\x00"+`"more"`, receive(t, edited))
				assert.Equal(t, []string{"first", "ours", "theirs"}, p.ids("l"), "it keeps its place")
				assert.Equal(t, 4, p.count("l"))

				p.retract("l", "ours")
				require.NoError(t, leaf.Retract(p.ctx(), "theirs"))
				require.ErrorIs(t, leaf.Retract(p.ctx(), "ours"), thoonk.ErrNoItem)
				assert.Equal(t, []string{"first"}, p.ids("l"))
				item, err := leaf.Item(p.ctx(), "first")
				require.NoError(t, err)
				assert.Equal(t, "more", item)
				require.NoError(t, leaf.Retract(p.ctx(), "first"))
				_, _, err = leaf.Publish(p.ctx(), "again", thoonk.WithID("again"))
				require.NoError(t, err)
				p.publish("l", "last", `"last"`)
				assert.Len(t, p.ids("l"), 2, "also when it was empty")
			})
		})
	}
}

// The time of a publish is in the unit that the program writes, and later than what is there, whatever its clock says.
func TestWhatWePublishIsTheLatest(t *testing.T) {
	t.Parallel()
	eachReleased(t, func(t *testing.T, p released) {
		leaf := p.leafOf("l", true, 3)
		unit := map[bool]float64{true: 1e-3, false: 1}[p.python()]
		score := func(id string) float64 {
			var score float64
			require.NoError(t, json.Unmarshal([]byte(p.text("ZSCORE", "feed.ids:l", id)), &score))
			return score / unit
		}
		publish := func(id string) {
			_, _, err := leaf.Publish(p.ctx(), "x", thoonk.WithID(id))
			require.NoError(t, err)
		}
		publish("a")
		assert.InDelta(t, p.ms(), score("a"), time.Minute.Seconds()*1000)
		ahead := float64(p.ms()) + time.Hour.Seconds()*1000
		p.cmd("ZADD", "feed.ids:l", strconv.FormatFloat(ahead*unit, 'f', 3, 64), "ahead")
		p.cmd("HSET", "feed.items:l", "ahead", `"x"`)
		publish("b")
		publish("c")
		assert.Greater(t, score("b"), ahead-1)
		assert.Equal(t, []string{"ahead", "b", "c"}, p.ids("l"), "the oldest gave way")
		assert.ElementsMatch(t, []string{"ahead", "b", "c"}, p.texts("HKEYS", "feed.items:l"))
	})
}

func TestASortedFeedIsSharedWithReleasedPrograms(t *testing.T) {
	t.Parallel()
	eachReleased(t, func(t *testing.T, p released) {
		p.create("s", thoonk.KindSorted)
		require.Equal(t, int64(1), p.cmd("INCR", "feed.idincr:s"))
		p.cmd("RPUSH", "feed.ids:s", 1)
		p.cmd("INCR", "feed.publishes:s")
		p.cmd("HSET", "feed.items:s", 1, `"theirs"`)
		sorted, err := thoonk.OpenSortedFeed[string](p.ctx(), p.client, "s", nil)
		require.NoError(t, err)
		id, err := sorted.InsertBefore(p.ctx(), 1, "ours")
		require.NoError(t, err)
		assert.Equal(t, int64(2), id)
		assert.Equal(t, []string{"2", "1"}, p.texts("LRANGE", "feed.ids:s", 0, -1))
		channel := map[bool]string{true: "feed.publish:s", false: "feed.edit:s"}[p.python()]
		edited := p.hear(channel)
		require.NoError(t, sorted.Edit(p.ctx(), 1, "edited"))
		assert.Equal(t, "1\x00"+`"edited"`, receive(t, edited), "where they listen")
		assert.Equal(t, 3, p.count("s"), "publishes and edits")
		require.NoError(t, sorted.MoveLast(p.ctx(), 2))
		require.NoError(t, sorted.Retract(p.ctx(), 1))
		assert.Equal(t, []string{"2"}, p.texts("LRANGE", "feed.ids:s", 0, -1))
	})
}

func TestAQueueIsSharedWithReleasedPrograms(t *testing.T) {
	t.Parallel()
	eachReleased(t, func(t *testing.T, p released) {
		p.create("q", thoonk.KindQueue)
		p.put("q", "x", `"theirs"`, false)
		queue := p.queueOf(p.client, "q")
		p.cmd("DEL", "feed.published:q")
		_, err := queue.Put(p.ctx(), "ours", thoonk.WithID("y"))
		require.NoError(t, err)
		assert.Equal(t, 2, p.count("q"))
		assert.Equal(t, int64(0), p.cmd("EXISTS", "feed.published:q"), "it is of job feeds only")
		assert.Equal(t, []string{"theirs", "ours"}, p.drain(queue))
	})
}

// thoonk.js 0.2 calls each feed that it creates a leaf. What the keys show counts, and is written down as it does it
// itself when it opens the feed again.
func TestFeedsThatCallThemselvesLeaves(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		p := released{k, thoonk.FormSorted}
		p.create("job", thoonk.KindLeaf)
		p.put("job", "x", `"item x"`, true)
		p.create("queue", thoonk.KindLeaf)
		p.put("queue", "x", `"item x"`, false)
		p.create("sorted", thoonk.KindLeaf)
		p.cmd("INCR", "feed.idincr:sorted")
		p.cmd("RPUSH", "feed.ids:sorted", 1)
		p.cmd("INCR", "feed.publishes:sorted")
		p.create("leaf", thoonk.KindLeaf)
		p.publish("leaf", "x", `"item x"`)
		for name, want := range map[string]thoonk.Kind{"job": thoonk.KindJob, "queue": thoonk.KindQueue,
			"sorted": thoonk.KindSorted, "leaf": thoonk.KindLeaf} {
			if want == thoonk.KindQueue {
				k.queueOf(k.client, name) // nothing but this call tells it from a leaf
			}
			config, err := k.client.Config(k.ctx(), name)
			require.NoError(t, err)
			assert.Equal(t, thoonk.Config{Kind: want, Form: thoonk.FormSorted}, config, name)
			feed, err := k.client.Open(k.ctx(), name)
			require.NoError(t, err, name)
			assert.Equal(t, want, feed.Kind())
			stored := `{"type":"` + string(want) + `"}`
			assert.Equal(t, stored, p.text("GET", "feed.config:"+name))
		}
		assert.Equal(t, "item x", k.claim(k.jobsOf(k.client, "job")).Item)
		k.leaf("ours", 0)
		k.cmd("LPUSH", "feed.ids:ours", "x")
		k.cmd("INCR", "feed.publishes:ours") // of a publish that failed
		feed, err := k.client.Open(k.ctx(), "ours")
		require.NoError(t, err)
		assert.Equal(t, thoonk.KindLeaf, feed.Kind())
		var kind *thoonk.KindError
		_, err = thoonk.OpenQueue[string](k.ctx(), k.client, "leaf", nil)
		require.ErrorAs(t, err, &kind)
	})
}
