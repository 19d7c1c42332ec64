package objects

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An old object that nobody refers to is collected at the very moment at which two submits of the same content are
// under way. Whoever comes first, both submits must find it, for as long as they refer to it.
func TestNoObjectIsDroppedWhileASubmitOfItIsUnderWay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		const rounds = 1000
		text := []byte("prices")
		hash := k.put(text)
		removed := 0
		for round := range rounds {
			k.age(hash)
			ids := []string{fmt.Sprint("first ", round), fmt.Sprint("second ", round)}
			k.do("HSET", "jobs", ids[0], "{}", ids[1], "{}")
			collector := choosing(t, k.Store)
			var racing sync.WaitGroup
			for _, id := range ids {
				racing.Go(func() {
					_, err := k.Put(t.Context(), text)
					assert.NoError(t, err)
					assert.NoError(t, k.Refer(t.Context(), hash, id))
				})
			}
			racing.Go(func() {
				did, _, err := collector.Step(t.Context())
				assert.NoError(t, err)
				removed += did.Objects
			})
			racing.Wait()
			got, err := k.References(t.Context(), hash)
			require.NoError(t, err)
			require.Equal(t, ids, got, "round %d", round)
			content, err := k.Get(t.Context(), hash)
			require.NoError(t, err, "round %d", round)
			require.Equal(t, text, content)
			require.NoError(t, k.Unrefer(t.Context(), hash, ids...))
			k.do("HDEL", "jobs", ids[0], ids[1])
		}
		t.Logf("in %d of %d rounds the collector came first", removed, rounds)
	})
}

// choosing is a collector that has chosen what to remove, and removes it with its next step.
func choosing(t *testing.T, s *Store) *Collector {
	collector := s.Collector()
	for len(collector.old) == 0 {
		_, done, err := collector.Step(t.Context())
		require.NoError(t, err)
		require.False(t, done, "nothing is old")
	}
	return collector
}
