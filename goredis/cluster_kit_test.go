package goredis

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest/topology"
)

// clusterOf are the options of a cluster in which one server has all slots, whatever it says itself.
func clusterOf(opt *redis.Options) *redis.ClusterOptions {
	return &redis.ClusterOptions{Addrs: []string{opt.Addr}, ReadTimeout: opt.ReadTimeout,
		Username: opt.Username, Password: opt.Password,
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{Start: 0, End: int(slots) - 1, Nodes: []redis.ClusterNode{{Addr: opt.Addr}}}},
				nil
		}}
}

// members is a cluster of redis-servers that have about as many slots each, without replicas.
type members struct {
	t       *testing.T
	clients []*redis.Client
	ids     []string
}

// startCluster starts one of n servers and waits until each of them calls it whole.
func startCluster(t *testing.T, n int) *members {
	t.Helper()
	m := &members{t: t}
	for _, s := range topology.StartCluster(t, topology.ClusterOptions{Primaries: n}).Nodes {
		client := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2})
		t.Cleanup(func() { client.Close() }) //lint:ignore errcheck the end of the test
		m.clients = append(m.clients, client)
		m.ids = append(m.ids, s.ID())
	}
	return m
}

func (m *members) addr(i int) string { return m.clients[i].Options().Addr }

func (m *members) do(i int, args ...any) any {
	m.t.Helper()
	value, err := m.clients[i].Do(context.Background(), args...).Result()
	require.NoError(m.t, err, "%v", args)
	return value
}

// client is one of the whole cluster.
func (m *members) client() *redis.ClusterClient {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{m.addr(0)}})
	m.t.Cleanup(func() { client.Close() }) //lint:ignore errcheck the end of the test
	return client
}

// owner is the number of the server that has a slot.
func (m *members) owner(of slot) int { return int(of) * len(m.clients) / int(slots) }

// give makes a slot that has no keys another server's.
func (m *members) give(of slot, to int) {
	m.t.Helper()
	m.do(to, "CLUSTER", "SETSLOT", int(of), "NODE", m.ids[to])
	for i := range m.clients {
		if i != to {
			m.do(i, "CLUSTER", "SETSLOT", int(of), "NODE", m.ids[to])
		}
	}
}
