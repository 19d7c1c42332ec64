package thoonk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// kit is one prefix on one Redis, a client, and plain commands beside it.
type kit struct {
	t      *testing.T
	server redistest.Server
	prefix string
	client *thoonk.Client
	plain  redisconn.Driver
}

// each runs the test on the embedded Redis and on a real one.
func each(t *testing.T, test func(t *testing.T, k *kit)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, s redistest.Server) { test(t, newKit(t, s)) })
}

func newKit(t *testing.T, s redistest.Server) *kit {
	t.Helper()
	plain, err := redisconn.Open(s.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, plain.Close()) })
	k := &kit{t: t, server: s, prefix: redistest.Namespace(t) + ":", plain: plain}
	k.client = k.open(s.DSN())
	return k
}

// open makes one more client.
func (k *kit) open(dsn string, options ...thoonk.Option) *thoonk.Client {
	k.t.Helper()
	c, err := thoonk.Open(dsn, append([]thoonk.Option{thoonk.Prefix(k.prefix)}, options...)...)
	require.NoError(k.t, err)
	k.t.Cleanup(func() { assert.NoError(k.t, c.Close()) })
	return c
}

// ctx ends when patience does.
func (k *kit) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	k.t.Cleanup(cancel)
	return ctx
}

// cmd runs a plain command on a key below the prefix.
func (k *kit) cmd(command, key string, args ...any) any {
	k.t.Helper()
	value, err := redisconn.Do(k.ctx(), k.plain,
		redisconn.Call{Command: command, Keys: []string{k.prefix + key}, Args: args})
	require.NoError(k.t, err, "%s %s", command, key)
	return value
}

// keys are the names of all keys below the prefix, sorted, but for the counts, which stay with a feed.
func (k *kit) keys() []string {
	k.t.Helper()
	value, err := redisconn.Do(k.ctx(), k.plain, redisconn.Call{Command: "KEYS", Args: []any{k.prefix + "*"}})
	require.NoError(k.t, err)
	names := []string{}
	for _, name := range value.([]any) {
		if key := strings.TrimPrefix(string(name.([]byte)), k.prefix); !strings.HasPrefix(key, "feed.counts:") {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	return names
}

// pass lets time pass in Redis: the embedded clock is moved, a real one is waited for by a command that blocks.
func (k *kit) pass(d time.Duration) {
	k.t.Helper()
	if clock := k.server.Embedded(); clock != nil {
		clock.Advance(d)
		return
	}
	_, err := redisconn.Do(k.ctx(), k.plain, redisconn.Call{
		Command: "BLPOP", Keys: []string{k.prefix + "nothing"}, Args: []any{fmt.Sprintf("%.3f", d.Seconds())}, Block: d,
	})
	require.NoError(k.t, err)
}

func (k *kit) create(name string, config thoonk.Config) {
	k.t.Helper()
	require.NoError(k.t, k.client.Create(k.ctx(), name, config))
}

func (k *kit) leaf(name string, limit int) *thoonk.Leaf[string] {
	k.t.Helper()
	k.create(name, thoonk.Config{MaxLength: limit})
	leaf, err := thoonk.OpenLeaf[string](k.ctx(), k.client, name, nil)
	require.NoError(k.t, err)
	return leaf
}

func (k *kit) queue(name string) *thoonk.Queue[string] {
	k.t.Helper()
	k.create(name, thoonk.Config{Kind: thoonk.KindQueue})
	queue, err := thoonk.OpenQueue[string](k.ctx(), k.client, name, nil)
	require.NoError(k.t, err)
	return queue
}

type jobs = thoonk.JobFeed[string, string]

func (k *kit) jobs(name string) *jobs {
	k.t.Helper()
	k.create(name, thoonk.Config{Kind: thoonk.KindJob})
	return k.jobsOf(k.client, name)
}

func (k *kit) jobsOf(c *thoonk.Client, name string) *jobs {
	k.t.Helper()
	feed, err := thoonk.OpenJobFeed[string, string](k.ctx(), c, name, nil, nil)
	require.NoError(k.t, err)
	return feed
}

// claim claims the job at the front, which must be there.
func (k *kit) claim(feed *jobs) thoonk.Claim[string] {
	k.t.Helper()
	claim, err := feed.Get(k.ctx(), thoonk.NoWait)
	require.NoError(k.t, err)
	return claim
}

// listen subscribes, and returns the events once the subscription stands. The loop ends with the test.
func (k *kit) listen(c *thoonk.Client, w thoonk.Watch) <-chan thoonk.Event {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	events, err := c.Subscribe(ctx, w)
	require.NoError(k.t, err)
	heard, ended := make(chan thoonk.Event, 100), make(chan struct{})
	go func() {
		defer close(ended)
		for event := range events {
			heard <- event
		}
	}()
	k.t.Cleanup(func() {
		cancel()
		<-ended
	})
	require.Equal(k.t, thoonk.Connected, k.next(heard).What)
	return heard
}

func (k *kit) next(events <-chan thoonk.Event) thoonk.Event {
	k.t.Helper()
	return receive(k.t, events)
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		require.FailNow(t, "nothing came in time")
		panic("not reached")
	}
}
