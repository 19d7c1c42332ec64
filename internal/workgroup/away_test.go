package workgroup_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/workgroup"
)

// TestAPlaceThatIsLeftIsFilled, and taken back before the items that wait for one.
func TestAPlaceThatIsLeftIsFilled(t *testing.T) {
	t.Parallel()
	all := items(3)
	begun, goOn := make(chan *item, 3), map[*item]chan struct{}{}
	for _, i := range all {
		goOn[i] = make(chan struct{})
	}
	var p *countedPool
	back := make(chan struct{})
	p = newPool(1, func(i *item) {
		begun <- i
		if i == all[0] {
			p.Away()
			<-goOn[i]
			p.Return(context.Background())
			close(back)
			return
		}
		<-goOn[i]
	})
	p.Add(append([]*item{}, all...))
	assert.Same(t, all[0], <-begun)
	assert.Same(t, all[1], <-begun, "in the place of the first")
	assert.Equal(t, 1, p.alive())
	close(goOn[all[0]])
	for p.alive() == 1 { // until it has come back, and waits
		runtime.Gosched()
	}
	assert.Empty(t, begun)
	close(goOn[all[1]])
	<-back
	assert.Same(t, all[2], <-begun)
	close(goOn[all[2]])
	p.Close()
	p.goroutines.Wait()
	assert.Zero(t, p.alive())
}

// TestAGoroutineThatRestsMakesRoom for one that comes back.
func TestAGoroutineThatRestsMakesRoom(t *testing.T) {
	t.Parallel()
	const most = 3
	goOn, second := make(chan struct{}), make(chan struct{}, most)
	var back sync.WaitGroup
	back.Add(most)
	var p *countedPool
	all := items(2 * most)
	p = newPool(most, func(i *item) {
		if slices.Contains(all[:most], i) {
			p.Away()
			<-goOn
			p.Return(context.Background())
			back.Done()
			return
		}
		second <- struct{}{}
	})
	p.Add(append([]*item{}, all...))
	for range most {
		<-second
	}
	require.Eventually(t, func() bool { _, resting := p.Size(); return resting == most }, soon, time.Millisecond)
	close(goOn)
	back.Wait()
	p.Close()
	p.goroutines.Wait()
	assert.Zero(t, p.alive())
	assert.Equal(t, int64(2*most), p.taken.Load())
}

// TestOneThatWaitsForNoPlaceGoesOn beside the others, and the next one that has done its item leaves.
func TestOneThatWaitsForNoPlaceGoesOn(t *testing.T) {
	t.Parallel()
	var p *countedPool
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	all := items(3)
	begun, goOn, together := make(chan *item, 3), make(chan struct{}), make(chan struct{})
	p = newPool(1, func(i *item) {
		begun <- i
		switch i {
		case all[0]:
			p.Away()
			<-goOn
			p.Return(ended)
			close(together)
		case all[1]:
			<-together
		}
	})
	p.Add(append([]*item{}, all...))
	<-begun
	<-begun
	close(goOn)
	assert.Same(t, all[2], <-begun)
	p.Close()
	p.goroutines.Wait()
	assert.Zero(t, p.alive())
}

// TestPlacesAreNeverTooMany however many items leave theirs and come back, and nothing is left undone.
func TestPlacesAreNeverTooMany(t *testing.T) {
	t.Parallel()
	const most, all, waits = 3, 2000, 3
	var p *countedPool
	var running, highest atomic.Int64
	run := func() {
		now := running.Add(1)
		for before := highest.Load(); now > before && !highest.CompareAndSwap(before, now); before = highest.Load() {
		}
		runtime.Gosched()
		running.Add(-1)
	}
	p = newPool(most, func(*item) {
		run()
		for range waits {
			p.Away()
			runtime.Gosched()
			p.Return(context.Background())
			run()
		}
	})
	for range all / 10 {
		p.Add(items(10))
		runtime.Gosched()
		p.Shrink()
	}
	p.Close()
	p.goroutines.Wait()
	assert.Equal(t, int64(all), p.taken.Load())
	assert.LessOrEqual(t, highest.Load(), int64(most))
	assert.Zero(t, p.alive())
}

func TestSlotsOfThoseThatAreAway(t *testing.T) {
	t.Parallel()
	s := workgroup.NewSlots(2, 3)
	s.Hold(3)
	s.Occupy(2)
	assert.Zero(t, s.Free())
	require.True(t, s.Leave(2))
	assert.Equal(t, []int{1, 1, 2}, []int{s.Free(), s.Away(), s.Busy()})
	require.True(t, s.Leave(2))
	assert.Equal(t, 2, s.Free())
	assert.False(t, s.Leave(2), "as many are away as may")
	s.Return()
	assert.Equal(t, 1, s.Free())
	assert.True(t, s.Leave(2))
}

// absentee counts how often a place was left and taken again.
type absentee struct {
	workgroup.Absence

	left, returned atomic.Int64
	refuse         error
	returning      chan struct{} // is told of each return
	hold           chan struct{} // a return waits for it, unless its ctx has ended
}

func newAbsentee() *absentee {
	a := &absentee{hold: make(chan struct{}), returning: make(chan struct{}, 9)}
	a.Leave = func() error { a.left.Add(1); return a.refuse }
	a.Return = func(ctx context.Context) {
		a.returning <- struct{}{}
		select {
		case <-a.hold:
		case <-ctx.Done():
		}
		a.returned.Add(1)
	}
	return a
}

// counts are how often it left and returned.
func (a *absentee) counts() [2]int64 { return [2]int64{a.left.Load(), a.returned.Load()} }

func TestAnAbsenceIsThatOfAllWhoWait(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	t.Run("the first leaves and the last returns", func(t *testing.T) {
		t.Parallel()
		a := newAbsentee()
		close(a.hold)
		for range 3 {
			require.NoError(t, a.Begin())
		}
		a.End(ctx)
		a.End(ctx)
		assert.Equal(t, [2]int64{1, 0}, a.counts())
		a.End(ctx)
		assert.Equal(t, [2]int64{1, 1}, a.counts())
		require.NoError(t, a.Begin())
		a.End(ctx)
		assert.Equal(t, [2]int64{2, 2}, a.counts())
	})
	t.Run("whoever may not leave does not wait", func(t *testing.T) {
		t.Parallel()
		a := newAbsentee()
		a.refuse = errors.New("no")
		require.EqualError(t, a.Begin(), "no")
		a.Close()
		assert.Equal(t, [2]int64{1, 0}, a.counts())
	})
	t.Run("one that waits while another returns", func(t *testing.T) {
		t.Parallel()
		a := newAbsentee()
		require.NoError(t, a.Begin())
		var ending sync.WaitGroup
		ending.Go(func() { a.End(ctx) })
		<-a.returning
		require.NoError(t, a.Begin())
		assert.Equal(t, [2]int64{1, 0}, a.counts(), "it has not come back yet")
		close(a.hold)
		ending.Wait()
		assert.Equal(t, [2]int64{2, 1}, a.counts(), "and leaves again for the other")
		a.End(ctx)
		assert.Equal(t, [2]int64{2, 2}, a.counts())
	})
	t.Run("one that ends while another returns", func(t *testing.T) {
		t.Parallel()
		a := newAbsentee()
		require.NoError(t, a.Begin())
		var ending sync.WaitGroup
		ending.Go(func() { a.End(ctx) })
		<-a.returning
		require.NoError(t, a.Begin())
		ending.Go(func() { a.End(ctx) })
		close(a.hold)
		ending.Wait()
		assert.Equal(t, a.left.Load(), a.returned.Load())
	})
	t.Run("closed while it is away", func(t *testing.T) {
		t.Parallel()
		a := newAbsentee()
		require.NoError(t, a.Begin())
		a.Close()
		assert.Equal(t, [2]int64{1, 1}, a.counts())
		require.NoError(t, a.Begin(), "a goroutine that is left behind waits on")
		a.End(ctx)
		a.End(ctx)
		assert.Equal(t, [2]int64{1, 1}, a.counts(), "and has no place")
	})
	t.Run("closed while it returns", func(t *testing.T) {
		t.Parallel()
		a := newAbsentee()
		require.NoError(t, a.Begin())
		var ending sync.WaitGroup
		ending.Go(func() { a.End(ctx) })
		a.Close()
		ending.Wait()
		assert.Equal(t, [2]int64{1, 1}, a.counts())
	})
}
