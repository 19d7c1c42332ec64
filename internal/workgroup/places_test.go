package workgroup_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/workgroup"
)

func never() bool { return false }

func TestPlacesAreLentInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := workgroup.NewPlaces(2)
		a, b, c := p.Slots(9), p.Slots(9), p.Slots(9)
		a.Hold(2)
		a.Occupy(2)
		var order []string
		var mu sync.Mutex
		var waiting sync.WaitGroup
		for _, one := range []struct {
			name string
			of   *workgroup.Slots
		}{{"b", b}, {"c", c}} {
			waiting.Go(func() {
				assert.Equal(t, 1, one.of.AwaitTurn(t.Context(), 1, never))
				mu.Lock()
				defer mu.Unlock()
				order = append(order, one.name)
			})
			synctest.Wait()
		}
		synctest.Wait()
		require.Equal(t, 2, p.Waiting())
		assert.Zero(t, a.Turn(2), "others wait")
		a.Vacate()
		synctest.Wait()
		assert.Equal(t, []string{"b"}, order)
		a.Vacate()
		waiting.Wait()
		assert.Equal(t, []string{"b", "c"}, order)
		assert.Zero(t, p.Free(), "both are lent")
		b.EndTurn()
		c.EndTurn()
		assert.Equal(t, 2, p.Free())
	})
}

func TestWhatATurnDoesNotNeedGoesToTheNext(t *testing.T) {
	t.Parallel()
	p := workgroup.NewPlaces(5)
	a, b := p.Slots(9), p.Slots(9)
	assert.Equal(t, 5, a.Turn(9))
	assert.Zero(t, b.Turn(9))
	a.KeepOnly(3)
	assert.Equal(t, 2, b.Turn(9))
	a.Hold(1)
	a.Occupy(1)
	a.EndTurn()
	a.EndTurn()
	assert.Equal(t, 2, p.Free())
	b.EndTurn()
	assert.Equal(t, 4, p.Free())
}

// TestASlowOneIsLentItsPart beside others that want places, and all where there are none.
func TestASlowOneIsLentItsPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const room = 9
		p := workgroup.NewPlaces(room)
		slow, quick, idle := p.Slots(room), p.Slots(room), p.Slots(room)
		for range 20 { // it turns out to be slow
			require.Equal(t, room, slow.Turn(room), "nobody else wants a place")
			<-time.After(20 * time.Millisecond)
			slow.EndTurn()
		}
		require.Equal(t, 3, quick.Turn(3))
		assert.Equal(t, 5, slow.Turn(room), "half of them, rounded up: the third one wants nothing")
		slow.EndTurn()
		require.Equal(t, 3, idle.Turn(3))
		assert.Equal(t, 3, slow.Turn(room), "a third")
		idle.EndTurn()
		quick.EndTurn()
		slow.EndTurn()
		for range 20 { // by now it is quick again
			slow.Turn(room)
			slow.EndTurn()
		}
		require.Equal(t, 1, quick.Turn(1))
		assert.Equal(t, room-1, slow.Turn(room))
		slow.EndTurn()
		quick.EndTurn()
	})
}

// TestATurnThatLastsTooLong is over for the others: the places go to them, and what it brings comes on top.
func TestATurnThatLastsTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := workgroup.NewPlaces(2)
		a, b := p.Slots(9), p.Slots(9)
		require.Equal(t, 2, a.Turn(2))
		begun := time.Now()
		assert.Equal(t, 2, b.AwaitTurn(t.Context(), 2, never))
		assert.Equal(t, 50*time.Millisecond, time.Since(begun))
		a.Hold(2)
		a.Occupy(2)
		a.EndTurn()
		assert.Equal(t, -2, p.Free())
		b.EndTurn()
		assert.Zero(t, p.Free())
		a.Vacate()
		require.Equal(t, 1, a.Turn(2))
		a.EndTurn()
		assert.Equal(t, 1, p.Free(), "the end of the first turn does not concern the second")
	})
}

// TestWhoHoldsAllThatItMayKeepsNobodyWaiting although it came first: its results are not acknowledged.
func TestWhoHoldsAllThatItMayKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := workgroup.NewPlaces(2)
		a, b := p.Slots(1), p.Slots(1)
		a.Hold(1)
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() { assert.Zero(t, a.AwaitTurn(ctx, 1, never)) })
		synctest.Wait()
		require.Equal(t, 1, p.Waiting())
		assert.True(t, b.Spare())
		assert.Equal(t, 1, b.AwaitTurn(ctx, 2, never))
		cancel()
		waiting.Wait()
		b.EndTurn()
	})
}

// TestPlacesThatManyShare are never too many, nobody starves, and none is lost when some part.
func TestPlacesThatManyShare(t *testing.T) {
	t.Parallel()
	const room, sharers, turns = 5, 4, 500
	p := workgroup.NewPlaces(room)
	all := make([]*workgroup.Slots, sharers)
	for i := range all {
		all[i] = p.Slots(2 * room)
	}
	var running, highest atomic.Int64
	var working, jobs sync.WaitGroup
	for _, s := range all {
		working.Go(func() {
			defer s.Part()
			for range turns {
				n := s.AwaitTurn(context.Background(), 3, never)
				s.Hold(n)
				s.Occupy(n)
				s.EndTurn()
				for range n {
					jobs.Go(func() {
						now := running.Add(1)
						before := highest.Load()
						for now > before && !highest.CompareAndSwap(before, now) {
							before = highest.Load()
						}
						runtime.Gosched()
						running.Add(-1)
						s.TakeUp()
						s.Vacate()
						s.Settled(1)
					})
				}
			}
		})
	}
	working.Wait()
	jobs.Wait()
	assert.LessOrEqual(t, highest.Load(), int64(room))
	assert.Equal(t, room, p.Free())
	assert.Zero(t, p.Waiting())
}
