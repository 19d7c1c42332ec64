package thoonk_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

// maintainAll has several maintain a feed at once, and returns what they gave back and what they stalled.
func (k *kit) maintainAll(feed *jobs, patience thoonk.Patience) (back, stalled []string) {
	k.t.Helper()
	var all sync.WaitGroup
	done := make([]thoonk.Maintained, 3)
	for i := range done {
		all.Go(func() {
			var err error
			done[i], err = feed.Maintain(k.ctx(), patience)
			assert.NoError(k.t, err)
		})
	}
	all.Wait()
	for _, d := range done {
		back, stalled = append(back, d.Cancelled...), append(stalled, d.Stalled...)
	}
	slices.Sort(back)
	return back, stalled
}

// Programs of both makes die with their claims. Nobody gives back what is young, and Maintain gives the rest back once,
// to whoever comes: that of ours and that of theirs.
func TestClaimsOfTheDeadComeBackOnce(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		name, young := feed.Name(), thoonk.Patience{MaxAge: time.Hour}
		p.kit.put(feed, "a", "b")
		theirs, _ := p.get(name)
		ours := p.claim(feed)
		assert.Equal(t, 0, p.maintain(name), "their maintenance knows our claim")
		back, _ := p.maintainAll(feed, young)
		assert.Empty(t, back)

		p.pass(20 * time.Millisecond)
		back, _ = p.maintainAll(feed, thoonk.Patience{MaxAge: 10 * time.Millisecond})
		assert.Equal(t, []string{"a", "b"}, back)
		assert.False(t, p.holds(name, theirs))
		assertGone(t, feed.Finish(p.ctx(), ours.Held))
		assert.Equal(t, 0, p.maintain(name))
		assert.Equal(t, []string{"1", "1"}, p.texts("HVALS", "feed.cancelled:"+name))
		assert.Len(t, p.texts("LRANGE", "feed.ids:"+name, 0, -1), 2)

		first, _ := p.get(name)
		p.finish(name, first, `"late"`)
		require.NoError(t, feed.Finish(p.ctx(), p.claim(feed).Held))
		assert.Equal(t, "waiting, running, stalled", p.state(feed))
		assert.Equal(t, int64(0), p.cmd("EXISTS", "feed.tokens:"+name))
	})
}

func TestTheDeadOfReleasedProgramsAreStalledAtLast(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		name := feed.Name()
		p.kit.put(feed, "a")
		patience := thoonk.Patience{MaxAge: time.Millisecond, MaxCancels: 1}
		p.get(name)
		p.pass(5 * time.Millisecond)
		back, stalled := p.maintainAll(feed, patience)
		assert.Equal(t, []string{"a"}, back)
		assert.Empty(t, stalled)
		p.get(name)
		p.pass(5 * time.Millisecond)
		back, stalled = p.maintainAll(feed, patience)
		assert.Empty(t, back)
		assert.Equal(t, []string{"a"}, stalled)
		assert.Equal(t, []string{"a"}, p.texts("SMEMBERS", "feed.stalled:"+name))
		assert.Empty(t, p.texts("ZRANGE", "feed.published:"+name, 0, -1))
		p.retry(name, "a")
		assert.Equal(t, 0, p.claim(feed).Cancelled, "with it they forget how often it was cancelled")
	})
}

// What they retract or end leaves nothing of our claim that could be taken for a later one.
func TestWhatIsLeftOfAClaimGoes(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		name := feed.Name()
		p.kit.put(feed, "a", "b", "c")
		for range 3 {
			p.claim(feed)
		}
		p.withdraw(name, "a")
		p.finish(name, "b", `"r"`)
		p.cancel(name, "c")
		assert.Equal(t, int64(3), p.cmd("HLEN", "feed.tokens:"+name))
		back, _ := p.maintainAll(feed, thoonk.Patience{MaxAge: time.Hour})
		assert.Empty(t, back)
		assert.Equal(t, int64(0), p.cmd("EXISTS", "feed.tokens:"+name))
	})
}

// A claim that got no answer is found by its token, in either form.
func TestALostAnswerIsFoundInASortedSet(t *testing.T) {
	t.Parallel()
	eachReleased(t, func(t *testing.T, p released) {
		feed := p.ours("a")
		p.kit.put(feed, "w", "x", "y")
		p.claim(feed) // Redis knows the script now
		p.get("a")    // of theirs
		proxy := redistest.NewProxy(t, p.server.Addr())
		through := p.jobsOf(p.open(proxy.DSN()), "a")
		swallowed := proxy.SwallowReply("feed.tokens:a")
		claim, err := through.Get(p.ctx(), thoonk.NoWait)
		require.NoError(t, err)
		receive(t, swallowed)
		assert.Equal(t, "y", claim.ID)
		require.NoError(t, feed.Finish(p.ctx(), claim.Held))
	})
}
