package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What an outbox has under way is in a database, for longer than any process lives.
func TestTheLanesOfAnOutboxAreKeptForLong(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		ago := func(d time.Duration) string { return fmt.Sprint("7 ", s.now(t).Add(-d).UnixMilli()) }
		const day = 24 * time.Hour
		s.cmd(t, "HSET", "lanes", "young", ago(day/2), "old", ago(2*day),
			"outbox:young", ago(89*day), "outbox:old", ago(91*day))
		next, err := s.store.RemoveStaleLanes(t.Context(), "", day)
		require.NoError(t, err)
		assert.Equal(t, "0", next)
		left := s.hash(t, "lanes")
		assert.Contains(t, left, "young")
		assert.Contains(t, left, "outbox:young")
		assert.Len(t, left, 2)
	})
}
