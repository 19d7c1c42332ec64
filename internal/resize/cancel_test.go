package resize_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// A job of the morgue that is on its way stays as it is when it is cancelled, and that is what is said; one that is to
// be tried again ends where it arrives.
func TestWhatIsOnItsWayIsCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for shelf, effect := range map[string]ending.Effect{"morgue": ending.Dead, "retry": ending.Leaving} {
			s := newTown(t, server)
			s.namespace += shelf
			s.directory = s.another(s.driver)
			ctx := context.Background()
			require.NoError(t, resize.To(ctx, s.directory, 2, nil))
			s.shelve(t, 0, "leaving")
			s.cmd(t, 0, "ZREM", "retry", "leaving")
			s.cmd(t, 0, "ZADD", shelf, "9999999999999", "leaving")
			s.leaveFrozen(t, 0, 1, "leaving")
			results, err := ending.Cancel(ctx, s.directory.Store(0), []string{"leaving"})
			require.NoError(t, err)
			assert.Equal(t, effect, results[0].Effect)
			s.settleAll(t)
			assert.Len(t, s.texts(t, s.cmd(t, 1, "ZRANGE", "morgue", 0, -1)), map[string]int{"morgue": 1}[shelf])
			assert.Len(t, s.records(t), map[string]int{"morgue": 1}[shelf])
			assert.Empty(t, s.texts(t, s.cmd(t, 1, "SMEMBERS", "cancelled")))
		}
	})
}
