package redisconn_test

import (
	"context"
	"crypto/sha1" // the name of a script
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// open opens a DSN for the length of the test.
func open(t *testing.T, dsn string) redisconn.Driver {
	t.Helper()
	d, err := redisconn.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

// do runs one call and returns its value.
func do(t *testing.T, d interface {
	Pipeline(context.Context, ...redisconn.Call) ([]redisconn.Reply, error)
}, command, key string, args ...any,
) any {
	t.Helper()
	call := redisconn.Call{Command: command, Args: args}
	if key != "" {
		call.Keys = []string{key}
	}
	replies, err := d.Pipeline(t.Context(), call)
	require.NoError(t, err)
	require.NoError(t, replies[0].Err)
	return replies[0].Value
}

// script is one that no server has seen: its text has the name of the test.
func script(t *testing.T, source string) *redisconn.Script {
	source = "-- " + redistest.Namespace(t) + "\n" + source
	sum := sha1.Sum([]byte(source)) // as above
	return &redisconn.Script{Name: "probe", Source: source, SHA: hex.EncodeToString(sum[:])}
}

func TestRepliesKeepTheirTypes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := open(t, s.DSN()), redistest.Namespace(t)
		nested := script(t, `return {1, 'two', {3, false}, redis.error_reply('MINE of own'), redis.status_reply('FINE')}`)
		replies, err := d.Pipeline(t.Context(),
			redisconn.Call{Command: "SET", Keys: []string{key}, Args: []any{[]byte("\x00\r\n")}},
			redisconn.Call{Command: "GET", Keys: []string{key}},
			redisconn.Call{Command: "GET", Keys: []string{key + "-none"}},
			redisconn.Call{Command: "STRLEN", Keys: []string{key}},
			redisconn.Call{Command: "LPUSH", Keys: []string{key}, Args: []any{"x"}},
			redisconn.Call{Script: nested},
		)
		require.NoError(t, err)
		require.Len(t, replies, 6)
		assert.Equal(t, "OK", replies[0].Value)
		assert.Equal(t, []byte("\x00\r\n"), replies[1].Value)
		assert.Nil(t, replies[2].Value)
		assert.Equal(t, int64(3), replies[3].Value)

		var refused *redisconn.ServerError
		require.ErrorAs(t, replies[4].Err, &refused)
		assert.Equal(t, "WRONGTYPE", refused.Code)
		assert.Nil(t, replies[4].Value)
		assert.Equal(t, []any{
			int64(1), []byte("two"), []any{int64(3), nil}, &redisconn.ServerError{Code: "MINE", Message: "MINE of own"},
			"FINE",
		}, replies[5].Value)
	})
}

func TestArgumentsOfEveryType(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := open(t, s.DSN()), redistest.Namespace(t)
		do(t, d, "RPUSH", key, "a", []byte("b"), 3, int64(1234567890123456789), true, false)
		assert.Equal(t, []any{[]byte("a"), []byte("b"), []byte("3"), []byte("1234567890123456789"), []byte("1"),
			[]byte("0")},
			do(t, d, "LRANGE", key, 0, -1))

		for name, call := range map[string]redisconn.Call{
			"argument 1 of SET is a float64": {Command: "SET", Args: []any{"a", 1.5}},
			"argument 0 of SET is a <nil>":   {Command: "SET", Args: []any{nil}},
			"call 0 has neither":             {Keys: []string{"a"}},
		} {
			_, err := d.Pipeline(t.Context(), call)
			assert.ErrorContains(t, err, name)
		}
		replies, err := d.Pipeline(t.Context())
		require.NoError(t, err)
		assert.Empty(t, replies)
	})
}

// A script that Redis does not know, between commands that it has run: only the script is sent again.
func TestUnknownScriptAmidAPipeline(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := open(t, s.DSN()), redistest.Namespace(t)
		add := script(t, `return redis.call('INCRBY', KEYS[1], ARGV[1])`)
		fails := script(t, `return redis.error_reply('MINE of own')`)
		calls := []redisconn.Call{
			{Command: "INCR", Keys: []string{key}},
			{Script: add, Keys: []string{key}, Args: []any{10}},
			{Command: "INCR", Keys: []string{key}},
			{Script: fails},
			{Script: add, Keys: []string{key}, Args: []any{100}},
		}
		replies, err := d.Pipeline(t.Context(), calls...)
		require.NoError(t, err)
		var got []any
		for _, r := range replies {
			got = append(got, r.Value)
		}
		assert.Equal(t, []any{int64(1), int64(12), int64(2), nil, int64(112)}, got)
		require.ErrorContains(t, replies[3].Err, "MINE of own")

		replies, err = d.Pipeline(t.Context(), calls...)
		require.NoError(t, err)
		assert.Equal(t, int64(123), replies[1].Value, "known now, so in its place")
	})
}

// A reply that got lost is an error which does not claim that nothing was sent, and nothing is sent again.
func TestLostReply(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		d, key := open(t, proxy.DSN()), redistest.Namespace(t)
		do(t, d, "PING", "")
		swallowed := proxy.SwallowReply("INCR")
		_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "INCR", Keys: []string{key}})
		require.ErrorContains(t, err, "lost while waiting for the reply to INCR")
		<-swallowed
		var unsent *redisconn.DialError
		assert.NotErrorAs(t, err, &unsent)
		assert.Equal(t, []byte("1"), do(t, d, "GET", key), "run once")
	})
}

// The second half of a NOSCRIPT round trip can get lost as well.
func TestLostReplyOfAScriptSentInFull(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		d, key := open(t, proxy.DSN()), redistest.Namespace(t)
		swallowed := proxy.SwallowReply("\r\nEVAL\r\n")
		_, err := d.Pipeline(t.Context(), redisconn.Call{Script: script(t, `return redis.call('INCR', KEYS[1])`),
			Keys: []string{key}})
		require.ErrorContains(t, err, "reply to script probe")
		<-swallowed
		assert.Equal(t, []byte("1"), do(t, d, "GET", key))
	})
}

// After a read timeout the connection is not used again: the next call would read the late reply of this one.
func TestReadTimeout(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		d, key := open(t, proxy.DSN()+"?read_timeout=3s"), redistest.Namespace(t)
		do(t, d, "PING", "")
		proxy.Pause()
		_, err := d.Pipeline(context.Background(),
			redisconn.Call{Command: "SET", Keys: []string{key}, Args: []any{"late"}})
		var timeout interface{ Timeout() bool }
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout())
		assert.Zero(t, redisconn.IdleConnections(d))
		proxy.Resume()
		require.Eventually(t, func() bool {
			replies, err := d.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
			return err == nil && assert.Equal(t, "PONG", replies[0].Value)
		}, time.Minute, time.Millisecond)
	})
}

// Redis may hold an answer back for as long as the call says, on top of the read timeout.
func TestBlockingCallOutlastsTheReadTimeout(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := open(t, s.DSNWith("read_timeout=5s")), redistest.Namespace(t)
		replies, err := d.Pipeline(t.Context(),
			redisconn.Call{Command: "BLPOP", Keys: []string{key}, Args: []any{"5.5"}, Block: 5500 * time.Millisecond})
		require.NoError(t, err)
		assert.Equal(t, []redisconn.Reply{{}}, replies)
	})
}

func TestContextEndsAWait(t *testing.T) {
	t.Parallel()
	blpop := func(key string) redisconn.Call {
		return redisconn.Call{Command: "BLPOP", Keys: []string{key}, Args: []any{"30"}, Block: 30 * time.Second}
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := open(t, s.DSN()), redistest.Namespace(t)
		conn, err := d.Dial(t.Context())
		require.NoError(t, err)
		defer conn.Close() //lint:ignore errcheck broken below

		for name, pipeline := range map[string]func(context.Context, ...redisconn.Call) ([]redisconn.Reply, error){
			"pooled": d.Pipeline, "own": conn.Pipeline,
		} {
			// long enough for the first reply on a busy machine
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			begin := time.Now()
			_, err := pipeline(ctx, redisconn.Call{Command: "INCR", Keys: []string{key}}, blpop(key+"-none"))
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.ErrorContains(t, err, "reply to BLPOP", name)
			assert.Less(t, time.Since(begin), 20*time.Second, name)
			assert.Zero(t, redisconn.IdleConnections(d), name)

			_, err = pipeline(ctx, redisconn.Call{Command: "INCR", Keys: []string{key}})
			var unsent *redisconn.DialError
			require.ErrorAs(t, err, &unsent, name)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
		}
		assert.Equal(t, []byte("2"), do(t, d, "GET", key))
		_, err = conn.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
		var unsent *redisconn.DialError
		require.ErrorAs(t, err, &unsent, "a broken connection of one's own stays broken")
	})
}

// A ctx that ends when the replies have just been read breaks the connection without an error.
func TestAConnectionThatWasBrokenSaysSo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := open(t, s.DSN())
		ping := redisconn.Call{Command: "PING"}
		var conn redisconn.Conn
		for i := range 2000 {
			if conn == nil {
				var err error
				conn, err = d.Dial(t.Context())
				require.NoError(t, err)
				require.False(t, conn.Broken(), "it is new")
			}
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			_, err := conn.Pipeline(ctx, ping)
			cancel()
			if conn.Broken() {
				require.NoError(t, conn.Close())
				conn = nil
				continue
			}
			var unsent *redisconn.DialError
			if err != nil {
				require.ErrorAs(t, err, &unsent, "round %d: nothing else leaves it whole", i)
			}
			_, err = conn.Pipeline(t.Context(), ping)
			require.NoError(t, err, "round %d", i)
			require.False(t, conn.Broken(), "no ctx has ended")
		}
		if conn != nil {
			require.NoError(t, conn.Close())
			assert.True(t, conn.Broken())
		}
	})
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := open(t, s.DSN()), redistest.Namespace(t)
		conn, err := d.Dial(t.Context())
		require.NoError(t, err)
		ended := make(chan error, 2)
		go func() {
			_, err := conn.Pipeline(context.Background(),
				redisconn.Call{Command: "LPUSH", Keys: []string{key}, Args: []any{"begun"}},
				redisconn.Call{Command: "BLPOP", Keys: []string{key + "-none"}, Args: []any{"30"},
					Block: 30 * time.Second})
			ended <- err
		}()
		ready := make(chan struct{})
		go func() { ended <- d.Subscribe(t.Context(), key, func() { close(ready) }, func([]byte) {}) }()
		<-ready
		do(t, d, "BLPOP", key, "5")

		require.NoError(t, conn.Close())
		require.ErrorIs(t, <-ended, redisconn.ErrClosed)
		require.NoError(t, d.Close())
		require.ErrorIs(t, <-ended, redisconn.ErrClosed)

		require.NoError(t, conn.Close())
		require.NoError(t, d.Close())
		var unsent *redisconn.DialError
		_, err = conn.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
		require.ErrorAs(t, err, &unsent)
		require.ErrorIs(t, err, redisconn.ErrClosed)
		_, err = d.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
		require.ErrorAs(t, err, &unsent)
		_, err = d.Dial(t.Context())
		require.ErrorIs(t, err, redisconn.ErrClosed)
		require.ErrorIs(t, d.Subscribe(t.Context(), key, nil, nil), redisconn.ErrClosed)
	})
}

func TestSubscription(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		d, channel := open(t, proxy.DSN()), redistest.Namespace(t)
		const silence = 5 * time.Second // longer than a busy machine stalls
		redisconn.SetProbe(d, 10*time.Millisecond, silence)
		listen := func(ctx context.Context) (messages chan string, ended chan error) {
			messages, ended = make(chan string), make(chan error, 1)
			ready := make(chan struct{})
			go func() {
				ended <- d.Subscribe(ctx, channel, func() { close(ready) }, func(m []byte) { messages <- string(m) })
			}()
			<-ready
			return messages, ended
		}

		ctx, cancel := context.WithCancel(t.Context())
		messages, ended := listen(ctx)
		do(t, d, "PUBLISH", channel, "one")
		assert.Equal(t, "one", <-messages)
		pause := silence + time.Second/2 // longer than the silence allowed: the probes are answered
		_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "BLPOP", Keys: []string{channel + "-none"},
			Args: []any{fmt.Sprint(pause.Seconds())}, Block: pause})
		require.NoError(t, err)
		do(t, d, "PUBLISH", channel, "two")
		select {
		case got := <-messages:
			assert.Equal(t, "two", got)
		case err := <-ended:
			require.NoError(t, err, "it ended although it was answered")
		}
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, d.Subscribe(ctx, channel, nil, nil), "a ctx that has ended")

		_, ended = listen(t.Context())
		proxy.Cut()
		require.ErrorContains(t, <-ended, "lost")

		_, ended = listen(t.Context())
		proxy.Pause()
		err = <-ended
		var timeout interface{ Timeout() bool }
		require.True(t, errors.As(err, &timeout) && timeout.Timeout(), "a peer that is silent: %v", err)
	})
}
