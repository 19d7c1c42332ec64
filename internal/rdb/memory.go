package rdb

import "sync/atomic"

// memory is what a worker remembers of what Redis has acknowledged to it: the number of the last fetch, survey or
// change of what it serves. A replica that takes over has all that its master did up to some moment, and nothing of
// what came later, so a worker to whom later calls were acknowledged can tell: Redis knows of an older number only.
// Then it refuses these calls until the worker says, by [memory.Acknowledged], that it remembers no more than that.
type memory struct {
	reached atomic.Int64
	fell    atomic.Int64 // one more than what Redis fell back to and nobody has asked about; 0 is nothing
}

// compare looks whether Redis, which knows of calls up to known, has forgotten some: when it was asked it had
// acknowledged reached. An answer that was overtaken says nothing.
func (m *memory) compare(reached, known int64) {
	if known < reached && m.reached.Load() == reached {
		m.FellBackTo(known)
	}
}

// FellBackTo notes that Redis knows of calls up to that number only.
func (m *memory) FellBackTo(known int64) {
	for {
		fell := m.fell.Load()
		if fell > 0 && fell <= known+1 || m.fell.CompareAndSwap(fell, known+1) {
			return
		}
	}
}

// FellBack tells, once for each answer that says so, that Redis has lost what it acknowledged to this worker in calls
// with larger numbers than known.
func (m *memory) FellBack() (known int64, is bool) {
	fell := m.fell.Swap(0)
	return fell - 1, fell > 0
}

// Acknowledged has the worker remember that Redis has acknowledged that number, and no later one.
func (m *memory) Acknowledged(number int64) { m.reached.Store(number) }
