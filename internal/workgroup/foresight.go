package workgroup

import (
	"math"
	"sync/atomic"
	"time"
)

// Foresight reckons how many jobs are to be fetched beyond those that there are goroutines for: as many as end while
// two fetches are under way, by how long jobs took lately. Half of them are there still when the next fetch is sent,
// and last until it is answered. So goroutines with short jobs need not wait for Redis, what was fetched ahead waits
// for about two round trips however long jobs take, and of long jobs, of which none ends in that time, nothing is
// fetched ahead. Jobs that have not ended count by how many do: where most goroutines have long ones, the times of the
// others say little.
//
// It belongs to the one who fetches, but for Ran. The zero value knows nothing yet.
type Foresight struct {
	Goroutines int
	Most       int // jobs that may be fetched ahead

	took atomic.Int64 // by a job, in ns, about; 0 is not known
	ran  atomic.Int64 // jobs that have said so
	trip float64      // of a fetch, in ns
	dev  float64      // by which trips differ from that, about
	rate float64      // of jobs that end, per ns
	last time.Time
	busy int // jobs that goroutines had at that time
}

// The memory of a foresight: the older half of what it knows of trips is forgotten with so many of them, of jobs with
// so many, and of the rate within so many trips, but not within less than that time.
const (
	tripMemory  = 8
	jobMemory   = 64
	rateMemory  = 4
	shortMemory = time.Millisecond
)

// What is fetched ahead lasts for so many trips if all goroutines have jobs that take as long as the last ones, and for
// no more than that many as jobs have ended by now.
const (
	tripsAhead = 2
	mostTrips  = 8
)

// Fetched notes that a fetch took so long and has brought so many jobs, and how many the goroutines have with them.
func (f *Foresight) Fetched(trip time.Duration, brought int, now time.Time, busy int) {
	if f.trip == 0 {
		f.trip = float64(trip)
	}
	f.dev += (math.Abs(float64(trip)-f.trip) - f.dev) / tripMemory
	f.trip += (float64(trip) - f.trip) / tripMemory
	f.count(now, busy-brought)
	f.last, f.busy = now, busy
}

// Ran notes that so many jobs have taken so long in all. One goroutine at a time may call it.
func (f *Foresight) Ran(jobs int, took time.Duration) {
	if jobs == 0 {
		return
	}
	f.ran.Add(int64(jobs))
	each, before := float64(took)/float64(jobs), float64(f.took.Load())
	if before > 0 {
		each = before + (each-before)*float64(jobs)/float64(jobs+jobMemory)
	}
	f.took.Store(max(1, int64(each)))
}

// count learns how many jobs have ended since it was asked last.
func (f *Foresight) count(now time.Time, busy int) {
	passed := float64(now.Sub(f.last))
	if f.last.IsZero() || passed <= 0 {
		return
	}
	memory := max(rateMemory*f.trip, float64(shortMemory))
	f.rate += (float64(max(0, f.busy-busy))/passed - f.rate) * passed / (passed + memory)
	f.last, f.busy = now, busy
}

// Ahead is how many jobs to fetch ahead now, where the goroutines have so many.
func (f *Foresight) Ahead(now time.Time, busy int) int {
	f.count(now, busy)
	took := float64(f.took.Load())
	if f.ran.Load() < jobMemory {
		return 0 // a few jobs say little of the next ones
	}
	trip := f.trip + 2*f.dev // nearly all are shorter
	return min(f.Most, int(tripsAhead*trip*float64(f.Goroutines)/took), int(mostTrips*f.rate*trip))
}

// Forget forgets how fast jobs end, and how many the goroutines had: some were taken from them.
func (f *Foresight) Forget() { f.rate, f.last = 0, time.Time{} }
