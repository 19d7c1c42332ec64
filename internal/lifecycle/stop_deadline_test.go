package lifecycle

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAStopDeadlineIsSetOnce(t *testing.T) {
	t.Parallel()
	d := NewStopDeadline()
	later, cancel := d.After(0.5)
	defer cancel()
	require.NoError(t, d.Err())
	d.Hurry(time.Millisecond)
	d.Hurry(time.Hour)
	require.Error(t, d.Err())
	<-later.Done()
}

func TestAStopDeadlineLeavesAShareOfItsTime(t *testing.T) {
	t.Parallel()
	d := NewStopDeadline()
	d.Hurry(time.Hour)
	later, cancel := d.After(0.5)
	require.NoError(t, later.Err())
	cancel()
	require.Error(t, later.Err())
}

func TestTimeIsReservedAtTheEndOfACtx(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ has, want time.Duration }{
		"much time":   {time.Hour, time.Minute},
		"little time": {time.Minute, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), row.has)
			defer cancel()
			left, sooner, cancel := Reserve(ctx, time.Minute)
			defer cancel()
			assert.InDelta(t, row.want, left, float64(5*time.Second))
			deadline, _ := sooner.Deadline()
			end, _ := ctx.Deadline()
			assert.Equal(t, end.Add(-left), deadline)
		})
	}
	t.Run("no end", func(t *testing.T) {
		t.Parallel()
		left, sooner, cancel := Reserve(t.Context(), time.Minute)
		defer cancel()
		assert.Equal(t, time.Minute, left)
		_, ends := sooner.Deadline()
		assert.False(t, ends)
	})
}
