package ids_test

import (
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
