package liveness_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/liveness"
)

// TestAFenceFallsForWhoAsksAfterAPause: the process was paused, and its timers have not rung yet.
func TestAFenceFallsForWhoAsksAfterAPause(t *testing.T) {
	t.Parallel()
	falls := 0
	f := liveness.NewFence(time.Minute, func() int { falls++; return 1 }, func(time.Duration, int) {})
	assert.False(t, f.IsDown(), "before the first heartbeat")
	f.Answered(time.Now())
	defer f.Stop()
	assert.False(t, f.IsDown())

	f.Age(2 * time.Minute)
	assert.True(t, f.IsDown())
	f.Answered(time.Now().Add(-90 * time.Second))
	assert.True(t, f.IsDown(), "the answer came too late: it was sent before the pause")
	assert.Equal(t, 1, falls)
	f.Answered(time.Now())
	assert.False(t, f.IsDown())
}

func TestAFenceThatNobodyAskedForNeverFalls(t *testing.T) {
	t.Parallel()
	off := liveness.NewFence(0, nil, nil)
	off.Answered(time.Now().Add(-time.Hour))
	assert.False(t, off.IsDown())
	off.Stop()
	var none *liveness.Fence
	assert.False(t, none.IsDown())
}

func TestAFenceTellsOnceForHowLongNothingWasHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type word struct {
			silence time.Duration
			jobs    int
		}
		told := make(chan word, 2)
		f := liveness.NewFence(2*time.Second, func() int { return 3 },
			func(silence time.Duration, n int) { told <- word{silence, n} })
		f.Answered(time.Now())
		elapse(1500 * time.Millisecond)
		f.Answered(time.Now())
		elapse(1900 * time.Millisecond)
		synctest.Wait()
		assert.Empty(t, told, "the second answer put it off")
		elapse(time.Hour)
		synctest.Wait()
		assert.Equal(t, word{2 * time.Second, 3}, <-told)
		assert.Empty(t, told)
		f.Stop()
	})
}
