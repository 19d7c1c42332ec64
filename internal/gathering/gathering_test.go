package gathering_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/gathering"
)

// passed is what a gathering has passed on.
type passed struct {
	mu      sync.Mutex
	batches [][]int
}

func (p *passed) ready(batch []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.batches = append(p.batches, batch)
}

func (p *passed) all() [][]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.batches)
}

func TestABatchIsPassedOnWhenItIsFull(t *testing.T) {
	t.Parallel()
	seen := &passed{}
	g := gathering.New(3, time.Hour, seen.ready)
	for i := range 7 {
		g.Add("", i)
	}
	g.Settle()
	assert.Equal(t, [][]int{{0, 1, 2}, {3, 4, 5}}, seen.all())
	assert.Equal(t, 1, g.Held())
	assert.Equal(t, 2, g.Missing(""))
	assert.Equal(t, 3, g.Missing("other"))
	assert.Equal(t, []int{6}, g.Take())
	assert.Zero(t, g.Held())
}

func TestABatchIsPassedOnWhenItsFirstHasWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := &passed{}
		g := gathering.New(3, time.Second, seen.ready)
		g.Add("", 1)
		g.Settle()
		time.Sleep(600 * time.Millisecond)
		g.Add("", 2)
		g.Settle()
		assert.Empty(t, seen.all())
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, [][]int{{1, 2}}, seen.all())
		g.Add("", 3)
		g.Settle()
		time.Sleep(999 * time.Millisecond)
		assert.Len(t, seen.all(), 1, "the next one waits by itself")
		g.Add("", 4)
		g.Add("", 5)
		assert.Equal(t, [][]int{{1, 2}, {3, 4, 5}}, seen.all())
		g.Add("", 6)
		time.Sleep(time.Hour)
		assert.Len(t, seen.all(), 2, "its turn of additions is not over")
	})
}

func TestNothingWaitsWhereNothingMay(t *testing.T) {
	t.Parallel()
	seen := &passed{}
	g := gathering.New(3, 0, seen.ready)
	g.Add("a", 1)
	g.Add("b", 2)
	g.Add("a", 3)
	assert.Empty(t, seen.all(), "what comes at once is together")
	g.Settle()
	assert.Equal(t, [][]int{{1, 3}, {2}}, seen.all())
}

func TestTheOldestAreFlushedFirst(t *testing.T) {
	t.Parallel()
	seen := &passed{}
	g := gathering.New(3, time.Hour, seen.ready)
	for i, key := range []string{"a", "b", "c"} {
		g.Add(key, i)
	}
	g.Settle()
	g.Flush(1)
	assert.Equal(t, [][]int{{0}}, seen.all())
	g.Flush(9)
	assert.Equal(t, [][]int{{0}, {1}, {2}}, seen.all())
	assert.Zero(t, g.Held())
}

func TestAnItemIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := &passed{}
		g := gathering.New(3, time.Second, seen.ready)
		g.Add("a", 1)
		g.Add("a", 2)
		g.Add("b", 3)
		g.Settle()
		assert.True(t, g.Remove("a", 1))
		assert.False(t, g.Remove("a", 1), "it is gone")
		assert.False(t, g.Remove("c", 1))
		assert.True(t, g.Remove("b", 3))
		assert.Equal(t, 1, g.Held())
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, [][]int{{2}}, seen.all(), "no batch is empty")
	})
}

// TestNothingIsPassedOnOnceAllWasTaken, whenever the wait of a batch ends, and nothing is lost.
func TestNothingIsPassedOnOnceAllWasTaken(t *testing.T) {
	t.Parallel()
	for range 200 {
		seen := &passed{}
		g := gathering.New(100, time.Microsecond, seen.ready)
		for i := range 10 {
			g.Add("", i)
			g.Settle()
		}
		left := g.Take()
		before := slices.Concat(seen.all()...)
		assert.Len(t, append(before, left...), 10)
		assert.Equal(t, len(before), len(slices.Concat(seen.all()...)))
	}
}
