package workgroup_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/265d0351/work/internal/workgroup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is how long a test waits before it gives up; nothing depends on it while all is well.
const soon = time.Minute

type item struct{ older *item }

// countedPool is a pool whose goroutines count what they take.
type countedPool struct {
	*workgroup.Pool[item]
	goroutines sync.WaitGroup
	taken      atomic.Int64
}

func newPool(most int, handle func(*item)) *countedPool {
	p := &countedPool{}
	p.Pool = workgroup.NewPool[item](most, func() {
		p.goroutines.Go(func() {
			for i := p.Take(true); i != nil; i = p.Take(false) {
				p.taken.Add(1)
				handle(i)
			}
		})
	})
	return p
}

func items(n int) []*item {
	all := make([]*item, n)
	for i := range all {
		all[i] = &item{}
	}
	return all
}

// alive is how many goroutines a pool has.
func (p *countedPool) alive() int {
	alive, _ := p.Size()
	return alive
}

func TestAPoolTakesEveryItemOnce(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	twice := atomic.Int64{}
	p := newPool(8, func(i *item) {
		if _, known := seen.LoadOrStore(i, true); known {
			twice.Add(1)
		}
	})
	const batches, each = 2000, 7
	for range batches {
		p.Add(items(each))
	}
	p.Close()
	p.goroutines.Wait()
	assert.Equal(t, int64(batches*each), p.taken.Load())
	assert.Zero(t, twice.Load())
	alive, resting := p.Size()
	assert.Zero(t, alive)
	assert.Zero(t, resting)
}

func TestAPoolHasAsManyGoroutinesAsItNeeds(t *testing.T) {
	t.Parallel()
	goOn, begun := make(chan struct{}), make(chan struct{}, 10)
	p := newPool(3, func(*item) { begun <- struct{}{}; <-goOn })
	assert.Zero(t, p.alive(), "nobody is there before there is work")
	p.Add(items(5))
	for range 3 {
		<-begun
	}
	assert.Equal(t, 3, p.alive(), "one for each item, up to the most")
	close(goOn)
	for range 2 {
		<-begun
	}
	p.Close()
	p.goroutines.Wait()
	assert.Empty(t, begun)
}

func TestAPoolThatRestsShrinks(t *testing.T) {
	t.Parallel()
	const most = 4 * workgroup.Spare
	together := sync.WaitGroup{}
	together.Add(most)
	p := newPool(most, func(*item) { together.Done(); together.Wait() })
	p.Add(items(most))
	together.Wait()
	require.Eventually(t, func() bool { _, resting := p.Size(); return resting == most }, soon, time.Millisecond)
	for p.alive() > workgroup.Spare {
		p.Shrink()
	}
	p.Shrink()
	assert.Equal(t, workgroup.Spare, p.alive(), "a few stay")
	together = sync.WaitGroup{}
	together.Add(most)
	p.Add(items(most)) // and all come back when there is work
	together.Wait()
	p.Close()
	p.goroutines.Wait()
	assert.Equal(t, int64(2*most), p.taken.Load())
}

func TestWhatIsUntakenComesBackInOrder(t *testing.T) {
	t.Parallel()
	goOn, begun := make(chan struct{}), make(chan *item, 10)
	p := newPool(1, func(i *item) { begun <- i; <-goOn })
	all := items(5)
	p.Add(append([]*item{}, all[:2]...))
	p.Add(append([]*item{}, all[2:]...))
	assert.Same(t, all[0], <-begun)
	left := p.Untaken()
	require.Len(t, left, 4)
	for n, i := range left {
		assert.Same(t, all[n+1], i)
	}
	assert.Empty(t, p.Untaken())
	p.Add(left[3:]) // some go back
	close(goOn)
	p.Close()
	p.goroutines.Wait()
	assert.Same(t, all[4], <-begun)
	assert.Empty(t, begun)
}
