package inspect_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/redistest"
)

// keyed stores so many jobs of a key.
func (k *kit) keyed(name, key string, n int, opts ...work.EnqueueOption) {
	k.T.Helper()
	entries := make([]work.Entry, n)
	for i := range entries {
		entries[i] = work.Entry{Name: name, Options: append([]work.EnqueueOption{work.Key(key)}, opts...)}
	}
	_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
	require.NoError(k.T, err)
}

// keyPages reads all keys of a queue, so many at a time.
func (k *kit) keyPages(name string, limit int) (all []inspect.KeyInfo) {
	k.T.Helper()
	i := k.inspector()
	for cursor := ""; ; {
		page, err := i.Keys(k.Ctx(), inspect.KeysOptions{Name: name, Limit: limit, Cursor: cursor})
		require.NoError(k.T, err)
		assert.LessOrEqual(k.T, len(page.Keys), limit)
		all = append(all, page.Keys...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

func TestTheNoisiestKeysComeFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.keyed("sync", "small", 2)
		k.keyed("sync", "large", 30)
		k.keyed("sync", "heavy", 10, work.Weight(5))
		k.keyed("other", "elsewhere", 100)
		_, err := k.Enq.Enqueue(k.Ctx(), "sync")
		require.NoError(t, err)
		page, err := k.inspector().Keys(k.Ctx(), inspect.KeysOptions{Name: "sync"})
		require.NoError(t, err)
		assert.Equal(t, inspect.KeyPage{InLine: 3, Waiting: 42, Keyless: 1, Keys: []inspect.KeyInfo{
			{Key: "large", Weight: 1, Waiting: 30, Exact: true}, {Key: "heavy", Weight: 5, Waiting: 10, Exact: true},
			{Key: "small", Weight: 1, Waiting: 2, Exact: true},
		}}, page)
		none, err := k.inspector().Keys(k.Ctx(), inspect.KeysOptions{Name: "nothing"})
		require.NoError(t, err)
		assert.Equal(t, inspect.KeyPage{Keys: []inspect.KeyInfo{}}, none)
	})
}

func TestEachKeyComesOnAPageOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for n := range 23 {
			k.keyed("sync", fmt.Sprintf("k%02d", n), 1+n%7)
		}
		for _, limit := range []int{1, 2, 7, 500} {
			seen := map[string]int{}
			for _, key := range k.keyPages("sync", limit) {
				seen[key.Key]++
				assert.Positive(t, key.Waiting)
			}
			assert.Len(t, seen, 23)
			for key, times := range seen {
				assert.Equal(t, 1, times, "%s with %d on a page", key, limit)
			}
		}
	})
}

// Where too many wait to be looked at, passes tell how many there are of each key.
func TestManyJobsOfAKeyAreReckoned(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.keyed("sync", "large", 1200)
		k.keyed("sync", "heavy", 600, work.Weight(4))
		k.keyed("sync", "small", 3)
		assert.Equal(t, []inspect.KeyInfo{{Key: "large", Weight: 1, Waiting: 1200},
			{Key: "heavy", Weight: 4, Waiting: 600}, {Key: "small", Weight: 1, Waiting: 3}}, k.keyPages("sync", 50))
	})
}

func TestKeysThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.keyed("sync", "a", 1)
		k.keyed("sync", "b", 1)
		i := k.inspector()
		page, err := i.Keys(k.Ctx(), inspect.KeysOptions{Name: "sync", Limit: 1})
		require.NoError(t, err)
		require.NotEmpty(t, page.Next)
		for name, opts := range map[string]inspect.KeysOptions{
			"no name":                   {},
			"a negative limit":          {Name: "sync", Limit: -1},
			"too many":                  {Name: "sync", Limit: 501},
			"a cursor of another queue": {Name: "other", Cursor: page.Next},
			"half a cursor":             {Name: "sync", Cursor: page.Next[:10]},
		} {
			_, err := i.Keys(k.Ctx(), opts)
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid, name)
		}
	})
}

// A key of which several partitions have jobs is told once, wherever pages end; what cannot be asked is named.
func TestKeysOfSeveralPartitions(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(n int, k *kit) {
			k.keyed("sync", "shared", 3+n)
			for c := range 5 {
				k.keyed("sync", fmt.Sprintf("p%dc%d", n, c), 1+c)
			}
		})
		for _, limit := range []int{1, 4, 100} {
			seen, cursor := map[string]int{}, ""
			for {
				page, err := d.i.Keys(d.LongCtx(), inspect.KeysOptions{Name: "sync", Limit: limit, Cursor: cursor})
				require.NoError(t, err)
				assert.Equal(t, 57, page.Waiting)
				for _, key := range page.Keys {
					assert.Zero(t, seen[key.Key], "%s came twice, with %d on a page", key.Key, limit)
					seen[key.Key] = key.Waiting
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			assert.Len(t, seen, 16)
			assert.Equal(t, 12, seen["shared"])
			assert.Equal(t, 5, seen["p1c4"])
		}
		d.outages.Set(1, partitiontest.Down)
		page, err := d.i.Keys(d.LongCtx(), inspect.KeysOptions{Name: "sync"})
		d.missing(err)
		assert.Len(t, page.Keys, 11)
		assert.NotEmpty(t, page.Next, "the rest comes when it is back")
	})
}
