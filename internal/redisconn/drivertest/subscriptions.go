package drivertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func (k Kit) subscription(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		proxy := redistest.NewProxy(t, s.Addr())
		d, channel := k.open(t, proxy.DSN()), name(t)
		const silence = 5 * time.Second // longer than a busy machine stalls
		k.Probe(d, 10*time.Millisecond, silence)
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
		require.NoError(t, redisconn.Publish(t.Context(), d, channel, "one"))
		assert.Equal(t, "one", <-messages)
		pause := silence + time.Second/2 // longer than the silence allowed: the probes are answered
		_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "BLPOP", Keys: []string{channel + "-none"},
			Args: []any{fmt.Sprint(pause.Seconds())}, Block: pause})
		require.NoError(t, err)
		tell(t, d, channel, "two")
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

// tell publishes as scripts do, by the function tell of lua/prelude.lua.
func tell(t *testing.T, d redisconn.Driver, channel, message string) {
	t.Helper()
	script := Script(t, `local heard = redis.pcall('SPUBLISH', KEYS[1], ARGV[1])
		if type(heard) == 'table' then redis.call('PUBLISH', KEYS[1], ARGV[1]) end`)
	reply, err := redisconn.Do(t.Context(), d, redisconn.Call{Script: script, Keys: []string{channel},
		Args: []any{message}})
	require.NoError(t, err)
	require.Nil(t, reply)
}

// What scripts tell goes to the shard where the server has such channels, and to all servers where it does not know
// them, as the embedded one, or does not allow them. Who listens hears it either way.
func (k Kit) aSubscriptionIsToTheShard(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, channel := k.open(t, s.DSN()), name(t)
		limited := d
		if s.Embedded() == nil {
			user := redistest.Namespace(t)
			Do(t, d, "ACL", "SETUSER", user, "on", ">secret", "~*", "&*", "+@all", "-spublish", "-ssubscribe")
			defer Do(t, d, "ACL", "DELUSER", user)
			limited = k.open(t, "redis://"+user+":secret@"+s.Addr()+"/0")
		}
		for kind, on := range map[string]redisconn.Driver{"SHARDCHANNELS": d, "CHANNELS": limited} {
			if s.Embedded() != nil {
				kind = "CHANNELS"
			}
			ready, heard, ended := make(chan struct{}), make(chan string, 2), make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				ended <- on.Subscribe(ctx, channel, func() { close(ready) }, func(m []byte) { heard <- string(m) })
			}()
			select {
			case <-ready:
			case err := <-ended:
				require.FailNow(t, "it never stood", "%v", err)
			}
			assert.Equal(t, []any{[]byte(channel)}, Do(t, d, "PUBSUB", kind, channel))
			require.NoError(t, redisconn.Publish(t.Context(), on, channel, "by a program"))
			assert.Equal(t, "by a program", <-heard)
			tell(t, on, channel, "by a script")
			assert.Equal(t, "by a script", <-heard)
			cancel()
			require.NoError(t, <-ended)
		}
	})
}

// message is one that came over a channel.
type message struct{ channel, text string }

// subscribeFunc is SubscribeAll or SubscribePatterns.
type subscribeFunc func(ctx context.Context, to []string, ready func(), receive func(channel string, text []byte)) error

// hearing is a subscription, and where something is published meanwhile.
type hearing struct {
	subscribe    subscribeFunc
	to, channels []string
}

// hear subscribes, publishes to each of the channels in turn, and returns what came. The subscription must end well.
func hear(t *testing.T, d redisconn.Driver, h hearing) []message {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, messages, ended := make(chan struct{}), make(chan message, len(h.channels)), make(chan error, 1)
	go func() {
		ended <- h.subscribe(ctx, h.to, func() { close(ready) },
			func(channel string, text []byte) { messages <- message{channel, string(text)} })
	}()
	select {
	case <-ready:
	case err := <-ended:
		require.FailNow(t, "it never stood", "%v", err)
	}
	var heard int64
	for _, channel := range h.channels {
		by, err := redisconn.Do(t.Context(), d,
			redisconn.Call{Command: "PUBLISH", Args: []any{channel, "to " + channel}})
		require.NoError(t, err)
		heard += by.(int64)
	}
	var got []message
	for range heard {
		select {
		case m := <-messages:
			got = append(got, m)
		case err := <-ended:
			require.FailNow(t, "it ended with messages on their way", "%v", err)
		}
	}
	cancel()
	require.NoError(t, <-ended)
	return got
}

// One connection listens on several channels, says once that all stand, and tells their messages apart.
func (k Kit) subscribeAllTellsTheChannelsApart(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, prefix := k.open(t, s.DSN()), name(t)+":"
		one, two := prefix+"one", prefix+"two"
		got := hear(t, d, hearing{d.SubscribeAll, []string{one, two}, []string{two, one}})
		assert.Equal(t, []message{{two, "to " + two}, {one, "to " + one}}, got)
	})
}

// One connection listens on patterns, and is told the channel of each message, not the pattern.
func (k Kit) subscribePatternsTellsTheChannelsApart(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, prefix := k.open(t, s.DSN()), name(t)+":"
		one, star := prefix+"one", prefix+"t*"
		got := hear(t, d, hearing{d.SubscribePatterns, []string{prefix + "o*", prefix + `t\*`},
			[]string{one, prefix + "two", star}})
		assert.Equal(t, []message{{one, "to " + one}, {star, "to " + star}}, got)
	})
}
