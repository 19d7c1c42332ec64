package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/backoff"
)

// However often it has failed, a wait is neither nothing nor endless, and not the same for all.
func TestForGrowsWithinItsBounds(t *testing.T) {
	t.Parallel()
	for failures := range 200 {
		seen := map[time.Duration]bool{}
		ceiling := min(50*time.Millisecond<<min(max(failures, 1)-1, 10), 2*time.Second)
		for range 50 {
			d := backoff.For(max(failures, 1))
			assert.GreaterOrEqual(t, d, ceiling/2)
			assert.Less(t, d, ceiling)
			seen[d] = true
		}
		assert.Greater(t, len(seen), 10)
	}
}

func TestPauseEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	assert.True(t, backoff.Pause(t.Context(), time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.False(t, backoff.Pause(ctx, time.Hour))
	assert.False(t, backoff.Pause(ctx, 0), "also where both have ended")
}

func TestPauseTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		assert.True(t, backoff.Pause(context.Background(), time.Second))
		assert.Equal(t, time.Second, time.Since(begun))
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		assert.False(t, backoff.Pause(ctx, time.Hour))
		assert.Equal(t, time.Second+time.Millisecond, time.Since(begun), "or that of its ctx")
	})
}

func TestRereadsComeToAnEnd(t *testing.T) {
	t.Parallel()
	n := 0
	for range backoff.Rereads(t.Context()) {
		n++
	}
	assert.Equal(t, backoff.MaxRereads, n)
	for range backoff.Rereads(t.Context()) {
		break
	}
}

func TestFailuresWaitLongerInARow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failures backoff.Failures
		for _, ceiling := range []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000} {
			begun := time.Now()
			assert.True(t, failures.Pause(t.Context()))
			assert.GreaterOrEqual(t, time.Since(begun), ceiling*time.Millisecond/2)
			assert.Less(t, time.Since(begun), ceiling*time.Millisecond)
		}
		failures = 0
		assert.Less(t, failures.Next(), 50*time.Millisecond, "what goes well counts as none")
		assert.GreaterOrEqual(t, failures.Next(), 50*time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.False(t, failures.Pause(ctx))
		assert.EqualValues(t, 3, failures)
	})
}
