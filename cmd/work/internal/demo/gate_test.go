package demo

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAGateHoldsFromTheNthOn(t *testing.T) {
	t.Parallel()
	g := newGate(4)
	for range 3 {
		g.pass(func() { t.Error("it held one of those before") })
	}
	var passed atomic.Int32
	shut := make(chan struct{}, 10)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			g.pass(func() { shut <- struct{}{} })
			passed.Add(1)
		})
	}
	<-shut
	assert.Zero(t, passed.Load())
	g.open()
	g.open()
	all.Wait()
	g.pass(func() { t.Error("it is open") })
	assert.Empty(t, shut, "only the first that is held says so")
}

func TestAGateWithoutANumberIsOpen(t *testing.T) {
	t.Parallel()
	newGate(0).pass(func() { t.Error("it held") })
}

// If none came to hold, fewer jobs than there are would have been ended.
func TestSomeProcessComesToHold(t *testing.T) {
	t.Parallel()
	for jobs := 1; jobs < 200; jobs++ {
		for processes := 2; processes < 100; processes++ {
			at := holdAt(jobs, processes)
			assert.Less(t, (at-1)*processes, jobs, "%d jobs, %d processes", jobs, processes)
			assert.GreaterOrEqual(t, at*processes, jobs/3-processes, "and midway, not at once")
		}
	}
}
