package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// What some partitions say is printed, and what is missing told beside it, with a status of its own.
func TestCommandsShowTheRestWhileAPartitionFails(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := pooltest.NewKit(t, s)
		k.Enqueue("mail")
		partitiontest.WriteMap(t, k.Raw().Driver(), k.Namespace, partitiontest.Divided(1, 3))
		on := func(args ...string) said {
			return call(append(args, "--redis", s.DSN(), "--namespace", k.Namespace)...)
		}
		whole := on("queues")
		require.Equal(t, exit.OK, whole.status, whole.err)
		require.Equal(t, exit.OK, on("pause", "mail").status)

		k.Part(1).Do("SET", "queues", "broken")
		rest := on("queues")
		assert.Equal(t, exit.Undone, rest.status)
		assert.Contains(t, rest.out, "mail")
		assert.Contains(t, rest.err, "work: only 2 of 3 partitions have answered. What partition 1 holds is missing")
		text := on("queues", "--json")
		assert.Contains(t, text.out, `"waiting":`)
		assert.Equal(t, exit.Undone, text.status)
		k.Part(1).Do("SET", "limits", "broken")
		resumed := on("resume", "mail")
		assert.NotZero(t, resumed.status, resumed.out)
		assert.Contains(t, resumed.err, "2 of 3 partitions")
	})
}
