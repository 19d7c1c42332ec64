package redisconn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// message is one that came over a channel.
type message struct{ channel, text string }

// subscribeFunc is SubscribeAll or SubscribePatterns.
type subscribeFunc func(ctx context.Context, to []string, ready func(), receive func(channel string, text []byte)) error

// hear subscribes, publishes to each of the channels in turn, and returns what came. The subscription must end well.
func hear(t *testing.T, d redisconn.Driver, subscribe subscribeFunc, to, channels []string) []message {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, messages, ended := make(chan struct{}), make(chan message, len(channels)), make(chan error, 1)
	go func() {
		ended <- subscribe(ctx, to, func() { close(ready) },
			func(channel string, text []byte) { messages <- message{channel, string(text)} })
	}()
	select {
	case <-ready:
	case err := <-ended:
		require.FailNow(t, "it never stood", "%v", err)
	}
	var heard int64
	for _, channel := range channels {
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
func TestSubscribeAllTellsTheChannelsApart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, prefix := open(t, s.DSN()), redistest.Namespace(t)+":"
		one, two := prefix+"one", prefix+"two"
		got := hear(t, d, d.SubscribeAll, []string{one, two}, []string{two, one})
		assert.Equal(t, []message{{two, "to " + two}, {one, "to " + one}}, got)
	})
}

// One connection listens on patterns, and is told the channel of each message, not the pattern.
func TestSubscribePatternsTellsTheChannelsApart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, prefix := open(t, s.DSN()), redistest.Namespace(t)+":"
		one, star := prefix+"one", prefix+"t*"
		got := hear(t, d, d.SubscribePatterns, []string{prefix + "o*", prefix + `t\*`},
			[]string{one, prefix + "two", star})
		assert.Equal(t, []message{{one, "to " + one}, {star, "to " + star}}, got)
	})
}
