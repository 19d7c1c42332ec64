package goredis_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/goredis"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest/topology"
)

func inspectorOn(t *testing.T, dsn string, opts ...work.EnqueuerOption) *inspect.Inspector {
	t.Helper()
	i, err := inspect.New(dsn, append(opts, work.Namespace("shop"))...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, i.Close()) })
	return i
}

// An inspector knows the servers by what Sentinels, the primary and each of them says.
func TestTheServersThatSentinelsWatch(t *testing.T) {
	t.Parallel()
	servers := topology.StartSentinels(t, topology.SentinelOptions{Replicas: 2})
	i := inspectorOn(t, servers.DSN())
	primary, replicas := servers.Primary(), servers.Replicas()
	found, err := i.Topology(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Problems)
	require.Len(t, found.Nodes, 3)
	watch := &inspect.SentinelInfo{Primary: topology.Master, State: "ok", Sentinels: 3, Quorum: 2}
	assert.Equal(t, watch, found.Sentinel)
	assert.Equal(t, "standalone", found.Mode)
	assert.Equal(t, topology.Slot("{shop}:"), found.Slot)
	assert.False(t, found.MinReplicas)
	home := found.Nodes[0]
	assert.Equal(t, []any{primary.Addr(), "primary", "online", true},
		[]any{home.Addr, home.Role, home.State, home.Home})
	for _, n := range found.Nodes[1:] {
		assert.Equal(t, []any{"replica", "online", true, primary.Addr()}, []any{n.Role, n.State, n.OfHome, n.Primary})
		assert.Contains(t, []string{replicas[0].Addr(), replicas[1].Addr()}, n.Addr)
		assert.Positive(t, n.MemoryUsed, "it was asked itself")
		assert.NotEmpty(t, n.Version)
		require.NotNil(t, n.Lag)
	}

	// A client of the program's does not tell its Sentinels, and asks the replicas all the same.
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: topology.Master,
		SentinelAddrs: []string{servers.Watchers[0].Addr()}})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	found, err = inspectorOn(t, "", work.WithConnection(goredis.Connection(client))).Topology(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Nodes, 3)
	assert.Nil(t, found.Sentinel)
	assert.Positive(t, found.Nodes[2].MemoryUsed)

	// One that knows the primary alone says what it could not ask.
	found, err = inspectorOn(t, "redis://"+primary.Addr()).Topology(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Nodes, 3)
	assert.Equal(t, primary.Addr(), found.Nodes[0].Addr)
	for _, n := range found.Nodes[1:] {
		assert.Contains(t, n.Problem, "only the primary was asked")
		assert.NotNil(t, n.Lag, "which the primary knows")
	}

	t.Run("far behind", func(t *testing.T) {
		_, err := primary.Do("CONFIG", "SET", "min-replicas-to-write", "1")
		require.NoError(t, err)
		servers.Lag(time.Minute) // longer than the test
		_, err = primary.Do("SET", "x", string(make([]byte, 1<<20)))
		require.NoError(t, err)
		found, err := i.Topology(t.Context())
		require.NoError(t, err)
		assert.True(t, found.MinReplicas)
		for _, n := range found.Nodes[1:] {
			require.NotNil(t, n.Lag)
			assert.Greater(t, n.Lag.Bytes, int64(1<<20))
		}
		servers.Lag(0)
	})
	t.Run("gone", func(t *testing.T) {
		replicas[0].Kill()
		require.Eventually(t, func() bool {
			found, err := i.Topology(t.Context())
			require.NoError(t, err)
			for _, n := range found.Nodes {
				if n.Addr == replicas[0].Addr() {
					return n.State != "online" && n.Problem != ""
				}
			}
			return false
		}, 10*time.Second, 50*time.Millisecond, "the Sentinels know it still")
	})
}

// In a cluster the node that has the namespace comes first, with its replicas, and then the others.
func TestTheServersOfACluster(t *testing.T) {
	t.Parallel()
	servers := topology.StartCluster(t, topology.ClusterOptions{Primaries: 3, Replicas: 1})
	slot := topology.Slot("{shop}:")
	owner := servers.Owner(slot)
	i := inspectorOn(t, servers.DSN())
	require.Eventually(t, func() bool { // each replica knows whom it follows; the others hear it a moment later
		found, err := i.Topology(t.Context())
		return err == nil && len(found.Nodes) == 6 && found.Nodes[1].OfHome
	}, time.Minute, 10*time.Millisecond)
	found, err := i.Topology(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Problems)
	require.Len(t, found.Nodes, 6)
	assert.Equal(t, []any{"cluster", "ok", slot}, []any{found.Mode, found.ClusterState, found.Slot})
	roles, slots := "", 0
	for _, n := range found.Nodes {
		roles += n.Role[:1]
		slots += n.Slots
		assert.Equal(t, "online", n.State, n.Addr)
		assert.Positive(t, n.MemoryUsed, n.Addr)
		assert.Equal(t, n.Role == "replica", n.Lag != nil, n.Addr)
	}
	assert.Equal(t, "prpprr", roles)
	assert.Equal(t, 16384, slots)
	assert.Equal(t, owner.Addr(), found.Nodes[0].Addr)
	assert.True(t, found.Nodes[0].Home)
	assert.Equal(t, servers.Replicas(owner)[0].Addr(), found.Nodes[1].Addr)
	assert.True(t, found.Nodes[1].OfHome)

	// A DSN for one node, which has another slot: the cluster tells its nodes, and none of them is asked.
	other := servers.Primaries()[0]
	if other == owner {
		other = servers.Primaries()[1]
	}
	found, err = inspectorOn(t, "redis://"+other.Addr()).Topology(t.Context())
	if err == nil {
		require.Len(t, found.Nodes, 6)
		assert.Equal(t, owner.Addr(), found.Nodes[0].Addr)
		assert.Zero(t, found.Nodes[0].MemoryUsed)
		assert.Contains(t, found.Nodes[0].Problem, "only the primary was asked")
	}
	require.NoError(t, err)

	t.Run("a failover", func(t *testing.T) {
		owner.Kill()
		promoted := servers.AwaitPromotion(slot, owner)
		require.Eventually(t, func() bool {
			found, err := i.Topology(t.Context())
			return err == nil && found.Nodes[0].Home && found.Nodes[0].Addr == promoted.Addr()
		}, 10*time.Second, 50*time.Millisecond)
	})
}
