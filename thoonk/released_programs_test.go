package thoonk_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/thoonk"
)

// released is one of the programs that others have: its methods send the commands that it was seen to send.
type released struct {
	*kit
	form thoonk.Form
}

// eachReleased runs the test beside thoonk.js 0.2 and beside thoonk.py 1.0.
func eachReleased(t *testing.T, test func(t *testing.T, p released)) {
	t.Helper()
	for name, form := range map[string]thoonk.Form{"thoonk.js": thoonk.FormSorted, "thoonk.py": thoonk.FormHash} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) { test(t, released{k, form}) })
		})
	}
}

func (p released) python() bool { return p.form == thoonk.FormHash }

// ms is the time of Redis, which stands for the clock of the program.
func (p released) ms() int64 {
	p.t.Helper()
	now, err := redisconn.Do(p.ctx(), p.plain, redisconn.Call{Command: "TIME"})
	require.NoError(p.t, err)
	parts := now.([]any)
	seconds, err := strconv.ParseInt(string(parts[0].([]byte)), 10, 64)
	require.NoError(p.t, err)
	micros, err := strconv.ParseInt(string(parts[1].([]byte)), 10, 64)
	require.NoError(p.t, err)
	return seconds*1000 + micros/1000
}

// create makes a feed.
func (p released) create(feed string, kind thoonk.Kind) {
	p.t.Helper()
	p.cmd("SADD", "feeds", feed)
	if p.python() {
		p.cmd("HSET", "feed.config:"+feed, "type", string(kind))
		p.cmd("PUBLISH", "newfeed", feed+"\x00them")
		p.cmd("PUBLISH", "conffeed", feed+"\x00them")
		return
	}
	config, err := json.Marshal(map[string]thoonk.Kind{"type": kind})
	require.NoError(p.t, err)
	p.cmd("SET", "feed.config:"+feed, config)
	p.cmd("PUBLISH", "newfeed", feed+"\x00them")
}

// publish puts an item into a leaf.
func (p released) publish(feed, id, item string) {
	p.t.Helper()
	score := strconv.FormatInt(p.ms(), 10)
	if p.python() {
		score = strconv.FormatFloat(float64(p.ms())/1000, 'f', 3, 64)
	}
	channel := "feed.edit:"
	if p.cmd("ZADD", "feed.ids:"+feed, score, id) == int64(1) {
		channel = "feed.publish:"
	}
	p.cmd("INCR", "feed.publishes:"+feed)
	p.cmd("HSET", "feed.items:"+feed, id, item)
	p.cmd("PUBLISH", channel+feed, id+"\x00"+item)
}

// ids are those of a leaf, the oldest first, as they have it.
func (p released) ids(feed string) []string { return p.texts("ZRANGE", "feed.ids:"+feed, 0, -1) }

func (p released) texts(command, key string, args ...any) []string {
	p.t.Helper()
	list := []string{}
	for _, one := range p.cmd(command, key, args...).([]any) {
		list = append(list, string(one.([]byte)))
	}
	return list
}

func (p released) text(command, key string, args ...any) string {
	p.t.Helper()
	value, _ := p.cmd(command, key, args...).([]byte)
	return string(value)
}

// retract removes an item of a leaf.
func (p released) retract(feed, id string) {
	p.t.Helper()
	require.NotNil(p.t, p.cmd("ZRANK", "feed.ids:"+feed, id))
	p.cmd("ZREM", "feed.ids:"+feed, id)
	p.cmd("HDEL", "feed.items:"+feed, id)
	p.cmd("PUBLISH", "feed.retract:"+feed, id)
}

// put puts a job, or an item of a queue.
func (p released) put(feed, id, item string, job bool) {
	p.t.Helper()
	p.cmd("LPUSH", "feed.ids:"+feed, id)
	p.cmd("INCR", "feed.publishes:"+feed)
	p.cmd("HSET", "feed.items:"+feed, id, item)
	if !job {
		return
	}
	p.cmd("ZADD", "feed.published:"+feed, p.ms(), id)
	if p.python() {
		p.cmd("PUBLISH", "feed.publishes:"+feed, id+"\x00"+item)
	}
}

// get claims the job at the front.
func (p released) get(feed string) (id, item string) {
	p.t.Helper()
	id = p.text("RPOP", "feed.ids:"+feed)
	p.cmd("ZADD", "feed.claimed:"+feed, p.ms(), id)
	item = p.text("HGET", "feed.items:"+feed, id)
	if p.python() {
		p.cmd("HGET", "feed.cancelled:"+feed, id)
		p.cmd("PUBLISH", "feed.claimed:"+feed, id)
	}
	return id, item
}

// holds tells whether a job is claimed, as they ask before they end a claim.
func (p released) holds(feed, id string) bool {
	p.t.Helper()
	return p.cmd("ZRANK", "feed.claimed:"+feed, id) != nil
}

// finish ends a job with a result.
func (p released) finish(feed, id, result string) {
	p.t.Helper()
	require.True(p.t, p.holds(feed, id))
	p.cmd("ZREM", "feed.claimed:"+feed, id)
	p.cmd("HDEL", "feed.cancelled:"+feed, id)
	if p.python() {
		p.cmd("ZREM", "feed.published:"+feed, id)
		p.cmd("INCR", "feed.finishes:"+feed)
		p.cmd("PUBLISH", "job.finish:"+feed, id+"\x00"+result)
	} else {
		p.cmd("LPUSH", "feed.jobfinished:"+feed+"\x00"+id, result)
		p.cmd("EXPIRE", "feed.jobfinished:"+feed+"\x00"+id, 60)
	}
	p.cmd("HDEL", "feed.items:"+feed, id)
}

func (p released) cancel(feed, id string) {
	p.t.Helper()
	require.True(p.t, p.holds(feed, id))
	p.cmd("HINCRBY", "feed.cancelled:"+feed, id, 1)
	p.cmd("LPUSH", "feed.ids:"+feed, id)
	p.cmd("ZREM", "feed.claimed:"+feed, id)
}

func (p released) stall(feed, id string) {
	p.t.Helper()
	require.True(p.t, p.holds(feed, id))
	p.cmd("ZREM", "feed.claimed:"+feed, id)
	p.cmd("HDEL", "feed.cancelled:"+feed, id)
	p.cmd("SADD", "feed.stalled:"+feed, id)
	p.cmd("ZREM", "feed.published:"+feed, id)
}

func (p released) retry(feed, id string) {
	p.t.Helper()
	require.Equal(p.t, int64(1), p.cmd("SISMEMBER", "feed.stalled:"+feed, id))
	p.cmd("SREM", "feed.stalled:"+feed, id)
	p.cmd("LPUSH", "feed.ids:"+feed, id)
	p.cmd("ZADD", "feed.published:"+feed, p.ms(), id)
}

// withdraw removes a job, as thoonk.py does it.
func (p released) withdraw(feed, id string) {
	p.t.Helper()
	p.cmd("HDEL", "feed.items:"+feed, id)
	p.cmd("HDEL", "feed.cancelled:"+feed, id)
	p.cmd("ZREM", "feed.published:"+feed, id)
	p.cmd("SREM", "feed.stalled:"+feed, id)
	p.cmd("ZREM", "feed.claimed:"+feed, id)
	p.cmd("LREM", "feed.ids:"+feed, 1, id)
}

// maintain gives back what is in no list, as thoonk.py does it, and returns how many those were.
func (p released) maintain(feed string) int {
	p.t.Helper()
	accounted := map[string]bool{}
	for _, ids := range [][]string{
		p.texts("LRANGE", "feed.ids:"+feed, 0, -1), p.texts("ZRANGE", "feed.claimed:"+feed, 0, -1),
		p.texts("SMEMBERS", "feed.stalled:"+feed),
	} {
		for _, id := range ids {
			accounted[id] = true
		}
	}
	lost := 0
	for _, id := range p.texts("HKEYS", "feed.items:"+feed) {
		if !accounted[id] {
			p.cmd("LPUSH", "feed.ids:"+feed, id)
			lost++
		}
	}
	return lost
}

// ours is a job feed in their form that this package has created.
func (p released) ours(feed string) *jobs {
	p.t.Helper()
	p.kit.create(feed, thoonk.Config{Kind: thoonk.KindJob, Form: p.form})
	return p.jobsOf(p.client, feed)
}

// theirs is a job feed that the program has created.
func (p released) theirs(feed string) *jobs {
	p.t.Helper()
	p.create(feed, thoonk.KindJob)
	p.cmd("SET", "feed.publishes:"+feed, 1) // it was used before
	return p.jobsOf(p.client, feed)
}

// eitherCreates runs the test with a job feed of theirs and with one of ours.
func eitherCreates(t *testing.T, test func(t *testing.T, p released, feed *jobs)) {
	t.Helper()
	eachReleased(t, func(t *testing.T, p released) {
		t.Run("theirs", func(t *testing.T) { test(t, released{p.on(t), p.form}, p.theirs("theirs")) })
		t.Run("ours", func(t *testing.T) { test(t, released{p.on(t), p.form}, p.ours("ours")) })
	})
}

// on is the kit for a part of its test.
func (k *kit) on(t *testing.T) *kit {
	part := *k
	part.t = t
	return &part
}

// hear returns the messages of a channel, as another program hears them.
func (k *kit) hear(channel string) <-chan string {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	heard, stands, ended := make(chan string, 100), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = k.plain.SubscribeAll(ctx, []string{k.prefix + channel}, func() { close(stands) },
			func(_ string, message []byte) { heard <- string(message) })
	}()
	k.t.Cleanup(func() {
		cancel()
		<-ended
	})
	receive(k.t, stands)
	return heard
}

func assertGone(t *testing.T, err error) {
	t.Helper()
	assert.ErrorIs(t, err, thoonk.ErrGone)
}
