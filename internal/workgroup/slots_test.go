package workgroup_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/workgroup"
)

func TestSlotsAreThoseOfBothBounds(t *testing.T) {
	t.Parallel()
	s := workgroup.NewSlots(3, 5)
	assert.Equal(t, 3, s.Free(), "one for each goroutine")
	s.Hold(3)
	s.Occupy(3)
	assert.Zero(t, s.Free())
	assert.Equal(t, 3, s.Queued())
	s.TakeUp()
	s.Vacate()
	assert.Equal(t, []int{2, 2, 3, 1}, []int{s.Queued(), s.Busy(), s.Held(), s.Free()})
	s.Hold(2)
	assert.Zero(t, s.Free(), "as many are held as may")
	s.Park()
	assert.Equal(t, 1, s.Free(), "one that is parked keeps no other from being fetched")
	s.Unpark(1)
	s.Settled(1)
	assert.Equal(t, 1, s.Free())
}

func TestSlotsAreWaitedFor(t *testing.T) {
	t.Parallel()
	none := func() bool { return false }
	s := workgroup.NewSlots(1, 9)
	s.Hold(1)
	s.Occupy(1)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() { assert.Equal(t, 1, s.Wait(ctx, none)) })
	s.Vacate()
	waiting.Wait()
	s.Occupy(1)
	assert.Zero(t, s.Wait(ctx, func() bool { return true }), "there is news")
	waiting.Go(func() { assert.Zero(t, s.Wait(ctx, none)) })
	cancel()
	waiting.Wait()
	assert.False(t, s.Until(ctx, none))
	assert.True(t, s.Until(ctx, func() bool { return true }))
}

func TestWhatIsBoundedElsewhereKeepsNothingFromBeingFetched(t *testing.T) {
	t.Parallel()
	s := workgroup.NewSlots(2, 3)
	s.Hold(503)
	assert.Equal(t, -500, s.Free())
	s.Apart(500)
	assert.Zero(t, s.Free())
	s.Settled(3)
	assert.Equal(t, 2, s.Free())
	assert.Equal(t, 500, s.Held(), "a stop waits for them")
	s.Apart(-500)
	s.Settled(500)
	assert.Zero(t, s.Held())
}
