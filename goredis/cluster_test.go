package goredis

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redisconn/drivertest"
	"github.com/265d0351/work/internal/redistest"
)

func driverOf(t *testing.T, m *members) redisconn.Driver {
	t.Helper()
	d, err := Connection(m.client()).Driver()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

func increment(key string) redisconn.Call {
	return redisconn.Call{Command: "INCR", Keys: []string{key}}
}

func TestSlotsAreThoseOfRedis(t *testing.T) {
	t.Parallel()
	m := startCluster(t, 1)
	for _, key := range []string{"", "a", "123456789", "{a}b", "x{a}y{b}", "{}a", "{a", "a}{b}", "{{a}}",
		"{shop/3}:ready", "\x00\xff{ü}"} {
		assert.Equal(t, m.do(0, "CLUSTER", "KEYSLOT", key), int64(slotOfKey(key)), key)
	}
	for s := range slots {
		require.Equal(t, s, slotOfKey(keyIn(s)))
	}
}

func TestKeysOfACall(t *testing.T) {
	t.Parallel()
	for want, call := range map[string]redisconn.Call{
		"[a b]": {Command: "DEL", Args: []any{"a", []byte("b")}},
		"[a]":   {Command: "hget", Args: []any{"a", "b"}},
		"[k]":   {Command: "HGET", Keys: []string{"k"}, Args: []any{"a"}},
		"[q]":   {Command: "BLPOP", Args: []any{"q", "1"}},
		"[s d]": {Command: "BLMOVE", Args: []any{"s", "d", "LEFT", "LEFT", "1"}},
		"[m]":   {Command: "MEMORY", Args: []any{"USAGE", "m"}},
		"[]":    {Command: "PUBLISH", Args: []any{"a", "b"}},
		"[z]":   {Script: &redisconn.Script{}, Keys: []string{"z"}, Args: []any{"b"}},
	} {
		assert.Equal(t, want, fmt.Sprint(keysOf(&call)))
	}
	for _, call := range []redisconn.Call{{Command: "TIME"}, {Command: "GET"},
		{Command: "MEMORY", Args: []any{"DOCTOR"}}, {Command: "BLPOP"}, {Command: "DEL"},
		{Script: &redisconn.Script{}, Args: []any{"b"}}} {
		assert.Empty(t, keysOf(&call), call.Command)
	}
}

// Each slot is its server's, calls without keys are about the server of the last one, and two slots are refused.
func TestAClusterIsSpokenToBySlot(t *testing.T) {
	t.Parallel()
	m := startCluster(t, 3)
	d := driverOf(t, m)
	for i := range m.clients {
		key := keyIn(slot((2*i + 1) * int(slots) / 6))
		drivertest.Do(t, d, "SET", key, "v")
		assert.Equal(t, int64(1), m.do(i, "EXISTS", key))
		assert.Equal(t, []byte(m.ids[i]), drivertest.Do(t, d, "CLUSTER", "MYID"))
		conn, err := d.Dial(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []byte(m.ids[i]), drivertest.Do(t, conn, "CLUSTER", "MYID"))
		drivertest.Do(t, conn, "GET", keyIn(0))
		assert.Equal(t, []byte(m.ids[0]), drivertest.Do(t, conn, "CLUSTER", "MYID"), "it went there")
		require.NoError(t, conn.Close())
	}
	_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "SET", Keys: []string{"a"}, Args: []any{"v"}},
		redisconn.Call{Command: "GET", Args: []any{"b"}})
	require.ErrorContains(t, err, `GET has the key "b" of slot 3300, and "a" is of slot 15495`)
	assert.Nil(t, drivertest.Do(t, d, "GET", "a"), "nothing of it was sent")
}

// A server that does not have a slot any more has not run the call: it is taken to the one that has, once.
func TestASlotThatMovedIsFollowed(t *testing.T) {
	t.Parallel()
	m := startCluster(t, 2)
	d := driverOf(t, m)
	const tag = "{shop}"
	s := slotOfKey(tag)
	drivertest.Do(t, d, "EXISTS", tag) // go-redis knows the servers now
	conn, err := d.Dial(t.Context())
	require.NoError(t, err)
	defer func() { conn.Close() }() //lint:ignore errcheck the end of the test
	drivertest.Do(t, conn, "EXISTS", tag)

	m.give(s, 1-m.owner(s))
	script := drivertest.Script(t, `return redis.call('INCR', KEYS[1])`)
	replies, err := d.Pipeline(t.Context(), increment(tag), redisconn.Call{Script: script, Keys: []string{tag}},
		redisconn.Call{Command: "WAIT", Args: []any{0, 1}})
	require.NoError(t, err)
	assert.Equal(t, []redisconn.Reply{{Value: int64(1)}, {Value: int64(2)}, {Value: int64(0)}}, replies)
	drivertest.Do(t, conn, "INCR", tag) // the connection of one's own goes there too
	assert.Equal(t, "3", m.do(1-m.owner(s), "GET", tag))

	drivertest.Do(t, d, "DEL", tag)
	m.give(s, m.owner(s))
	replies, err = conn.Pipeline(t.Context(), increment(tag))
	require.NoError(t, err)
	require.ErrorContains(t, replies[0].Err, "MOVED", "one who asks over a connection of its own is told")
	assert.True(t, redisconn.Passes(replies[0].Err))
	assert.True(t, conn.Broken())
	require.NoError(t, conn.Close())
	conn, err = d.Dial(t.Context())
	require.NoError(t, err)
	drivertest.Do(t, conn, "INCR", tag)
	assert.Equal(t, "1", m.do(m.owner(s), "GET", tag))
}

// Who listens to a slot that was given away is told, asks anew, and hears what scripts tell there.
func TestASubscriptionFollowsItsSlot(t *testing.T) {
	t.Parallel()
	m := startCluster(t, 2)
	d := driverOf(t, m)
	const channel = "{shop}:control"
	s := slotOfKey(channel)
	for _, by := range []int{m.owner(s), 1 - m.owner(s)} {
		ready, heard, ended := make(chan struct{}), make(chan string, 1), make(chan error, 1)
		go func() {
			ended <- d.Subscribe(t.Context(), channel, func() { close(ready) }, func(m []byte) { heard <- string(m) })
		}()
		select {
		case <-ready:
		case err := <-ended:
			require.FailNow(t, "it never stood", "%v", err)
		}
		assert.Equal(t, []any{channel}, m.do(by, "PUBSUB", "SHARDCHANNELS"))
		assert.Equal(t, int64(1), m.do(by, "EVAL", `return redis.call('SPUBLISH', KEYS[1], 'due')`, 1, channel))
		assert.Equal(t, "due", <-heard)
		m.give(s, 1-by)
		require.ErrorContains(t, <-ended, "the slot of \"{shop}:control\" was given to another server")
		drivertest.Do(t, d, "EXISTS", channel) // the look after it: it goes to the new one
	}
}

// What ran in part is not sent again, and neither is a transaction: the caller is told what did not run.
func TestOnlyAPipelineThatMovedWholeIsSentAgain(t *testing.T) {
	t.Parallel()
	elsewhere := redisconn.Reply{Err: &redisconn.ServerError{Code: "MOVED"}}
	full := redisconn.Reply{Err: &redisconn.ServerError{Code: "OOM"}}
	for name, row := range map[string]struct {
		commands []string
		replies  []redisconn.Reply
		want     bool
	}{
		"all":               {[]string{"SET", "GET"}, []redisconn.Reply{elsewhere, elsewhere}, true},
		"with its wait":     {[]string{"SET", "WAIT"}, []redisconn.Reply{elsewhere, {Value: int64(0)}}, true},
		"the second ran":    {[]string{"SET", "SET"}, []redisconn.Reply{elsewhere, {Value: "OK"}}, false},
		"a transaction":     {[]string{"MULTI", "SET"}, []redisconn.Reply{{Value: "OK"}, elsewhere}, false},
		"the other is full": {[]string{"SET", "SET"}, []redisconn.Reply{elsewhere, full}, false},
	} {
		calls := make([]redisconn.Call, len(row.commands))
		for i, command := range row.commands {
			calls[i].Command = command
		}
		assert.Equal(t, row.want, movedWhole(calls, row.replies), name)
	}
}

func TestJobsOnACluster(t *testing.T) {
	t.Parallel()
	m := startCluster(t, 3)
	jobsRun(t, Connection(m.client()))
}

func TestJobsOnAClient(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		client, _ := given(t, s.Addr(), nil)
		jobsRun(t, Connection(client))
	})
}

// jobsRun enqueues and works in namespaces that a cluster spreads over its servers.
func jobsRun(t *testing.T, c work.Connection) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range 4 {
		name := fmt.Sprintf("%s-%d", redistest.Namespace(t), i)
		pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Connection: c, Namespace: name,
			Logger: slog.New(slog.DiscardHandler)}).
			JobWithOptions("greet", work.JobOptions{Retention: time.Hour}, func(whom string) (string, error) {
				return "hello " + whom, nil
			})
		require.NoError(t, pool.Start(ctx))
		enq, err := work.NewEnqueuer("", work.WithConnection(c), work.Namespace(name))
		require.NoError(t, err)
		receipt, err := enq.Enqueue(ctx, "greet", "ada")
		require.NoError(t, err)
		said, err := work.Wait[string](ctx, enq, receipt.ID)
		require.NoError(t, err)
		assert.Equal(t, "hello ada", said)
		require.NoError(t, enq.Close())
		require.NoError(t, pool.Stop(ctx))
	}
}
