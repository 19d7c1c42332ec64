package redistest

import (
	"context"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
)

func TestMain(m *testing.M) { Main(m) }

// open connects to a DSN for the length of the test.
func open(t *testing.T, dsn string) redisconn.Driver {
	t.Helper()
	d, err := redisconn.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

func ping1(t *testing.T, d redisconn.Driver) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := d.Pipeline(ctx, redisconn.Call{Command: "PING"})
	return err
}

func TestEachServerAnswersOnLoopback(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s Server) {
		require.NoError(t, ping1(t, open(t, s.DSN())))
		u, err := url.Parse(s.DSN())
		require.NoError(t, err)
		assert.Equal(t, s.Addr(), u.Host)
		assert.True(t, net.ParseIP(u.Hostname()).IsLoopback())
		assert.NotEqual(t, Namespace(t), Namespace(t))
		assert.NotContains(t, Namespace(t), "/")
	})
}

func TestDedicatedIsKilledAndRestarted(t *testing.T) {
	t.Parallel()
	p := Dedicated(t, "--appendonly", "yes", "--appendfsync", "always")
	d := open(t, p.DSN())
	_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "SET", Keys: []string{"k"}, Args: []any{"v"}})
	require.NoError(t, err)

	p.Kill()
	require.Error(t, ping1(t, d))
	p.Kill() // harmless
	require.Error(t, p.Pause(), "a server that does not run cannot be paused")

	require.NoError(t, p.Restart())
	replies, err := d.Pipeline(t.Context(), redisconn.Call{Command: "GET", Keys: []string{"k"}})
	require.NoError(t, err)
	assert.Equal(t, []byte("v"), replies[0].Value, "the same directory")
}

func TestDedicatedIsPaused(t *testing.T) {
	t.Parallel()
	p := Dedicated(t)
	d := open(t, p.DSN())
	require.NoError(t, ping1(t, d))
	require.NoError(t, p.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := d.Pipeline(ctx, redisconn.Call{Command: "PING"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, p.Resume())
	require.NoError(t, ping1(t, d))
}

func TestDedicatedReportsWhatTheServerSays(t *testing.T) {
	t.Parallel()
	Dedicated(t) // skips where there is none
	_, err := startProcess(t.TempDir(), nil, "--no-such-option", "1")
	require.ErrorContains(t, err, "no-such-option")
}

func TestContainersAreForTheModuleThatBringsThem(t *testing.T) {
	t.Parallel()
	_, _, err := startContainer()
	require.ErrorIs(t, err, errNoContainers)
}

func TestProxySwallowsOneReply(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s Server) {
		p := NewProxy(t, s.Addr())
		d, key := open(t, p.DSN()), Namespace(t)
		require.NoError(t, ping1(t, d))
		swallowed := p.SwallowReply("INCR")
		_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "INCR", Keys: []string{key}})
		require.Error(t, err)
		<-swallowed
		replies, err := d.Pipeline(t.Context(), redisconn.Call{Command: "INCR", Keys: []string{key}})
		require.NoError(t, err)
		assert.Equal(t, int64(2), replies[0].Value, "the request whose reply was swallowed has run")
	})
}

func TestProxyCutsAndPauses(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s Server) {
		p := NewProxy(t, s.Addr())
		d := open(t, p.DSN())
		require.NoError(t, ping1(t, d))
		p.Cut()
		require.Error(t, ping1(t, d))
		require.NoError(t, ping1(t, d))

		p.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := d.Pipeline(ctx, redisconn.Call{Command: "PING"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		p.Resume()
		require.NoError(t, ping1(t, d))
		p.Pause() // the end of the test ends it
	})
}

func TestProxyDeserts(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s Server) {
		p := NewProxy(t, s.Addr())
		d := open(t, p.DSN())
		require.NoError(t, ping1(t, d))
		require.Positive(t, p.HalfOpen())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := d.Pipeline(ctx, redisconn.Call{Command: "PING"})
		require.ErrorIs(t, err, context.DeadlineExceeded, "nobody told the client")
		require.NoError(t, ping1(t, d), "on a new connection")
	})
}

func TestProxySlows(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, s Server) {
		p := NewProxy(t, s.Addr())
		d := open(t, p.DSN())
		require.NoError(t, ping1(t, d))
		p.Slow(5*time.Millisecond, 3)
		begin := time.Now()
		require.NoError(t, ping1(t, d), "whatever pieces it comes in")
		require.GreaterOrEqual(t, time.Since(begin), 10*time.Millisecond, "once each way at least")
		p.Slow(0, 0)
		require.NoError(t, ping1(t, d))
	})
}

func TestOnlyLoopbackIsUsed(t *testing.T) {
	t.Parallel()
	for addr, ok := range map[string]bool{
		"127.0.0.1:6379": true, "[::1]:6379": true, "localhost:1": true,
		"10.0.0.1:6379": false, "redis.example.com:6379": false, "127.0.0.1": false, "": false,
	} {
		t.Run(addr, func(t *testing.T) {
			t.Parallel()
			if ok {
				assert.NoError(t, loopback(addr))
				return
			}
			assert.Error(t, loopback(addr))
		})
	}
}
