package ids_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
)

func TestIDsOfJobsSortAsTheyWereMade(t *testing.T) {
	t.Parallel()
	now := time.Now()
	before, seen := "", map[string]bool{}
	for i := range 10_000 {
		id := ids.Job(now.Add(time.Duration(i%7-3) * time.Millisecond)) // the clock goes back and forth
		require.Len(t, id, 22)
		require.Less(t, before, id)
		require.False(t, seen[id[11:]], "the second half is random")
		seen[id[11:]], before = true, id
	}
}

func TestIDsOfWorkersAreLongEnoughForTheHashOfClaims(t *testing.T) {
	t.Parallel()
	id, other := ids.Worker(), ids.Worker()
	assert.Len(t, id, rdb.MinWorkerID)
	assert.NotEqual(t, id, other)
}

func TestRandomIsHexOfSoManyBytes(t *testing.T) {
	t.Parallel()
	assert.Regexp(t, "^[0-9a-f]{16}$", ids.Random(8))
	assert.Empty(t, ids.Random(0))
}

func TestUUIDIsARandomOne(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1_000 {
		id := ids.UUID()
		require.Regexp(t, "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", id)
		require.True(t, ids.IsUUID(id))
		require.False(t, seen[id])
		seen[id] = true
	}
}

func TestIsUUID(t *testing.T) {
	t.Parallel()
	const one = "0b14f7a2-9c1e-4c53-8d7b-51a6f0e3c9d8"
	for name, row := range map[string]struct {
		text string
		want bool
	}{
		"one":           {text: one, want: true},
		"in capitals":   {text: strings.ToUpper(one), want: true},
		"nothing":       {},
		"too short":     {text: one[1:]},
		"too long":      {text: one + "0"},
		"in braces":     {text: "{" + one[1:35] + "}"},
		"no dashes":     {text: strings.ReplaceAll(one, "-", "0")},
		"another digit": {text: one[:35] + "g"},
		"a dash more":   {text: one[:35] + "-"},
		"no ASCII":      {text: one[:34] + "é"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, ids.IsUUID(row.text))
		})
	}
}

// The letters of the partition stand last, so that ids sort by time wherever their jobs live.
func TestAnIDNamesThePartitionOfItsJob(t *testing.T) {
	t.Parallel()
	before := ""
	for i := range 1024 {
		id := ids.Job(time.Now())
		at, made := ids.PartitionOf(id)
		require.True(t, made)
		require.Zero(t, at)
		there := ids.InPartition(id, (i*7)%1024)
		require.Len(t, there, len(id))
		require.Less(t, before, there)
		require.Equal(t, id[:20], there[:20])
		at, made = ids.PartitionOf(there)
		require.True(t, made)
		require.Equal(t, (i*7)%1024, at)
		require.Equal(t, id, ids.InPartition(there, 0))
		before = there
	}
}

// Ids that programs give are left alone, and name no partition unless they look as if they had been made: which of
// those were cannot be told.
func TestAGivenIDNamesNoPartition(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "order-7", "01j8zq7w1mf5c2k9t0x4a", "01j8zq7w1mf5c2k9t0x4aab",
		"01J8ZQ7W1MF5C2K9T0X4AA", "01j8zq7w1mf5c2k9t0x4al", "01j8zq7w1mf5c2k9t-x4aa"} {
		_, made := ids.PartitionOf(id)
		assert.False(t, made, id)
	}
	assert.Equal(t, "order-7", ids.InPartition("order-7", 3))
	id := ids.Job(time.Now())
	assert.Equal(t, id, ids.InPartition(id, -1))
	assert.Equal(t, id, ids.InPartition(id, 1024))
	_, made := ids.PartitionOf("01j8zq7w1mf5c2k9t0x4aa")
	assert.True(t, made)
}
