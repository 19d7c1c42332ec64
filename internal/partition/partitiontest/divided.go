package partitiontest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redisconn"
)

// Divided is the map of so many open partitions, which share the buckets evenly: bucket b is in partition b modulo n.
func Divided(version int64, n int) *partition.Map {
	m := &partition.Map{Version: version, Buckets: make([]int, partition.Buckets)}
	for range n {
		m.States = append(m.States, partition.Open)
	}
	for bucket := range m.Buckets {
		m.Buckets[bucket] = bucket % n
	}
	return m
}

// WriteMap writes a map into all of its partitions, the first one first. All must be well.
func WriteMap(t testing.TB, driver redisconn.Driver, namespace string, m *partition.Map) {
	t.Helper()
	parts := partition.NewDirectory(driver, namespace)
	for i := range m.Len() {
		known, err := parts.Store(i).WriteMap(context.Background(), m.Version, m.Encode(), -1)
		require.NoError(t, err, "partition %d", i)
		require.Equal(t, m.Version, known, "partition %d", i)
	}
}
