package worktest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

func TestDrainAllPassesSleepsAndNamesAMissingMessage(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	pool := d.r.Start(t, work.NewWorkerPool(nil, 1, d.r.Options()).Job("import", func(ctx context.Context) error {
		if err := work.Sleep(ctx, "cool-down", 24*time.Hour); err != nil {
			return err
		}
		by, err := work.Receive[string](ctx, "approval")
		if err == nil {
			d.note("approved by " + by)
		}
		return err
	}))
	receipt, err := pool.Enqueuer().Enqueue(t.Context(), "import")
	require.NoError(t, err)
	require.ErrorContains(t, drainAll(t.Context(), d.r, pool, maxMoves), "waits for a message without an end")
	require.NoError(t, work.Send(t.Context(), pool.Enqueuer(), receipt.ID, "approval", "ann"))
	DrainAll(t, d.r, pool)
	assert.Equal(t, []string{"24h0m0s approved by ann"}, d.lines)
}
