package bench

import (
	"sync/atomic"
	"time"
)

// runCounts counts every run of every job by its number: first those that are worked off, then those that are enqueued
// to an idle pool, one by one.
type runCounts struct {
	seen    []atomic.Uint32
	foreign atomic.Int64 // runs of numbers that were never stored

	bulk     int64 // so many are worked off
	ran      atomic.Int64
	begun    atomic.Int64  // when the first of those ran, since started; 0 before
	ended    atomic.Int64  // when the last one ran
	done     chan struct{} // closed when as many have run
	arrivals chan time.Time
	started  time.Time
}

func newRunCounts(bulk, singles int) *runCounts {
	return &runCounts{
		seen: make([]atomic.Uint32, bulk+singles), bulk: int64(bulk), done: make(chan struct{}),
		arrivals: make(chan time.Time, singles), started: time.Now(),
	}
}

// count is what handlers call.
func (l *runCounts) count(id int64) {
	switch {
	case id < 0 || id >= int64(len(l.seen)):
		l.foreign.Add(1)
	case id < l.bulk:
		l.countBulk(id)
	case l.seen[id].Add(1) == 1:
		l.arrivals <- time.Now() // has room for each
	}
}

func (l *runCounts) countBulk(id int64) {
	l.seen[id].Add(1)
	n := l.ran.Add(1)
	if n == 1 {
		l.begun.Store(int64(time.Since(l.started)))
	}
	if n == l.bulk {
		l.ended.Store(int64(time.Since(l.started)))
		close(l.done)
	}
}

// took is the time from the first handler to the last. Read it once done is closed.
func (l *runCounts) took() time.Duration { return time.Duration(l.ended.Load() - l.begun.Load()) }

// once tells whether every job ran exactly once.
type once struct {
	Jobs    int   `json:"jobs"`
	Missing int   `json:"missing"`
	Doubled int   `json:"ran_more_than_once"`
	Foreign int64 `json:"never_stored"`
}

func (o once) ok() bool { return o.Missing == 0 && o.Doubled == 0 && o.Foreign == 0 }

// once tells whether every job ran exactly once. Call it when the pool has stopped.
func (l *runCounts) once() once {
	o := once{Jobs: len(l.seen), Foreign: l.foreign.Load()}
	for id := range l.seen {
		switch l.seen[id].Load() {
		case 0:
			o.Missing++
		case 1:
		default:
			o.Doubled++
		}
	}
	return o
}
