package thoonk_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

// A Redis that is full refuses what is put in; what is there can be claimed and ended, and those who wait go on when
// there is room again.
func TestAFullRedisCanBeEmptied(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Dedicated(t, "--maxmemory-policy", "noeviction")
		waits := make(chan struct{}, 1000)
		client, err := thoonk.Open(server.DSN(), thoonk.OnWait(func() { waits <- struct{}{} }))
		require.NoError(t, err)
		defer func() { assert.NoError(t, client.Close()) }()
		plain, err := redisconn.Open(server.DSN())
		require.NoError(t, err)
		defer func() { assert.NoError(t, plain.Close()) }()
		limit := func(bytes string) {
			_, err := redisconn.Do(t.Context(), plain,
				redisconn.Call{Command: "CONFIG", Args: []any{"SET", "maxmemory", bytes}})
			require.NoError(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, client.Create(ctx, "a", thoonk.Config{Kind: thoonk.KindJob}))
		feed, err := thoonk.OpenJobFeed[string, string](ctx, client, "a", nil, nil)
		require.NoError(t, err)
		for range 2 {
			_, err = feed.Put(ctx, "x")
			require.NoError(t, err)
		}

		limit("1mb")
		_, err = feed.Put(ctx, "y")
		require.ErrorContains(t, err, "OOM")
		claim, err := feed.Get(ctx, 0)
		require.NoError(t, err)
		require.NoError(t, feed.FinishWith(ctx, claim.Held, "result", 0))
		claim, err = feed.Get(ctx, 0)
		require.NoError(t, err)
		require.NoError(t, feed.Finish(ctx, claim.Held))
		claims := make(chan error, 1)
		go func() {
			_, err := feed.Get(ctx, 0)
			claims <- err
		}()
		receive(t, waits)
		receive(t, waits) // the first wait was refused
		limit("0")
		_, err = feed.Put(ctx, "z")
		require.NoError(t, err)
		require.NoError(t, receive(t, claims))
	})
}
