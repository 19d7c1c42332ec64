package thoonk_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

type recurring = thoonk.Recurring[string]

func (k *kit) recurring(name string, period time.Duration) *recurring {
	k.t.Helper()
	set, err := thoonk.OpenRecurring[string](k.ctx(), k.client, name, period, thoonk.Codec[string](word{}))
	require.NoError(k.t, err)
	return set
}

// word keeps texts as they are, as other programs do.
type word struct{}

func (word) Encode(text string) ([]byte, error) { return []byte(text), nil }
func (word) Decode(item []byte) (string, error) { return string(item), nil }

func (k *kit) add(set *recurring, items ...string) {
	k.t.Helper()
	for _, item := range items {
		_, added, err := set.Add(k.ctx(), item)
		require.NoError(k.t, err)
		require.True(k.t, added, item)
	}
}

// late makes an item due since a moment long ago; higher numbers are later.
func (k *kit) late(item string, ms int) { k.cmd("ZADD", "recurring:r", ms, item) }

func TestRecurringItemsComeInTheOrderInWhichTheyAreDue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		set := k.recurring("r", time.Hour)
		began := time.Now().Add(-time.Second)
		k.add(set, "a", "b", "c")
		due, added, err := set.Add(k.ctx(), "a")
		require.NoError(t, err)
		assert.False(t, added, "it is there")
		known, err := set.Due(k.ctx(), "a")
		require.NoError(t, err)
		assert.Equal(t, known, due, "and keeps its time")
		assert.WithinRange(t, due, began.Add(time.Hour), time.Now().Add(time.Hour+time.Second))
		_, err = set.Get(k.ctx(), thoonk.NoWait)
		require.ErrorIs(t, err, thoonk.ErrEmpty, "none is due")

		k.late("c", 1000)
		k.late("b", 2000)
		all, behind, err := set.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, []int{3, 2}, []int{all, behind})
		for _, want := range []thoonk.Due[string]{{"c", time.UnixMilli(1000)}, {"b", time.UnixMilli(2000)}} {
			got, err := set.Get(k.ctx(), 0)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			next, err := set.Due(k.ctx(), want.Item)
			require.NoError(t, err)
			assert.WithinRange(t, next, began.Add(time.Hour), time.Now().Add(time.Hour+time.Second),
				"a period from now")
		}
		_, behind, err = set.Length(k.ctx())
		require.NoError(t, err)
		assert.Zero(t, behind)
	})
}

func TestARecurringItemGoesToOneCallerPerPeriod(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		set := k.recurring("r", time.Hour)
		k.add(set, "a", "b")
		k.late("a", 1000)
		k.late("b", 1000)
		got, empty := make(chan string, 8), make(chan error, 8)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if due, err := set.Get(k.ctx(), thoonk.NoWait); err != nil {
					empty <- err
				} else {
					got <- due.Item
				}
			})
		}
		all.Wait()
		close(got)
		var items []string
		for item := range got {
			items = append(items, item)
		}
		assert.ElementsMatch(t, []string{"a", "b"}, items)
		assert.Len(t, empty, 6)
	})
}

// A period of a few milliseconds passes by itself.
func TestGetWaitsUntilAnItemIsDueAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		set := k.recurring("r", 20*time.Millisecond)
		got := make(chan string, 100)
		ctx, cancel := context.WithCancel(k.ctx())
		ended := make(chan error, 1)
		go func() {
			for {
				due, err := set.Get(ctx, 0) // of nothing, at first
				if err != nil {
					ended <- err
					return
				}
				got <- due.Item
			}
		}()
		k.add(set, "a")
		for range 3 {
			assert.Equal(t, "a", receive(t, got))
		}
		cancel()
		require.ErrorIs(t, receive(t, ended), context.Canceled)
		_, err := k.recurring("empty", time.Hour).Get(k.ctx(), time.Millisecond)
		require.ErrorIs(t, err, thoonk.ErrEmpty)
	})
}

func TestAnEmptySetIsLookedAtNowAndThen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		var looks atomic.Int32
		client := k.open(k.server.DSN(), thoonk.OnWait(func() { looks.Add(1) }))
		set, err := thoonk.OpenRecurring[string](k.ctx(), client, "r", time.Millisecond, nil)
		require.NoError(t, err)
		_, err = set.Get(k.ctx(), 350*time.Millisecond)
		require.ErrorIs(t, err, thoonk.ErrEmpty)
		assert.Positive(t, looks.Load())
		assert.LessOrEqual(t, looks.Load(), int32(4), "in 350 ms, whatever the period")
	})
}

func TestRecurringItemsAreReplacedAndRemoved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		set := k.recurring("r", time.Hour)
		k.add(set, "a", "b")
		k.late("a", 5000)
		require.NoError(t, set.Update(k.ctx(), "a", "c"))
		require.NoError(t, set.Update(k.ctx(), "a", "c"), "sent twice")
		due, err := set.Due(k.ctx(), "c")
		require.NoError(t, err)
		assert.Equal(t, time.UnixMilli(5000), due)
		_, err = set.Due(k.ctx(), "a")
		require.ErrorIs(t, err, thoonk.ErrNoItem)
		require.ErrorIs(t, set.Update(k.ctx(), "a", "d"), thoonk.ErrNoItem)
		require.NoError(t, set.Remove(k.ctx(), "c"))
		require.ErrorIs(t, set.Remove(k.ctx(), "c"), thoonk.ErrNoItem)
		all, _, err := set.Length(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 1, all)

		require.NoError(t, set.Delete(k.ctx()))
		require.ErrorIs(t, set.Delete(k.ctx()), thoonk.ErrNoFeed)
		_, _, err = set.Add(k.ctx(), "a")
		require.ErrorIs(t, err, thoonk.ErrNoFeed)
		_, err = set.Get(k.ctx(), 0)
		require.ErrorIs(t, err, thoonk.ErrNoFeed)
		assert.Empty(t, k.keys(), "nothing is left")
	})
}

// What thoonk.js 0.7 sends, as it keeps it, in both directions.
func TestRecurringItemsAreSharedWithOtherPrograms(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.cmd("SADD", "recurrings", "r")
		k.cmd("HSET", "recurring.config:r", "timeout", 3600000)
		k.cmd("ZADD", "recurring:r", 7000, "theirs")
		set := k.recurring("r", time.Minute)
		assert.Equal(t, time.Hour, set.Period(), "theirs holds")
		due, err := set.Get(k.ctx(), thoonk.NoWait)
		require.NoError(t, err)
		assert.Equal(t, thoonk.Due[string]{Item: "theirs", Since: time.UnixMilli(7000)}, due)
		k.add(set, "ours")
		assert.Equal(t, int64(2), k.cmd("ZCOUNT", "recurring:r", "-inf", "+inf"))
		assert.NotNil(t, k.cmd("ZSCORE", "recurring:r", "ours"))

		k.recurring("new", 1500*time.Millisecond)
		assert.Equal(t, int64(1), k.cmd("SISMEMBER", "recurrings", "new"))
		assert.Equal(t, "1500", string(k.cmd("HGET", "recurring.config:new", "timeout").([]byte)))
	})
}

func TestASetOfRecurringItemsThatCannotBe(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		_, err := thoonk.OpenRecurring[string](k.ctx(), k.client, "r", time.Microsecond, nil)
		require.ErrorContains(t, err, "period 1µs is too short: use at least 1ms")
		_, err = thoonk.OpenRecurring[string](k.ctx(), k.client, "", time.Hour, nil)
		var name *thoonk.NameError
		require.ErrorAs(t, err, &name)
		k.cmd("SET", "recurring:r", "text")
		_, _, err = k.recurring("r", time.Hour).Add(k.ctx(), "a")
		require.ErrorContains(t, err, "has the wrong type")

		client := k.open(k.server.DSN())
		set, err := thoonk.OpenRecurring[string](k.ctx(), client, "closed", time.Hour, nil)
		require.NoError(t, err)
		waits := make(chan error, 1)
		go func() { _, err := set.Get(k.ctx(), 0); waits <- err }()
		require.NoError(t, client.Close())
		require.ErrorIs(t, receive(t, waits), thoonk.ErrClosed)
		require.ErrorIs(t, set.Remove(k.ctx(), "a"), thoonk.ErrClosed)
	})
}
