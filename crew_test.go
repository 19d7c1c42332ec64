package work

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testCrew is a crew whose processors count what they take.
type testCrew struct {
	*crew
	hands sync.WaitGroup
	taken atomic.Int64
	left  chan struct{}
	block func(*run)
}

func newTestCrew(most int, block func(*run)) *testCrew {
	c := &testCrew{left: make(chan struct{}, 10*most), block: block}
	c.crew = newCrew(most, func() {
		c.hands.Go(func() {
			for r := c.take(true); r != nil; r = c.take(false) {
				c.taken.Add(1)
				c.block(r)
			}
			c.left <- struct{}{}
		})
	})
	return c
}

func someRuns(n int) []*run {
	runs := make([]*run, n)
	for i := range runs {
		runs[i] = &run{}
	}
	return runs
}

func TestACrewTakesEveryRunOnce(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	twice := atomic.Int64{}
	c := newTestCrew(8, func(r *run) {
		if _, known := seen.LoadOrStore(r, true); known {
			twice.Add(1)
		}
	})
	const lots, each = 2000, 7
	for range lots {
		c.add(someRuns(each))
	}
	c.close()
	c.hands.Wait()
	assert.Equal(t, int64(lots*each), c.taken.Load())
	assert.Zero(t, twice.Load())
	assert.Zero(t, c.alive.Load())
	assert.Zero(t, c.resting.Load())
}

func TestACrewHasAsManyProcessorsAsItNeeds(t *testing.T) {
	t.Parallel()
	go1, begun := make(chan struct{}), make(chan struct{}, 10)
	c := newTestCrew(3, func(*run) { begun <- struct{}{}; <-go1 })
	assert.Zero(t, c.alive.Load(), "nobody is there before there is work")
	c.add(someRuns(5))
	for range 3 {
		receive(t, begun)
	}
	assert.Equal(t, int64(3), c.alive.Load(), "one for each run, up to the most")
	close(go1)
	for range 2 {
		receive(t, begun)
	}
	c.close()
	c.hands.Wait()
	assert.Empty(t, begun)
}

func TestACrewThatRestsShrinks(t *testing.T) {
	t.Parallel()
	const most = 4 * spareProcessors
	together := sync.WaitGroup{}
	together.Add(most)
	c := newTestCrew(most, func(*run) { together.Done(); together.Wait() })
	c.add(someRuns(most))
	together.Wait()
	require.Eventually(t, func() bool { return c.resting.Load() == most }, patience, time.Millisecond)
	for c.alive.Load() > spareProcessors {
		c.shrink()
	}
	c.shrink()
	assert.Equal(t, int64(spareProcessors), c.alive.Load(), "a few stay")
	together = sync.WaitGroup{}
	together.Add(most)
	c.add(someRuns(most)) // and all come back when there is work
	together.Wait()
	c.close()
	c.hands.Wait()
	assert.Equal(t, int64(2*most), c.taken.Load())
}
