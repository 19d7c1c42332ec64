package thoonk_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

func TestReleasedProgramsPutJobsAndWeEndThem(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		name := feed.Name()
		for _, id := range []string{"f", "c", "s", "r"} {
			p.put(name, id, `"item `+id+`"`, true)
		}
		claims := map[string]thoonk.Claim[string]{}
		for range 4 {
			claim := p.claim(feed)
			assert.Equal(t, "item "+claim.ID, claim.Item)
			assert.WithinDuration(t, time.UnixMilli(p.ms()), claim.At, time.Minute)
			assert.True(t, p.holds(name, claim.ID), "they see our claim")
			claims[claim.ID] = claim
		}
		require.NoError(t, feed.FinishWith(p.ctx(), claims["f"].Held, "done", 0))
		require.NoError(t, feed.Cancel(p.ctx(), claims["c"].Held))
		require.NoError(t, feed.Stall(p.ctx(), claims["s"].Held))
		require.NoError(t, feed.Retract(p.ctx(), "r"))
		for id := range claims {
			assert.False(t, p.holds(name, id), id)
			assertGone(t, feed.Finish(p.ctx(), claims[id].Held))
		}
		assert.Equal(t, []string{"c"}, p.texts("LRANGE", "feed.ids:"+name, 0, -1))
		assert.Equal(t, "1", p.text("HGET", "feed.cancelled:"+name, "c"))
		assert.Equal(t, []string{"s"}, p.texts("SMEMBERS", "feed.stalled:"+name))
		assert.Equal(t, []string{"c"}, p.texts("ZRANGE", "feed.published:"+name, 0, -1))
		assert.Equal(t, "1", p.text("GET", "feed.finishes:"+name))
		assert.ElementsMatch(t, []string{"c", "s"}, p.texts("HKEYS", "feed.items:"+name))
		assert.Equal(t, int64(0), p.cmd("EXISTS", "feed.tokens:"+name))
		assert.Equal(t, "waiting c, running, stalled s", p.state(feed))
		p.retry(name, "s")
		again := p.claim(feed)
		assert.Equal(t, 1, again.Cancelled)
		assert.Equal(t, 0, p.claim(feed).Cancelled)
	})
}

func TestWePutJobsAndReleasedProgramsEndThem(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		name := feed.Name()
		before := p.count(name)
		p.kit.put(feed, "f", "c", "s", "r")
		assert.Equal(t, before+4, p.count(name))
		assert.ElementsMatch(t, []string{"f", "c", "s", "r"}, p.texts("ZRANGE", "feed.published:"+name, 0, -1))
		for range 4 {
			id, item := p.get(name)
			assert.Equal(t, `"item `+id+`"`, item)
		}
		running, err := feed.Running(p.ctx())
		require.NoError(t, err)
		assert.Len(t, running, 4)
		p.finish(name, "f", `"theirs"`)
		p.cancel(name, "c")
		p.stall(name, "s")
		p.withdraw(name, "r")
		assert.Equal(t, "waiting c, running, stalled s", p.state(feed))
		claim := p.claim(feed)
		assert.Equal(t, 1, claim.Cancelled)
		require.NoError(t, feed.Retry(p.ctx(), "s"))
		assert.Equal(t, "waiting s, running c, stalled", p.state(feed))
		assert.Contains(t, p.texts("ZRANGE", "feed.published:"+name, 0, -1), "s")
		require.ErrorIs(t, feed.Retry(p.ctx(), "s"), thoonk.ErrNotStalled)
	})
}

// count is how often something was put.
func (p released) count(feed string) int {
	n, _ := p.cmd("INCRBY", "feed.publishes:"+feed, 0).(int64)
	return int(n)
}

// The claims of either side are those of one feed: each can end those of the other.
func TestClaimsOfReleasedProgramsEndHere(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		name := feed.Name()
		p.kit.put(feed, "x", "y", "z")
		for range 3 {
			p.get(name)
		}
		running, err := feed.Running(p.ctx())
		require.NoError(t, err)
		held := map[string]thoonk.Held{}
		for _, h := range running {
			assert.WithinDuration(t, time.UnixMilli(p.ms()), h.At, time.Minute)
			held[h.ID] = h
		}
		require.NoError(t, feed.Cancel(p.ctx(), held["x"]))
		require.NoError(t, feed.Stall(p.ctx(), held["y"]))
		require.NoError(t, feed.FinishWith(p.ctx(), thoonk.Held{ID: "z"}, "of any claim", 0))
		assert.False(t, p.holds(name, "z"))
		assert.Equal(t, "waiting x, running, stalled y", p.state(feed))
	})
}

// Ours is a claim of its own: not the one that they got after they had cancelled it, be it in the same ms.
func TestAClaimIsNotTheNextOneOfAReleasedProgram(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		name := feed.Name()
		p.kit.put(feed, "x")
		claim := p.claim(feed)
		p.cancel(name, "x")
		p.text("RPOP", "feed.ids:"+name)
		p.cmd("ZADD", "feed.claimed:"+name, claim.At.UnixMilli(), "x")
		assertGone(t, feed.Finish(p.ctx(), claim.Held))
		assertGone(t, feed.Cancel(p.ctx(), claim.Held))
		assertGone(t, feed.Stall(p.ctx(), claim.Held))
		assert.True(t, p.holds(name, "x"))
		running, err := feed.Running(p.ctx())
		require.NoError(t, err)
		require.Len(t, running, 1)
		require.NoError(t, feed.Finish(p.ctx(), running[0]), "the claim that there is")
	})
}

// A result that we store is where thoonk.js takes it, and that of thoonk.js is found here; thoonk.py stores none.
func TestResultsOfReleasedPrograms(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		name := feed.Name()
		p.kit.put(feed, "ours", "theirs")
		require.NoError(t, feed.FinishWith(p.ctx(), p.claim(feed).Held, "of ours", time.Hour))
		got, err := feed.Result(p.ctx(), "ours", thoonk.NoWait)
		require.NoError(t, err)
		assert.Equal(t, result{Item: "item ours", Result: "of ours"}, got)
		taken := "feed.jobfinished:" + name + "\x00ours"
		if p.python() {
			assert.Equal(t, int64(0), p.cmd("EXISTS", taken))
			return
		}
		assert.InDelta(t, time.Hour.Seconds(), p.cmd("TTL", taken), 60)
		assert.Equal(t, `"of ours"`, p.text("LPOP", taken))
		_, err = feed.Result(p.ctx(), "ours", thoonk.NoWait)
		require.NoError(t, err, "it is still here for us")

		client, waits := p.waiter(p.server.DSN())
		results := make(chan result, 1)
		go func() {
			// shorter than a wait in Redis lasts: who is not woken finds nothing
			got, err := p.jobsOf(client, name).Result(p.ctx(), "theirs", 4*time.Second)
			assert.NoError(t, err)
			results <- got
		}()
		receive(t, waits)
		id, _ := p.get(name)
		p.finish(name, id, `"of theirs"`)
		assert.Equal(t, result{Result: "of theirs"}, receive(t, results), "without the item, which they keep no more")
	})
}

func TestEventsOfJobsAreThoseOfReleasedPrograms(t *testing.T) {
	t.Parallel()
	eitherCreates(t, func(t *testing.T, p released, feed *jobs) {
		name := feed.Name()
		events := p.listen(p.client, thoonk.Watch{Feeds: []string{name}})
		channel := map[bool]string{true: "feed.publishes:", false: "feed.publish:"}[p.python()]
		put, ended := p.hear(channel+name), p.hear("job.finish:"+name)
		claimed := p.hear("feed.claimed:" + name)
		p.kit.put(feed, "x", "y")
		for _, id := range []string{"x", "y"} {
			assert.Equal(t, id+"\x00"+`"item `+id+`"`, receive(t, put))
			assert.Equal(t, thoonk.Event{What: thoonk.Published, Feed: name, ID: id, Item: []byte(`"item ` + id + `"`)},
				p.next(events))
		}
		require.NoError(t, feed.FinishWith(p.ctx(), p.claim(feed).Held, "r", 0))
		require.NoError(t, feed.Finish(p.ctx(), p.claim(feed).Held))
		assert.Equal(t, []string{"x", "y"}, []string{receive(t, claimed), receive(t, claimed)})
		assert.Equal(t, "x\x00"+`"r"`, receive(t, ended))
		assert.Equal(t, "y\x00", receive(t, ended), "thoonk.py splits it at the NUL, and dies where there is none")
		assert.Equal(t, thoonk.Event{What: thoonk.Claimed, Feed: name, ID: "x"}, p.next(events))
		assert.Equal(t, []byte(`"r"`), p.next(events).Item)
		assert.Equal(t, thoonk.Event{What: thoonk.Claimed, Feed: name, ID: "y"}, p.next(events))
		assert.Equal(t, thoonk.Event{What: thoonk.Finished, Feed: name, ID: "y"}, p.next(events))
	})
}
