package topology

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// set writes through the server's announced address, as clients do. It returns how many replicas have it within a time.
func set(t *testing.T, s *Server, key, value string, replicas int, within time.Duration) int {
	t.Helper()
	conn, err := redis.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Do("SET", key, value)
	require.NoError(t, err)
	n, err := redis.Int(conn.Do("WAIT", replicas, within.Milliseconds()))
	require.NoError(t, err)
	return n
}

func TestSentinelsPromoteAReplica(t *testing.T) {
	t.Parallel()
	s := StartSentinels(t, SentinelOptions{Replicas: 2})
	assert.Len(t, s.Replicas(), 2)
	old := s.Primary()
	assert.Equal(t, 2, set(t, old, "k", "v", 2, patience))
	old.Kill()
	promoted := s.AwaitPromotion(old)
	value, err := redis.String(promoted.Do("GET", "k"))
	require.NoError(t, err)
	assert.Equal(t, "v", value)
}

// What a replica is sent arrives late, and what a client is sent does not.
func TestReplicasLag(t *testing.T) {
	t.Parallel()
	s := StartSentinels(t, SentinelOptions{})
	primary, replica := s.Primary(), s.Replicas()[0]
	s.Lag(time.Hour)
	assert.Zero(t, set(t, primary, "k", "v", 1, 50*time.Millisecond))
	held, err := replica.Do("GET", "k")
	require.NoError(t, err)
	assert.Nil(t, held)
	s.Lag(0)
	await(t, "the write", func() error {
		_, err := redis.String(replica.Do("GET", "k"))
		return err
	})
}

func TestAClusterMovesSlotsAndFailsOver(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, ClusterOptions{Primaries: 3, Replicas: 1})
	slot := Slot("{shop}:a")
	assert.Equal(t, slot, Slot("shop"))
	reported, err := redis.Int(c.Nodes[0].Do("CLUSTER", "KEYSLOT", "x{shop}y"))
	require.NoError(t, err)
	require.Equal(t, reported, slot)

	from := c.Owner(slot)
	set(t, from, "{shop}:a", "1", 0, time.Second)
	set(t, from, "{shop}:b", "2", 0, time.Second)
	to := c.Primaries()[0]
	if to == from {
		to = c.Primaries()[1]
	}
	m := c.Move(to, slot)
	assert.Equal(t, 1, m.Keys(1))
	m.End()
	assert.Equal(t, to, c.Owner(slot))
	for _, key := range []string{"{shop}:a", "{shop}:b"} {
		_, err = redis.String(to.Do("GET", key))
		require.NoError(t, err)
	}
	assert.Len(t, c.Replicas(to), 1)
	assert.Equal(t, 1, set(t, to, "{shop}:c", "3", 1, patience), "it has the others as well")
	to.Kill()
	promoted := c.AwaitPromotion(slot, to)
	_, err = redis.String(promoted.Do("GET", "{shop}:b"))
	require.NoError(t, err)
	to.Restart()
	c.AwaitReplica(slot, to)
	c.AwaitWhole()
}

func TestNodesComeAndGo(t *testing.T) {
	t.Parallel()
	c := StartCluster(t, ClusterOptions{Primaries: 1})
	added := c.AddPrimary()
	c.AddReplica(added)
	first := c.Nodes[0]
	set(t, first, "k", "v", 0, time.Second)
	c.MoveSlots(added, c.SlotsOf(first)...)
	c.Remove(first)
	assert.Equal(t, added, c.Owner(Slot("k")))
	_, err := redis.String(added.Do("GET", "k"))
	require.NoError(t, err)
}

// An isolated primary loses its place and goes on taking writes of its clients, until it learns of it and is a replica.
func TestAPrimaryIsCutOffFromTheOthersOnly(t *testing.T) {
	t.Parallel()
	s := StartSentinels(t, SentinelOptions{})
	old := s.Primary()
	old.Isolate()
	set(t, old, "k", "v", 0, time.Second)
	promoted := s.AwaitPromotion(old)
	require.Equal(t, promoted, s.Hold())
	set(t, old, "k", "v", 0, time.Second)
	assert.Equal(t, "master", old.Info("role"))
	old.Heal()
	s.AwaitReplica(old)
	held, err := promoted.Do("GET", "k")
	require.NoError(t, err)
	assert.Nil(t, held, "it was written to the other")
}
