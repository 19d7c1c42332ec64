package partitiontest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/redisconn"
)

// answering is a driver that counts what reaches it.
type answering struct {
	redisconn.Driver
	got int
}

func (a *answering) Pipeline(_ context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	a.got++
	return make([]redisconn.Reply, len(calls)), nil
}

func TestOutagesAreOfOnePartition(t *testing.T) {
	t.Parallel()
	to := func(keys ...string) (calls []redisconn.Call) {
		for _, key := range keys {
			calls = append(calls, redisconn.Call{Command: "GET", Args: []any{key}})
		}
		return calls
	}
	server := &answering{}
	driver := partitiontest.NewOutages(server, "shop")
	driver.Set(1, partitiontest.Down)
	driver.Set(2, partitiontest.Mute)
	driver.Set(3, partitiontest.Loading)
	driver.Set(4, partitiontest.Deaf)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err := driver.Pipeline(ctx, to("{shop}:map")...)
	require.NoError(t, err)
	assert.Equal(t, 1, server.got)
	_, err = driver.Pipeline(ctx, to("{shop/1}:map")...)
	var notSent *redisconn.DialError
	require.ErrorAs(t, err, &notSent)
	assert.Equal(t, 1, server.got)
	_, err = driver.Pipeline(ctx, to("{shop/2}:map")...)
	require.ErrorIs(t, err, partitiontest.ErrLost)
	assert.Equal(t, 2, server.got, "it is executed")
	replies, err := driver.Pipeline(ctx, to("{shop/3}:map")...)
	require.NoError(t, err)
	assert.True(t, redisconn.Passes(replies[0].Err))
	_, err = driver.Pipeline(ctx, to("{shop/4}:map")...)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 2, server.got)
	driver.Up(4)
	_, err = driver.Pipeline(ctx, to("{shop/4}:map")...)
	require.NoError(t, err)
	_, err = driver.Pipeline(ctx, to("{shop}:map", "{shop/4}:map")...)
	require.ErrorContains(t, err, "partitions 0 and 4")
	assert.Equal(t, 2, driver.Sent(4))
}

func TestDividedIsAMap(t *testing.T) {
	t.Parallel()
	m, err := partition.Decode(partitiontest.Divided(7, 3).Encode())
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 2}, m.Open())
	assert.Equal(t, 1, m.At(4))
}
