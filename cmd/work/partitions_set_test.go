package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/exit"
)

func TestANamespaceIsDividedByTheCommand(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	one := s.call("partitions")
	assert.Equal(t, exit.OK, one.status, one.err)
	assert.Contains(t, one.out, "open")

	foretold := s.call("partitions", "--set", "4", "--dry-run")
	require.Equal(t, exit.OK, foretold.status, foretold.err)
	assert.Contains(t, foretold.out, "4 partitions instead of 1: 192 of 256 buckets would be moved")
	assert.NotContains(t, s.call("partitions").out, "under way", "nothing was done")

	grown := s.call("partitions", "--set", "4")
	require.Equal(t, exit.OK, grown.status, grown.err)
	assert.Contains(t, grown.out, "4 partitions, ")

	var shown struct {
		Partitions []struct {
			Partition, Buckets int
			State              string
			Version            int64
		}
		Version int64
		Wanted  int
	}
	got := s.call("partitions", "--json")
	require.Equal(t, exit.OK, got.status, got.err)
	require.NoError(t, json.Unmarshal([]byte(got.out), &shown))
	require.Len(t, shown.Partitions, 4)
	assert.Zero(t, shown.Wanted)
	for i, p := range shown.Partitions {
		assert.Equal(t, i, p.Partition)
		assert.Equal(t, "open", p.State)
		assert.Equal(t, 64, p.Buckets)
		assert.Equal(t, shown.Version, p.Version)
	}
	assert.Contains(t, s.call("jobs", "show", "greet-1").out, "greet", "it is found")

	shrunk := s.call("partitions", "--set", "3", "--no-wait")
	require.Equal(t, exit.OK, shrunk.status, shrunk.err)
	assert.Contains(t, s.call("partitions").out, "closed")
	again := s.call("partitions", "--set", "3")
	assert.Contains(t, again.out, "3 partitions, 0 jobs moved", "nothing is left to do")
}

func TestNumbersOfPartitionsThatCannotBe(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	for _, n := range []int{0, -1, 65} {
		got := s.call("partitions", "--set", fmt.Sprint(n))
		assert.Equal(t, exit.Usage, got.status)
		assert.Contains(t, got.err, "from 1 to 64")
	}
	assert.Equal(t, exit.Usage, s.call("partitions", "--dry-run").status)
}
