package work

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func TestWaitReplicasRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		master := redistest.Dedicated(t)
		host, port, err := net.SplitHostPort(master.Addr())
		require.NoError(t, err)
		replica := redistest.Dedicated(t, "--replicaof", host, port)
		awaitReplica(t, replica.Addr())
		enq, err := NewEnqueuer(master.DSN())
		require.NoError(t, err)
		defer enq.Close()

		_, err = enq.With(WaitReplicas(1, patience)).Enqueue(t.Context(), "safe")
		require.NoError(t, err)

		// time for the one there is
		receipt, err := enq.With(WaitReplicas(2, 3*time.Second)).Enqueue(t.Context(), "safe")
		var few *ReplicasError
		require.ErrorAs(t, err, &few)
		assert.Equal(t, ReplicasError{Wanted: 2, Confirmed: 1}, *few)
		var enqueued *EnqueueError
		require.ErrorAs(t, err, &enqueued)
		assert.Equal(t, []int{0}, enqueued.Stored)
		assert.NotEmpty(t, receipt.ID)
		assert.ErrorContains(t, err, `job "safe" is stored, but: 1 of 2 replicas have confirmed it in time`)

		require.NoError(t, replica.Pause())
		receipts, err := enq.EnqueueMany(t.Context(), []Entry{
			{Name: "any"}, {Name: "safe", Options: []EnqueueOption{WaitReplicas(1, 50*time.Millisecond)}},
		})
		require.ErrorAs(t, err, &enqueued)
		assert.Equal(t, []int{0, 1}, enqueued.Stored)
		assert.Len(t, receipts, 2)

		require.NoError(t, replica.Resume())
		_, err = enq.With(WaitReplicas(1, patience)).Enqueue(t.Context(), "safe")
		require.NoError(t, err)
		conn, err := redis.Dial("tcp", master.Addr())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Do("SCRIPT", "FLUSH")
		require.NoError(t, err)
		require.NoError(t, replica.Pause()) // when it has all that there is
		_, err = enq.With(WaitReplicas(1, 50*time.Millisecond)).Enqueue(t.Context(), "safe")
		require.ErrorAs(t, err, &few, "a script that had to be sent in full is waited for as well")
		assert.Equal(t, ReplicasError{Wanted: 1, Confirmed: 0}, *few)
		require.NoError(t, replica.Resume())
	})
}

// awaitReplica waits until the replica has its master's data.
func awaitReplica(t *testing.T, addr string) {
	t.Helper()
	conn, err := redis.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.Eventually(t, func() bool {
		info, err := redis.String(conn.Do("INFO", "replication"))
		return err == nil && strings.Contains(info, "master_link_status:up")
	}, patience, 20*time.Millisecond)
}

func TestWaitReplicasOptions(t *testing.T) {
	t.Parallel()
	enq, err := NewEnqueuer("redis://127.0.0.1:1")
	require.NoError(t, err)
	t.Cleanup(func() { _ = enq.Close() })
	for name, option := range map[string]EnqueueOption{
		"no replicas":  WaitReplicas(0, time.Second),
		"no time":      WaitReplicas(1, 0),
		"too much":     WaitReplicas(1, time.Hour),
		"below zero":   WaitReplicas(-1, time.Second),
		"a past time?": WaitReplicas(1, -time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := enq.With(option).Enqueue(t.Context(), "safe")
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
		})
	}
}
