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
