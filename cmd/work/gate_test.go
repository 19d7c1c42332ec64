package main

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAGateLetsSoManyPass(t *testing.T) {
	t.Parallel()
	g := newGate(4)
	shut, waits := make(chan int32, 10), make(chan struct{})
	var passed atomic.Int32
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			g.pass(func() { shut <- passed.Load(); close(waits) })
			passed.Add(1)
		})
	}
	<-waits
	g.open()
	g.open()
	all.Wait()
	g.pass(func() { shut <- -1 })
	assert.Len(t, shut, 1, "only the first that is held says so")
	assert.LessOrEqual(t, <-shut, int32(3))
	assert.EqualValues(t, 10, passed.Load())
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
			assert.Less(t, (holdAt(jobs, processes)-1)*processes, jobs, "%d jobs, %d processes", jobs, processes)
		}
	}
}
