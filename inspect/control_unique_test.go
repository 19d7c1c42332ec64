package inspect_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// A job that is buried has no lock. When somebody retries it, it is one of a kind again, or stays where it is.
func TestADeadJobThatIsRetriedIsUniqueAgain(t *testing.T) {
	t.Parallel()
	retries := map[string]func(k *kit, id string) error{
		"one": func(k *kit, id string) error { return k.hands().RetryNow(k.Ctx(), id) },
		"many": func(k *kit, _ string) error {
			report, err := k.hands().Bulk(k.Ctx(), inspect.Selection{State: work.StateDead}, inspect.ActionRetryNow(),
				inspect.BulkOptions{})
			for _, refused := range report.Refused {
				err = errors.Join(err, refused.Err)
			}
			return err
		},
	}
	for name, retry := range retries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				entry := pooltest.Only(work.UniqueOptions{Key: "k"})
				bury := func() string {
					receipt, err := k.EnqueueEntry(entry)
					require.NoError(t, err)
					require.False(t, receipt.Duplicate)
					pool := work.NewWorkerPool(nil, 1, k.Options()).
						Job(entry.Name, func() error { return work.Bury(pooltest.ErrLuck) })
					require.NoError(t, pool.Start(k.Ctx()))
					k.Drained(pool)
					require.NoError(t, pool.Stop(k.Ctx()))
					require.Equal(t, work.StateDead, k.whereabouts(receipt.ID))
					return receipt.ID
				}
				dead := bury()
				require.NoError(t, retry(k, dead))
				assert.Equal(t, work.StateQueued, k.whereabouts(dead))
				assert.True(t, k.Duplicate(entry), "it has its lock again")
				require.NoError(t, k.hands().Stall(k.Ctx(), dead))
				assert.True(t, k.Duplicate(entry), "and keeps it while it is put aside")
				require.NoError(t, k.hands().Resume(k.Ctx(), dead))
				require.NoError(t, k.hands().Delete(k.Ctx(), dead))

				dead = bury()
				other, err := k.EnqueueEntry(entry)
				require.NoError(t, err)
				require.False(t, other.Duplicate)
				var duplicate *work.DuplicateError
				require.ErrorAs(t, retry(k, dead), &duplicate)
				assert.Equal(t, other.ID, duplicate.ID)
				assert.Contains(t, duplicate.Error(), "wait for its end, or delete one of the two")
				assert.Equal(t, work.StateDead, k.whereabouts(dead), "it stays where it is")
				require.NoError(t, k.hands().Delete(k.Ctx(), other.ID))
				require.NoError(t, retry(k, dead))
				assert.Equal(t, work.StateQueued, k.whereabouts(dead))
				k.healthy(entry.Name)
			})
		})
	}
}
