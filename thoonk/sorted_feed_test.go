package thoonk_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

type sorted = thoonk.SortedFeed[string]

// sorted has the items a, b and c, with the ids 1, 2 and 3.
func (k *kit) sorted(name string) *sorted {
	k.t.Helper()
	k.create(name, thoonk.Config{Kind: thoonk.KindSorted})
	feed, err := thoonk.OpenSortedFeed[string](k.ctx(), k.client, name, nil)
	require.NoError(k.t, err)
	for i, value := range []string{"a", "b", "c"} {
		id, err := feed.Append(k.ctx(), value)
		require.NoError(k.t, err)
		require.Equal(k.t, int64(i+1), id)
	}
	return feed
}

func (k *kit) order(feed *sorted) string {
	k.t.Helper()
	order := ""
	for item, err := range feed.All(k.ctx()) {
		require.NoError(k.t, err)
		order += item.Value
	}
	return order
}

func TestSortedFeedInserts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		insert          func(k *kit, feed *sorted) (int64, error)
		order, position string
	}{
		"append":  {func(k *kit, f *sorted) (int64, error) { return f.Append(k.ctx(), "x") }, "abcx", thoonk.Last},
		"prepend": {func(k *kit, f *sorted) (int64, error) { return f.Prepend(k.ctx(), "x") }, "xabc", thoonk.First},
		"before": {func(k *kit, f *sorted) (int64, error) { return f.InsertBefore(k.ctx(), 2, "x") }, "axbc",
			thoonk.Before(2)},
		"after": {func(k *kit, f *sorted) (int64, error) { return f.InsertAfter(k.ctx(), 2, "x") }, "abxc",
			thoonk.After(2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				feed := k.sorted("a")
				events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
				id, err := c.insert(k, feed)
				require.NoError(t, err)
				assert.Equal(t, int64(4), id)
				assert.Equal(t, c.order, k.order(feed))
				assert.Equal(t, thoonk.Event{What: thoonk.Published, Feed: "a", ID: "4", Item: []byte(`"x"`)},
					k.next(events))
				assert.Equal(t, thoonk.Event{What: thoonk.Moved, Feed: "a", ID: "4", Position: c.position},
					k.next(events))
			})
		})
	}
}

func TestSortedFeedInsertsBesideWhatIsMissing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.sorted("a")
		_, err := feed.InsertBefore(k.ctx(), 9, "x")
		require.ErrorIs(t, err, thoonk.ErrNoItem)
		assert.ErrorContains(t, err, `item "9"`)
		_, err = feed.InsertAfter(k.ctx(), 9, "x")
		require.ErrorIs(t, err, thoonk.ErrNoItem)
		assert.Equal(t, "abc", k.order(feed))
		assert.Equal(t, int64(3), k.cmd("HLEN", "feed.items:a"))
	})
}

func TestSortedFeedEdits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.sorted("a")
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		require.NoError(t, feed.Edit(k.ctx(), 2, "x"))
		assert.Equal(t, "axc", k.order(feed))
		assert.Equal(t, thoonk.Event{What: thoonk.Edited, Feed: "a", ID: "2", Item: []byte(`"x"`)}, k.next(events))
		require.ErrorIs(t, feed.Edit(k.ctx(), 9, "x"), thoonk.ErrNoItem)
	})
}

func TestSortedFeedMoves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		move            func(k *kit, feed *sorted) error
		order, position string
	}{
		"before": {func(k *kit, f *sorted) error { return f.MoveBefore(k.ctx(), 3, 2) }, "acb", thoonk.Before(2)},
		"after":  {func(k *kit, f *sorted) error { return f.MoveAfter(k.ctx(), 3, 1) }, "acb", thoonk.After(1)},
		"first":  {func(k *kit, f *sorted) error { return f.MoveFirst(k.ctx(), 3) }, "cab", thoonk.First},
		"last":   {func(k *kit, f *sorted) error { return f.MoveLast(k.ctx(), 3) }, "abc", thoonk.Last},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				feed := k.sorted("a")
				events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
				require.NoError(t, c.move(k, feed))
				assert.Equal(t, c.order, k.order(feed))
				assert.Equal(t, thoonk.Event{What: thoonk.Moved, Feed: "a", ID: "3", Position: c.position},
					k.next(events))
			})
		})
	}
}

func TestSortedFeedMovesThatAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.sorted("a")
		require.ErrorContains(t, feed.MoveFirst(k.ctx(), 9), `item "9": there is no such item`)
		require.ErrorContains(t, feed.MoveBefore(k.ctx(), 2, 9), `item "9": there is no such item`)
		require.ErrorContains(t, feed.MoveAfter(k.ctx(), 8, 9), `item "8": there is no such item`)
		var refused *thoonk.NameError
		require.ErrorAs(t, feed.MoveAfter(k.ctx(), 2, 2), &refused)
		assert.Equal(t, "abc", k.order(feed))
	})
}

func TestSortedFeedRetracts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.sorted("a")
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		require.NoError(t, feed.Retract(k.ctx(), 2))
		require.ErrorIs(t, feed.Retract(k.ctx(), 2), thoonk.ErrNoItem)
		assert.Equal(t, "ac", k.order(feed))
		assert.Equal(t, thoonk.Event{What: thoonk.Retracted, Feed: "a", ID: "2"}, k.next(events))
		id, err := feed.Append(k.ctx(), "d")
		require.NoError(t, err)
		assert.Equal(t, int64(4), id, "an id is not used again")
	})
}

func TestSortedFeedReads(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.sorted("a")
		require.NoError(t, feed.MoveFirst(k.ctx(), 3))
		ids, err := feed.IDs(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, []int64{3, 1, 2}, ids)
		value, err := feed.Item(k.ctx(), 3)
		require.NoError(t, err)
		assert.Equal(t, "c", value)
		_, err = feed.Item(k.ctx(), 4)
		require.ErrorIs(t, err, thoonk.ErrNoItem)
		for id, want := range map[int64]bool{2: true, 9: false} {
			has, err := feed.Has(k.ctx(), id)
			require.NoError(t, err)
			assert.Equal(t, want, has, id)
		}
		length, err := feed.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 3, length)
	})
}

// Those who insert and move at the same time lose nothing and get ids of their own.
func TestSortedFeedOfMany(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.sorted("a")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 10 {
					id, err := feed.InsertAfter(k.ctx(), 2, "x")
					if assert.NoError(t, err) {
						assert.NoError(t, feed.MoveFirst(k.ctx(), id))
					}
				}
			})
		}
		all.Wait()
		ids, err := feed.IDs(k.ctx())
		require.NoError(t, err)
		seen := map[int64]bool{}
		for _, id := range ids {
			seen[id] = true
		}
		assert.Len(t, ids, 83)
		assert.Len(t, seen, 83)
		assert.Equal(t, []int64{1, 2, 3}, ids[80:])
	})
}
