package rdb_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// TestFetchTakesAnIDOnceThatStandsTwiceInOneLot: the index of claims does not know the first one yet when the second
// comes.
func TestFetchTakesAnIDOnceThatStandsTwiceInOneLot(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]any{
		"side by side":              {"a3"},
		"apart":                     {"a1"},
		"three times":               {"a2", "a2"},
		"beside one that is no job": {"a2", "no-record"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1", "a2", "a3")
				s.cmd(t, "LPUSH", "queue:a", more...)
				fetched, err := s.worker(t, "w1", "a").
					Fetch(t.Context(), 1, 8, false, []rdb.Share{{Queue: "a", Jobs: 8}})
				require.NoError(t, err)
				assert.Equal(t, []string{"a/a1", "a/a2", "a/a3"}, fetchedIDs(fetched))
				for i := range fetched.Jobs {
					assert.Equal(t, record(fetched.Jobs[i].ID), fetched.Jobs[i].Record)
				}
				assert.Equal(t, len(more), fetched.Dropped)
				assert.Equal(t, []string{"1:a1", "1:a2", "1:a3"}, s.list(t, "worker:w1:inprocess:a"))
				assert.Equal(t, []string{"a1", "a2", "a3"}, slices.Sorted(maps.Keys(s.hash(t, "claimed"))))
			})
		})
	}
}
