package rdb_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// One connection listens on several channels, says once that all stand, and tells their messages apart.
func TestSubscribeAllTellsTheChannelsApart(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		type message struct{ channel, text string }
		ready, messages := make(chan struct{}), make(chan message, 4)
		ended := make(chan error, 1)
		go func() {
			ended <- s.driver.SubscribeAll(ctx, []string{s.key("one"), s.key("two")}, func() { close(ready) },
				func(channel string, text []byte) { messages <- message{channel, string(text)} })
		}()
		<-ready
		for _, name := range []string{"two", "one"} {
			heard, err := rdb.Do(t.Context(), s.driver, rdb.Call{Command: "PUBLISH", Args: []any{s.key(name), "to " + name}})
			require.NoError(t, err)
			assert.Equal(t, int64(1), heard)
		}
		assert.Equal(t, message{s.key("two"), "to two"}, <-messages)
		assert.Equal(t, message{s.key("one"), "to one"}, <-messages)
		cancel()
		assert.NoError(t, <-ended)
	})
}
