package thoonk_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/thoonk"
)

// What follows are the commands of the document, as programs of another make send them, on the same feeds as ours.

func TestOtherProgramsPutAndWeTake(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.cmd("SADD", "feeds", "a")
		k.cmd("SET", "feed.config:a", `{"type": "queue", "max_length": null}`)
		queue := k.queueOf(k.client, "a")
		for _, id := range []string{"1", "2"} {
			k.cmd("LPUSH", "feed.ids:a", id)
			k.cmd("HSET", "feed.items:a", id, `"item `+id+`"`)
		}
		_, err := queue.Put(k.ctx(), "ours")
		require.NoError(t, err)
		assert.Equal(t, []string{"item 1", "item 2", "ours"}, k.drain(queue))
	})
}

func TestWePutAndOtherProgramsTake(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		queue := k.queue("a")
		_, err := queue.Put(k.ctx(), "one", thoonk.WithID("x"))
		require.NoError(t, err)
		popped := k.cmd("BRPOP", "feed.ids:a", 1).([]any)
		assert.Equal(t, "x", string(popped[1].([]byte)))
		assert.Equal(t, `"one"`, string(k.cmd("HGET", "feed.items:a", "x").([]byte)))
		k.cmd("HDEL", "feed.items:a", "x")
		assert.Empty(t, k.drain(queue))
	})
}

func TestOtherProgramsFinishOurJobs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x")
		client, waits := k.waiter(k.server.DSN())
		results := make(chan result, 1)
		go func() {
			got, err := k.jobsOf(client, "a").Result(k.ctx(), "x", 0)
			assert.NoError(t, err)
			results <- got
		}()
		receive(t, waits)
		k.claimAsOthers("a")
		k.cmd("LREM", "feed.running:a", 1, "x")
		k.cmd("HDEL", "feed.claimed:a", "x")
		k.cmd("RPUSH", "feed.jobfinished:a:x", "\"item x\"\x00\"theirs\"")
		k.cmd("HDEL", "feed.items:a", "x")
		assert.Equal(t, result{Item: "item x", Result: "theirs"}, receive(t, results))
	})
}

// claimAsOthers claims the job at the front.
func (k *kit) claimAsOthers(feed string) {
	k.t.Helper()
	id := k.cmd("BRPOPLPUSH", "feed.ids:"+feed, k.prefix+"feed.running:"+feed, 1).([]byte)
	k.cmd("HSET", "feed.claimed:"+feed, id, "1700000000.5")
}

func TestClaimsOfOtherProgramsEndHere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x", "y")
		k.claimAsOthers("a")
		running, err := feed.Running(k.ctx())
		require.NoError(t, err)
		require.Len(t, running, 1)
		assert.Equal(t, time.Unix(1_700_000_000, 0), running[0].At)
		require.NoError(t, feed.Cancel(k.ctx(), running[0]))
		assert.Equal(t, "waiting y x, running, stalled", k.state(feed))
	})
}

// Times in seconds are as old as they say.
func TestYoungClaimsOfOtherProgramsStay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x")
		k.claimAsOthers("a")
		k.cmd("HSET", "feed.claimed:a", "x", strconv.FormatInt(time.Now().Unix(), 10)+".5")
		done, err := feed.Maintain(k.ctx(), thoonk.Patience{MaxAge: time.Hour})
		require.NoError(t, err)
		assert.Empty(t, done)
		assert.Equal(t, "waiting, running x, stalled", k.state(feed))
	})
}

// The document's cancel leaves the time of the claim behind: it must not count for the next one.
func TestOtherProgramsCancelOurClaims(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		k.put(feed, "x")
		claim := k.claim(feed)
		k.cmd("LREM", "feed.running:a", 1, "x")
		k.cmd("HINCRBY", "feed.cancelled:a", "x", 1)
		k.cmd("LPUSH", "feed.ids:a", "x")
		require.ErrorIs(t, feed.Finish(k.ctx(), claim.Held), thoonk.ErrGone)
		again := k.claim(feed)
		assert.Equal(t, 1, again.Cancelled)
		require.ErrorIs(t, feed.Finish(k.ctx(), claim.Held), thoonk.ErrGone)
		require.NoError(t, feed.Finish(k.ctx(), again.Held))
	})
}

// The ids that others choose are not ours to refuse: a job that was claimed can be ended, and only its result has no
// place.
func TestJobsWithIDsOfOtherProgramsEnd(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"colon": "user:7", "NUL": "user\x007", "empty": "",
		"long": strings.Repeat("x", thoonk.MaxName+1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				feed := k.jobs("a")
				k.cmd("HSET", "feed.items:a", id, `"theirs"`)
				k.cmd("LPUSH", "feed.ids:a", id)
				require.NoError(t, feed.Cancel(k.ctx(), k.claim(feed).Held))
				require.NoError(t, feed.Stall(k.ctx(), k.claim(feed).Held))
				require.NoError(t, feed.Retry(k.ctx(), id))
				claim := k.claim(feed)
				assert.Equal(t, id, claim.ID)
				var refused *thoonk.NameError
				require.ErrorAs(t, feed.FinishWith(k.ctx(), claim.Held, "result", 0), &refused)
				assert.Equal(t, id, refused.Name)
				require.NoError(t, feed.Finish(k.ctx(), claim.Held))
				assert.Equal(t, []string{"feed.config:a", "feeds"}, k.keys())
			})
		})
	}
}
