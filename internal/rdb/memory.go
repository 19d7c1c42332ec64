package rdb

import "sync/atomic"

// memory is what a worker remembers of what Redis has acknowledged to it: the number of the last fetch, survey or
// change of what it serves. A replica that takes over has all that its master did up to some moment, and nothing of
// what came later, so a worker to whom later calls were acknowledged can tell: Redis knows of an older number only.
// Then it refuses these calls until the worker says, by [memory.Acknowledged], that it remembers no more than that.
type memory struct {
	reached atomic.Int64
	turn    atomic.Int64 // how often the worker said so
	fell    atomic.Int64 // one more than what Redis fell back to and nobody has asked about; 0 is nothing
}

// remembered is what was acknowledged before a call, by which its answer is judged.
type remembered struct{ reached, turn int64 }

// remembers is asked before a call. The turn is read first: what changes in between makes the answer one that was
// overtaken.
func (m *memory) remembers() remembered {
	turn := m.turn.Load()
	return remembered{m.reached.Load(), turn}
}

// compare looks whether Redis, which knows of calls up to known, has forgotten some of those that it had acknowledged
// before it was asked. An answer that was overtaken says nothing, also where the worker remembers the same number
// again: Redis was told meanwhile what the worker holds.
func (m *memory) compare(before remembered, known int64) {
	if known < before.reached && m.remembers() == before {
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
func (m *memory) Acknowledged(number int64) {
	m.reached.Store(number)
	m.turn.Add(1)
}
