package thoonk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/thoonk"
)

func (k *kit) publish(leaf *thoonk.Leaf[string], values ...string) {
	k.t.Helper()
	for _, value := range values {
		_, _, err := leaf.Publish(k.ctx(), value, thoonk.WithID("id-"+value))
		require.NoError(k.t, err)
	}
}

func TestLeafPublishesWithAGeneratedID(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		first, edited, err := leaf.Publish(k.ctx(), "one")
		require.NoError(t, err)
		assert.False(t, edited)
		second, _, err := leaf.Publish(k.ctx(), "two")
		require.NoError(t, err)
		assert.NotEqual(t, first, second)
		ids, err := leaf.IDs(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, []string{second, first}, ids, "the newest first")
		assert.Equal(t, thoonk.Event{What: thoonk.Published, Feed: "a", ID: first, Item: []byte(`"one"`)},
			k.next(events))
		assert.Equal(t, second, k.next(events).ID)
	})
}

func TestLeafPublishesWithAnIDOfOnesOwn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		id, edited, err := leaf.Publish(k.ctx(), "one", thoonk.WithID("x:y_z"))
		require.NoError(t, err)
		assert.Equal(t, "x:y_z", id)
		assert.False(t, edited)
		value, err := leaf.Item(k.ctx(), "x:y_z")
		require.NoError(t, err)
		assert.Equal(t, "one", value)
	})
}

func TestLeafEditsAnExistingIDInPlace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 2)
		k.publish(leaf, "one", "two")
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		id, edited, err := leaf.Publish(k.ctx(), "more", thoonk.WithID("id-one"))
		require.NoError(t, err)
		assert.True(t, edited)
		assert.Equal(t, "id-one", id)
		assert.Equal(t, []thoonk.Item[string]{{ID: "id-two", Value: "two"}, {ID: "id-one", Value: "more"}},
			k.items(leaf))
		assert.Equal(t, thoonk.Event{What: thoonk.Edited, Feed: "a", ID: "id-one", Item: []byte(`"more"`)},
			k.next(events))
	})
}

func (k *kit) items(leaf *thoonk.Leaf[string]) []thoonk.Item[string] {
	k.t.Helper()
	items := []thoonk.Item[string]{}
	for item, err := range leaf.All(k.ctx()) {
		require.NoError(k.t, err)
		items = append(items, item)
	}
	return items
}

func TestLeafTrimsTheOldestWithAnEventEach(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 3)
		k.publish(leaf, "1", "2", "3")
		require.NoError(t, k.client.SetConfig(k.ctx(), "a", thoonk.Config{MaxLength: 2}))
		assert.Len(t, k.items(leaf), 3, "a smaller limit removes nothing by itself")
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		k.publish(leaf, "4")
		assert.Equal(t, []thoonk.Item[string]{{ID: "id-4", Value: "4"}, {ID: "id-3", Value: "3"}}, k.items(leaf))
		assert.Equal(t, thoonk.Published, k.next(events).What)
		assert.Equal(t, thoonk.Event{What: thoonk.Retracted, Feed: "a", ID: "id-1"}, k.next(events))
		assert.Equal(t, thoonk.Event{What: thoonk.Retracted, Feed: "a", ID: "id-2"}, k.next(events))
		assert.Equal(t, int64(2), k.cmd("HLEN", "feed.items:a"))
	})
}

func TestLeafRetracts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		k.publish(leaf, "1", "2", "3")
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		require.NoError(t, leaf.Retract(k.ctx(), "id-2"))
		assert.Equal(t, thoonk.Event{What: thoonk.Retracted, Feed: "a", ID: "id-2"}, k.next(events))
		assert.Equal(t, []thoonk.Item[string]{{ID: "id-3", Value: "3"}, {ID: "id-1", Value: "1"}}, k.items(leaf))
		err := leaf.Retract(k.ctx(), "id-2")
		require.ErrorIs(t, err, thoonk.ErrNoItem)
		assert.ErrorContains(t, err, `item "id-2"`)
	})
}

func TestLeafReads(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		k.publish(leaf, "1", "2")
		ids, err := leaf.IDs(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, []string{"id-2", "id-1"}, ids)
		length, err := leaf.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 2, length)
		for id, want := range map[string]bool{"id-1": true, "id-3": false} {
			has, err := leaf.Has(k.ctx(), id)
			require.NoError(t, err)
			assert.Equal(t, want, has, id)
		}
		_, err = leaf.Item(k.ctx(), "id-3")
		require.ErrorIs(t, err, thoonk.ErrNoItem)
	})
}

// All reads in pages, leaves out what is retracted meanwhile, and can be left.
func TestLeafAllReadsPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		const many = rdb.MaxBatch + 5
		for i := range many {
			k.publish(leaf, fmt.Sprint(i))
		}
		seen := 0
		for item, err := range leaf.All(k.ctx()) {
			require.NoError(t, err)
			if seen == 0 {
				assert.Equal(t, fmt.Sprint(many-1), item.Value)
				require.NoError(t, leaf.Retract(k.ctx(), "id-2")) // of the second page
			}
			seen++
		}
		assert.Equal(t, many-1, seen)
		for _, err := range leaf.All(k.ctx()) {
			require.NoError(t, err)
			break
		}
	})
}

func TestItemsOfAnyBytes(t *testing.T) {
	t.Parallel()
	for name, item := range map[string]string{
		"empty": "", "NUL": "a\x00b\x00", "not UTF-8": "\xff\xfe", "lines": "\r\n$5\r\n",
		"1 MiB": strings.Repeat("x\x00", 1<<19),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				k.create("leaf", thoonk.Config{})
				k.create("jobs", thoonk.Config{Kind: thoonk.KindJob})
				leaf, err := thoonk.OpenLeaf(k.ctx(), k.client, "leaf", thoonk.Codec[[]byte](thoonk.Raw{}))
				require.NoError(t, err)
				raw := thoonk.Codec[[]byte](thoonk.Raw{})
				feed, err := thoonk.OpenJobFeed(k.ctx(), k.client, "jobs", raw, raw)
				require.NoError(t, err)
				events := k.listen(k.client, thoonk.Watch{Feeds: []string{"leaf", "jobs"}})

				id, _, err := leaf.Publish(k.ctx(), []byte(item))
				require.NoError(t, err)
				back, err := leaf.Item(k.ctx(), id)
				require.NoError(t, err)
				assert.Equal(t, item, string(back))
				assert.Equal(t, item, string(k.next(events).Item))

				id, err = feed.Put(k.ctx(), []byte(item))
				require.NoError(t, err)
				claim, err := feed.Get(k.ctx(), thoonk.NoWait)
				require.NoError(t, err)
				assert.Equal(t, item, string(claim.Item))
				require.NoError(t, feed.FinishWith(k.ctx(), claim.Held, []byte(item+"!"), 0))
				result, err := feed.Result(k.ctx(), id, 0)
				require.NoError(t, err)
				assert.Equal(t, item, string(result.Item))
				assert.Equal(t, item+"!", string(result.Result))
				assert.Equal(t, thoonk.Published, k.next(events).What)
				assert.Equal(t, thoonk.Claimed, k.next(events).What)
				assert.Equal(t, thoonk.Event{What: thoonk.Finished, Feed: "jobs", ID: id, Item: []byte(item + "!")},
					k.next(events))
			})
		})
	}
}

func TestAnItemThatIsTooLarge(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.create("a", thoonk.Config{})
		leaf, err := thoonk.OpenLeaf(k.ctx(), k.client, "a", thoonk.Codec[[]byte](thoonk.Raw{}))
		require.NoError(t, err)
		_, _, err = leaf.Publish(k.ctx(), make([]byte, thoonk.MaxItem+1))
		require.ErrorIs(t, err, thoonk.ErrTooLarge)
		assert.Equal(t, []string{"feed.config:a", "feeds"}, k.keys())
	})
}

// An item that cannot be decoded does not hide the others, and comes with its bytes.
func TestAnItemThatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		k.publish(leaf, "1", "2")
		k.cmd("HSET", "feed.items:a", "id-2", "no JSON")
		var values []string
		var bad *thoonk.DecodeError
		for item, err := range leaf.All(k.ctx()) {
			if err != nil {
				require.ErrorAs(t, err, &bad)
				continue
			}
			values = append(values, item.Value)
		}
		assert.Equal(t, []string{"1"}, values)
		assert.Equal(t, "no JSON", string(bad.Item))
		_, err := leaf.Item(k.ctx(), "id-2")
		require.ErrorAs(t, err, &bad)
	})
}

func TestCallsEndWithTheirCtx(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		ctx, cancel := context.WithCancel(k.ctx())
		cancel()
		_, _, err := leaf.Publish(ctx, "x")
		require.ErrorIs(t, err, context.Canceled)
		for _, err := range leaf.All(ctx) {
			require.ErrorIs(t, err, context.Canceled)
		}
	})
}

func TestTheErrorOfAnItemThatCannotBeDecodedQuotesNothingOfIt(t *testing.T) {
	t.Parallel()
	_, err := thoonk.JSON[int8]{}.Decode([]byte("4111111111111111"))
	require.EqualError(t, err, "a JSON number does not fit the type int8")
	var mismatch *json.UnmarshalTypeError
	require.ErrorAs(t, err, &mismatch)
	_, err = thoonk.JSON[int]{}.Decode([]byte("7"))
	require.NoError(t, err)
}
