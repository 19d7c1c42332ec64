package thoonk_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/thoonk"
)

const old = 30 * time.Millisecond

func TestMaintenanceCancelsOldClaims(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x", "y", "z")
		former := k.claim(feed)
		k.pass(12 * time.Second)
		k.claim(feed)
		done, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: 10 * time.Second})
		require.NoError(t, err)
		assert.Equal(t, thoonk.Maintained{Cancelled: []string{"x"}}, done)
		assert.Equal(t, "waiting z x, running y, stalled", k.state(feed))
		require.ErrorIs(t, feed.Finish(k.ctx(), former.Held), thoonk.ErrGone)
		k.claim(feed)
		assert.Equal(t, 1, k.claim(feed).Cancelled)
	})
}

func TestMaintenanceStallsWhatWasCancelledTooOften(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ max, lapses int }{"never": {0, 4}, "at once": {-1, 0},
		"after two": {2, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				feed := k.jobs("a")
				k.put(feed, "x")
				patience := thoonk.Patience{MaxAge: old, MaxCancels: c.max}
				for range c.lapses {
					k.claim(feed)
					k.pass(2 * old)
					done, err := feed.Maintain(k.ctx(), patience)
					require.NoError(t, err)
					assert.Equal(t, thoonk.Maintained{Cancelled: []string{"x"}}, done)
				}
				if c.max == 0 {
					return
				}
				k.claim(feed)
				k.pass(2 * old)
				done, err := feed.Maintain(k.ctx(), patience)
				require.NoError(t, err)
				assert.Equal(t, thoonk.Maintained{Stalled: []string{"x"}}, done)
				assert.Equal(t, "waiting, running, stalled x", k.state(feed))
			})
		})
	}
}

// Several at once, over jobs that others claim and end meanwhile: each job is in one place, once.
func TestMaintenanceNeverDuplicates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		const many = 60
		for i := range many {
			k.put(feed, fmt.Sprint("j", i))
		}
		for range many / 2 {
			k.claim(feed)
		}
		k.pass(2 * old)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 10 {
					_, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: old, MaxCancels: 3})
					assert.NoError(t, err)
				}
			})
			all.Go(func() {
				for range 10 {
					claim, err := feed.Get(k.ctx(), 0)
					if assert.NoError(t, err) {
						if err := feed.Cancel(k.ctx(), claim.Held); err != nil {
							assert.ErrorIs(t, err, thoonk.ErrGone, "on a busy machine it may have become old")
						}
					}
				}
			})
		}
		all.Wait()
		places := strings.Fields(strings.NewReplacer("waiting", "", ", running", "", ", stalled", "").
			Replace(k.state(feed)))
		slices.Sort(places)
		assert.Len(t, slices.Compact(slices.Clone(places)), many)
		assert.Len(t, places, many)
	})
}

// A program of another make died between taking the id and writing when, or left other traces.
func TestMaintenanceOfWhatOtherProgramsLeave(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "timeless", "seconds", "gone", "waits")
		for range 3 {
			k.claim(feed)
		}
		k.cmd("HDEL", "feed.claimed:a", "timeless")
		k.cmd("HSET", "feed.claimed:a", "seconds", "1500000000.25", "stray", "5")
		k.cmd("HDEL", "feed.items:a", "gone")
		running, err := feed.Running(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, []int64{0, 1_500_000_000}, []int64{max(0, running[2].At.Unix()), running[1].At.Unix()})

		patience := thoonk.Patience{MaxAge: old}
		done, err := feed.Maintain(k.ctx(), patience)
		require.NoError(t, err)
		assert.Equal(t, thoonk.Maintained{Cancelled: []string{"seconds"}}, done)
		assert.Equal(t, "waiting waits seconds, running timeless, stalled", k.state(feed))
		assert.Equal(t, int64(1), k.cmd("HLEN", "feed.claimed:a"))
		k.pass(2 * old)
		done, err = feed.Maintain(k.ctx(), patience)
		require.NoError(t, err)
		assert.Equal(t, thoonk.Maintained{Cancelled: []string{"timeless"}}, done)
		assert.Equal(t, "waiting waits seconds timeless, running, stalled", k.state(feed))
	})
}

func TestMaintenanceOfManyClaims(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		const many = rdb.MaxBatch + 20
		for i := range many {
			k.put(feed, fmt.Sprint("j", i))
			k.claim(feed)
		}
		k.pass(2 * old)
		done, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: old})
		require.NoError(t, err)
		assert.Len(t, done.Cancelled, many)
		assert.Equal(t, int64(many), k.cmd("LLEN", "feed.ids:a"))
	})
}

func TestMaintenanceWithoutAnAgeIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		_, err := k.jobs("a").Maintain(k.ctx(), thoonk.Patience{})
		require.ErrorContains(t, err, "MaxAge 0s is too short")
	})
}

// TestAKilledWorkersJobIsBackAfterMaintenance is a real process and SIGKILL, right after the claim.
func TestAKilledWorkersJobIsBackAfterMaintenance(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x")
		w := k.worker("a", false)
		assert.Equal(t, "x", w.says(t, "claimed"))
		w.kill(t)
		assert.Equal(t, "waiting, running x, stalled", k.state(feed))
		k.pass(2 * old)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				_, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: old})
				assert.NoError(t, err)
			})
		}
		all.Wait()
		assert.Equal(t, "waiting x, running, stalled", k.state(feed))
		claim := k.claim(feed)
		assert.Equal(t, 1, claim.Cancelled)
		assert.Equal(t, "item x", claim.Item)
	})
}

// Workers are killed somewhere in their work, again and again; every job ends once, and none twice.
func TestKilledWorkersLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		const kills, each = 4, 100
		const many = kills * each
		events := make(chan string, 2*many)
		heard := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ended := 0; ended < many; {
				select {
				case e := <-heard:
					if e.What == thoonk.Finished {
						events <- e.ID
						ended++
					}
				case <-time.After(patience):
					return
				}
			}
		}()
		for kill := range kills {
			for i := range each {
				k.put(feed, fmt.Sprint("j", kill, "-", i))
			}
			w := k.worker("a", true)
			for range 20 {
				w.says(t, "finished")
			}
			w.kill(t)
		}
		for k.state(feed) != "waiting, running, stalled" { // what a killed worker has sent may land late
			k.pass(2 * old)
			_, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: old})
			require.NoError(t, err)
			for claim, err := feed.Get(k.ctx(), thoonk.NoWait); err == nil; claim,
				err = feed.Get(k.ctx(), thoonk.NoWait) {
				require.NoError(t, feed.Finish(k.ctx(), claim.Held))
			}
		}
		receive(t, done)
		close(events)
		times := map[string]int{}
		for id := range events {
			times[id]++
		}
		assert.Len(t, times, many)
		for id, n := range times {
			assert.Equal(t, 1, n, id)
		}
		assert.Equal(t, []string{"feed.config:a", "feeds"}, k.keys())
	})
}

// The claims of a large feed are looked through in one go: none of them is looked for in the list of all.
func TestManyClaimsAreMaintained(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		const many = 20_000
		items, ids, claims := make([]any, 0, 2*many), make([]any, 0, many), make([]any, 0, 2*many)
		for i := range many {
			id := strconv.Itoa(i)
			items, ids = append(items, id, `"x"`), append(ids, id)
			claims = append(claims, id, "1000.00000000000000000001")
		}
		k.cmd("HSET", "feed.items:j", items...)
		k.cmd("LPUSH", "feed.running:j", ids...)
		k.cmd("HSET", "feed.claimed:j", claims...)
		done, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: time.Hour})
		require.NoError(t, err)
		assert.Len(t, done.Cancelled, many)
		running, err := feed.Running(k.ctx())
		require.NoError(t, err)
		assert.Empty(t, running)
	})
}
