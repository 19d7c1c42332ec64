package drivertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// A reply that got lost is an error which does not claim that nothing was sent, and nothing is sent again.
func (k Kit) lostReply(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		d, key := k.open(t, proxy.DSN()), name(t)
		Do(t, d, "PING")
		swallowed := proxy.SwallowReply("INCR")
		_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "INCR", Keys: []string{key}})
		require.ErrorContains(t, err, "lost while waiting for the reply to INCR")
		<-swallowed
		var unsent *redisconn.DialError
		assert.NotErrorAs(t, err, &unsent)
		var lost *redisconn.LostError
		require.ErrorAs(t, err, &lost)
		assert.NotEmpty(t, lost.Addr)
		assert.Equal(t, []byte("1"), Do(t, d, "GET", key), "run once")
	})
}

// The second half of a NOSCRIPT round trip can get lost as well.
func (k Kit) lostReplyOfAScriptSentInFull(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		d, key := k.open(t, proxy.DSN()), name(t)
		swallowed := proxy.SwallowReply("\r\nEVAL\r\n")
		_, err := d.Pipeline(t.Context(), redisconn.Call{Script: Script(t, `return redis.call('INCR', KEYS[1])`),
			Keys: []string{key}})
		require.ErrorContains(t, err, "reply to script probe")
		<-swallowed
		assert.Equal(t, []byte("1"), Do(t, d, "GET", key))
	})
}

// After a read timeout the connection is not used again: the next call would read the late reply of this one.
func (k Kit) readTimeout(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		d, key := k.open(t, proxy.DSN()+"?read_timeout=3s"), name(t)
		Do(t, d, "PING")
		proxy.Pause()
		_, err := d.Pipeline(context.Background(),
			redisconn.Call{Command: "SET", Keys: []string{key}, Args: []any{"late"}})
		var timeout interface{ Timeout() bool }
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout())
		k.keepsNone(t, d, "after a timeout")
		proxy.Resume()
		require.Eventually(t, func() bool {
			replies, err := d.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
			return err == nil && assert.Equal(t, "PONG", replies[0].Value)
		}, time.Minute, time.Millisecond)
	})
}
