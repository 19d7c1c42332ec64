package goredis

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redisconn/drivertest"
	"github.com/265d0351/work/internal/redistest"
)

// given is a client of the test's own, and the driver on it.
func given(t *testing.T, addr string, change func(*redis.Options)) (*redis.Client, redisconn.Driver) {
	t.Helper()
	opt := &redis.Options{Addr: addr}
	if change != nil {
		change(opt)
	}
	client := redis.NewClient(opt)
	d, err := owned(client)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return client, d
}

func TestWhatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{})
	defer client.Close() //lint:ignore errcheck nothing was dialled
	auto, err := client.AutoPipeline()
	require.NoError(t, err)
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close() //lint:ignore errcheck as above
	for want, given := range map[string]redis.UniversalClient{
		"moves keys to another server":        ring,
		"sends again what may have run":       auto,
		"client of go-redis is nil":           nil,
		"is nil: give one":                    (*redis.Client)(nil),
		"a struct { redis.UniversalClient } ": struct{ redis.UniversalClient }{client},
	} {
		_, err := Connection(given).Driver()
		assert.ErrorContains(t, err, want)
	}
}

// What a server answers to the first call of a pipeline makes go-redis send all of it again, if it is let.
func TestNothingThatMayHaveRunIsSentTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		_, d := given(t, s.Addr(), func(opt *redis.Options) { opt.MaxRetries = 3 })
		for _, code := range []string{"LOADING", "READONLY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN"} {
			key := redistest.Namespace(t)
			refuses := drivertest.Script(t, `redis.call('INCR', KEYS[1]) return redis.error_reply('`+code+` of own')`)
			replies, err := d.Pipeline(t.Context(), redisconn.Call{Script: refuses, Keys: []string{key}, InFull: true},
				redisconn.Call{Command: "INCR", Keys: []string{key}})
			require.NoError(t, err)
			var refused *redisconn.ServerError
			require.ErrorAs(t, replies[0].Err, &refused)
			assert.Equal(t, code, refused.Code)
			assert.True(t, redisconn.Passes(refused))
			assert.Equal(t, int64(2), replies[1].Value, code)
		}
	})
}

// A connection to a server that has become a replica is not used again: the next one may reach its successor.
func TestAReplicaLosesTheConnection(t *testing.T) {
	t.Parallel()
	p := redistest.Dedicated(t)
	_, d := given(t, p.Addr(), nil)
	id := func() any { return drivertest.Do(t, d, "CLIENT", "ID") }
	first := id()
	require.Equal(t, first, id(), "it is in the pool")
	drivertest.Do(t, d, "REPLICAOF", "127.0.0.1", "1")
	replies, err := d.Pipeline(t.Context(), redisconn.Call{Command: "PING"},
		redisconn.Call{Command: "SET", Keys: []string{"k"}, Args: []any{"v"}})
	require.NoError(t, err)
	require.ErrorContains(t, replies[1].Err, "READONLY")
	assert.NotEqual(t, first, id())
}

// Whoever stops waiting for a connection is told that nothing was sent, and then nothing is, however late go-redis has
// one: it greets the server on a new connection without a look at the ctx.
func TestACallThatWasGivenUpIsNeverSent(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		dialled := make(chan struct{}, 10)
		client, d := given(t, proxy.Addr(), func(opt *redis.Options) {
			opt.Dialer = func(context.Context, string, string) (net.Conn, error) {
				defer func() { dialled <- struct{}{} }()
				return net.Dial("tcp", proxy.Addr())
			}
		})
		key := redistest.Namespace(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		proxy.Pause()
		go func() {
			_, err := d.Pipeline(ctx, redisconn.Call{Command: "INCR", Keys: []string{key}})
			ended <- err
		}()
		<-dialled
		cancel()
		err := <-ended
		var unsent *redisconn.DialError
		require.ErrorAs(t, err, &unsent)
		require.ErrorIs(t, err, context.Canceled)
		proxy.Resume()
		require.Eventually(t, func() bool {
			stats := client.PoolStats()
			return stats.TotalConns == stats.IdleConns
		}, time.Minute, time.Millisecond)
		assert.Nil(t, drivertest.Do(t, d, "GET", key))
	})
}

// go-redis makes a lost subscription anew without a word. Here the probe and the reading both tell.
func TestALostSubscriptionIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		client, _ := given(t, proxy.Addr(), nil)
		w := newWire(client, "")
		defer w.end()
		heard := w.client.Subscribe(t.Context())
		defer heard.Close() //lint:ignore errcheck the end of the test
		require.NoError(t, heard.Subscribe(t.Context(), redistest.Namespace(t)))
		_, err := heard.ReceiveTimeout(t.Context(), time.Minute)
		require.NoError(t, err)
		proxy.Cut()
		noticed := func() bool { return heard.Ping(t.Context()) != nil && w.broken() }
		require.Eventually(t, noticed, time.Minute, time.Millisecond)
		_, err = heard.ReceiveTimeout(t.Context(), time.Minute)
		require.ErrorIs(t, err, errOnce)
	})
}

// Connections of one's own do not wait for the pool's, and a pool that has none left has sent nothing.
func TestAnExhaustedPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		client, d := given(t, s.Addr(), func(opt *redis.Options) {
			opt.PoolSize, opt.MaxActiveConns, opt.PoolTimeout = 1, 1, time.Millisecond
		})
		taken := client.Conn()
		require.NoError(t, taken.Ping(t.Context()).Err())
		ping := redisconn.Call{Command: "PING"}
		_, err := d.Pipeline(t.Context(), ping)
		var unsent *redisconn.DialError
		require.ErrorAs(t, err, &unsent)
		conn, err := d.Dial(t.Context())
		require.NoError(t, err)
		drivertest.Do(t, conn, "PING")
		require.NoError(t, conn.Close())
		require.NoError(t, taken.Close())
		drivertest.Do(t, d, "PING")
	})
}

// The client belongs to the program: it works on when the driver is closed, and what it is closed with is said.
func TestTheClientIsLeftToItsOwner(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		client := redis.NewClient(&redis.Options{Addr: s.Addr()})
		one, err := Connection(client).Driver()
		require.NoError(t, err)
		two, err := Connection(client).Driver()
		require.NoError(t, err)
		drivertest.Do(t, one, "PING")
		require.NoError(t, one.Close())
		drivertest.Do(t, two, "PING")
		require.NoError(t, client.Ping(t.Context()).Err())
		require.NoError(t, client.Close())
		_, err = two.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
		var unsent *redisconn.DialError
		require.ErrorAs(t, err, &unsent)
		require.ErrorIs(t, err, redisconn.ErrClosed)
	})
}

func TestPasswordsAndDatabases(t *testing.T) {
	t.Parallel()
	p := redistest.Dedicated(t, "--requirepass", "s3cr3t", "--user", "me", "on", ">hush", "~*", "&*", "+@all")
	_, d := given(t, p.Addr(), func(opt *redis.Options) { opt.Username, opt.Password, opt.DB = "me", "hush", 3 })
	conn, err := d.Dial(t.Context())
	require.NoError(t, err)
	defer conn.Close() //lint:ignore errcheck the end of the test
	for _, info := range []any{drivertest.Do(t, d, "CLIENT", "INFO"), drivertest.Do(t, conn, "CLIENT", "INFO")} {
		assert.Contains(t, string(info.([]byte)), " db=3 ")
		assert.Contains(t, string(info.([]byte)), " user=me ")
	}
	_, d = given(t, p.Addr(), func(opt *redis.Options) { opt.Username, opt.Password = "me", "wrong-s3cr3t" })
	_, err = d.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
	var refused *redisconn.ServerError
	var unsent *redisconn.DialError
	require.ErrorAs(t, err, &unsent)
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "WRONGPASS", refused.Code)
	_, err = d.Dial(t.Context())
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "WRONGPASS", refused.Code)
	assert.NotContains(t, err.Error(), "s3cr3t")
}
