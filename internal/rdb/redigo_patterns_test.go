package rdb_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// One connection listens on patterns, and is told the channel of each message, not the pattern.
func TestSubscribePatternsTellsTheChannelsApart(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		type message struct{ channel, text string }
		ready, messages := make(chan struct{}), make(chan message, 4)
		ended := make(chan error, 1)
		go func() {
			ended <- s.driver.SubscribePatterns(ctx, []string{s.key("o*"), s.key(`t\*`)}, func() { close(ready) },
				func(channel string, text []byte) { messages <- message{channel, string(text)} })
		}()
		<-ready
		for name, heard := range map[string]int64{"one": 1, "two": 0, "t*": 1} {
			got, err := rdb.Do(t.Context(), s.driver, rdb.Call{Command: "PUBLISH", Args: []any{s.key(name), "to " + name}})
			require.NoError(t, err)
			assert.Equal(t, heard, got, name)
		}
		got := []message{<-messages, <-messages}
		assert.ElementsMatch(t, []message{{s.key("one"), "to one"}, {s.key("t*"), "to t*"}}, got)
		cancel()
		assert.NoError(t, <-ended)
	})
}
