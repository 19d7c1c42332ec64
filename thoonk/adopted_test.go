package thoonk_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

// A worker of a released program that dies between taking an id out and noting its claim leaves the job nowhere.
func TestMaintainFindsJobsThatStandNowhere(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		p.nowhere(t, feed)
	})
}

func TestMaintainFindsJobsThatStandNowhereInTheContractsForm(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		released{kit: k}.nowhere(t, k.jobs("j"))
	})
}

func (p released) nowhere(t *testing.T, feed *jobs) {
	t.Helper()
	p.kit.put(feed, "lost", "claimed", "stalled", "waits")
	require.Equal(t, "lost", p.text("RPOP", "feed.ids:"+feed.Name()))
	claimed := p.claim(feed)
	require.NoError(t, feed.Stall(p.ctx(), p.claim(feed).Held))
	patient := thoonk.Patience{MaxAge: time.Hour}
	done, err := feed.Maintain(p.ctx(), patient)
	require.NoError(t, err)
	assert.Equal(t, thoonk.Maintained{Adopted: []string{"lost"}}, done)
	done, err = feed.Maintain(p.ctx(), patient)
	require.NoError(t, err)
	assert.Equal(t, thoonk.Maintained{}, done, "once")
	require.NoError(t, feed.Finish(p.ctx(), claimed.Held), "other claims stay")

	p.pass(2 * time.Millisecond)
	done, err = feed.Maintain(p.ctx(), thoonk.Patience{MaxAge: time.Millisecond})
	require.NoError(t, err)
	assert.Equal(t, []string{"lost"}, done.Cancelled, "it lapses like any other claim")
	assert.Equal(t, "waits", p.claim(feed).ID)
	claim := p.claim(feed)
	assert.Equal(t, "lost", claim.ID)
	assert.Equal(t, 1, claim.Cancelled)
	require.NoError(t, feed.Finish(p.ctx(), claim.Held))
}

// One that is alive, and slow to note its claim, has it all the same.
func TestWhoTakesAJobWhileItIsAdoptedHasIt(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		name := feed.Name()
		p.kit.put(feed, "a")
		p.text("RPOP", "feed.ids:"+name)
		_, err := feed.Maintain(p.ctx(), thoonk.Patience{MaxAge: time.Hour})
		require.NoError(t, err)
		p.cmd("ZADD", "feed.claimed:"+name, p.ms(), "a")
		p.finish(name, "a", `"r"`)
		done, err := feed.Maintain(p.ctx(), thoonk.Patience{MaxAge: time.Millisecond})
		require.NoError(t, err)
		assert.Empty(t, done.Cancelled)
		assert.Equal(t, "waiting, running, stalled", p.state(feed))
	})
}

// Maintenance by several, beside those who put, claim and end jobs: nothing is adopted that somebody has.
func TestNothingIsAdoptedThatMoves(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		var busy, watching sync.WaitGroup
		over := make(chan struct{})
		for range 2 {
			watching.Go(func() {
				for {
					done, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: time.Hour})
					assert.NoError(t, err)
					assert.Empty(t, done.Adopted)
					select {
					case <-over:
						return
					default:
					}
				}
			})
		}
		for n := range 4 {
			busy.Go(func() {
				for i := range 50 {
					_, err := feed.Put(k.ctx(), "x", thoonk.WithID(fmt.Sprintf("%d-%d", n, i)))
					assert.NoError(t, err)
					claim, err := feed.Get(k.ctx(), time.Minute)
					assert.NoError(t, err)
					if i%2 == 0 {
						assert.NoError(t, feed.Cancel(k.ctx(), claim.Held))
						claim, err = feed.Get(k.ctx(), time.Minute)
						assert.NoError(t, err)
					}
					assert.NoError(t, feed.Finish(k.ctx(), claim.Held))
				}
			})
		}
		busy.Wait()
		close(over)
		watching.Wait()
		assert.Equal(t, "waiting, running, stalled", k.state(feed))
	})
}

// In a feed with many jobs they are looked for where the counts disagree.
func TestJobsThatStandNowhereInALargeFeed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("j")
		const many = 10_001
		items, ids := make([]any, 0, 2*many), make([]any, 0, many)
		for i := range many {
			id := fmt.Sprintf("job %d", i)
			items, ids = append(items, id, `"x"`), append(ids, id)
		}
		k.cmd("HSET", "feed.items:j", items...)
		k.cmd("LPUSH", "feed.ids:j", ids...)
		maintain := func() []string {
			done, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: time.Hour})
			require.NoError(t, err)
			return done.Adopted
		}
		assert.Empty(t, maintain())
		k.cmd("LREM", "feed.ids:j", 1, "job 5000")
		assert.Equal(t, []string{"job 5000"}, maintain())
		assert.Empty(t, maintain())
	})
}

// A program that stands between two commands of its put when the job is adopted goes on, and the job runs once.
func TestAJobThatIsPutInWhileItIsAdoptedRunsOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		for _, form := range []thoonk.Form{thoonk.FormContract, thoonk.FormSorted, thoonk.FormHash} {
			name := "j" + string(form)
			k.create(name, thoonk.Config{Kind: thoonk.KindJob, Form: form})
			feed := k.jobsOf(k.client, name)
			k.cmd("HSET", "feed.items:"+name, "x", `"v"`)
			done, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: time.Hour})
			require.NoError(t, err)
			require.Equal(t, []string{"x"}, done.Adopted)
			k.cmd("LPUSH", "feed.ids:"+name, "x")
			k.pass(2 * time.Millisecond)
			_, err = feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: time.Millisecond})
			require.NoError(t, err)
			assert.Equal(t, "waiting x, running, stalled", k.state(feed), form)
		}
	})
}

// Maintenance of other programs may put a second copy of an id beside a claim.
func TestASecondCopyOfAClaimedJobIsDropped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		for _, form := range []thoonk.Form{thoonk.FormContract, thoonk.FormSorted, thoonk.FormHash} {
			name := "j" + string(form)
			k.create(name, thoonk.Config{Kind: thoonk.KindJob, Form: form})
			feed := k.jobsOf(k.client, name)
			k.put(feed, "x")
			first := k.claim(feed)
			k.cmd("LPUSH", "feed.ids:"+name, "x")
			_, err := feed.Get(k.ctx(), thoonk.NoWait)
			require.ErrorIs(t, err, thoonk.ErrEmpty, form)
			require.NoError(t, feed.Cancel(k.ctx(), first.Held), form)
			require.NoError(t, feed.Finish(k.ctx(), k.claim(feed).Held), "what was given back is claimed again")
		}
	})
}
