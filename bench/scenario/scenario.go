// Package scenario holds what the libraries are put through. A scenario drives one library through its adapter, and
// finds out by itself what happened: every job is known by its id and must have run exactly once, and a run is over
// only when the library's own keys show nothing waiting or claimed.
package scenario

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/265d0351/work/bench/peer"
	"github.com/265d0351/work/bench/server"
)

// Size is how large a run is.
type Size int

// The sizes: Tiny proves in seconds that everything works, Quick measures within ten minutes, Full takes its time.
const (
	Tiny Size = iota
	Quick
	Full
)

// Metric is one figure of one run.
type Metric struct {
	Name  string
	Unit  string
	Value float64
	Lower bool // less is better
}

// Scenario is one thing to measure.
type Scenario struct {
	Name string
	// Jobs is how many jobs a run has at each size. Where the number is Fitted these are the most: each library then
	// gets as many as it does in the time that a run is to take, so that the fast and the slow are measured equally
	// long.
	Jobs   [3]int
	Fitted bool
	Rounds [3]int // at each size at the most; 0 is what was asked for
	For    func(peer.Library) bool
	Run    func(ctx context.Context, r *Run) ([]Metric, error)
}

// Takes tells whether the scenario means something for the library.
func (s Scenario) Takes(lib peer.Library) bool { return s.For == nil || s.For(lib) }

// Run is one run of one scenario by one library.
type Run struct {
	Stage   *Stage
	Library peer.Library
	Size    Size
	Jobs    int
	Span    time.Duration // for how long jobs come that come at a rate; 0 is as long as is usual for the size
}

// patience is how long a run may go without any job ending before it has failed.
const patience = 30 * time.Second

// open empties the store and begins a session.
func (r *Run) open(ctx context.Context, redis string, names []string) (peer.Session, error) {
	if err := r.Stage.of(r.Library).Clear(ctx); err != nil {
		return nil, fmt.Errorf("empty the store of %s: %w", r.Library.Name(), err)
	}
	return r.Library.Open(ctx, r.Stage.place(redis), names)
}

// fill stores jobs 0 to n-1, spread over the names, and checks that the library has them all.
func (r *Run) fill(ctx context.Context, session peer.Session, names []string, n int, pad string) error {
	lot := 5000
	if len(pad) > 0 {
		lot = max(10, min(lot, 4_000_000/len(pad))) // of memory at a time
	}
	jobs := make([]peer.Job, 0, lot)
	for from := 0; from < n; from += lot {
		jobs = jobs[:0]
		for i := from; i < min(n, from+lot); i++ {
			jobs = append(jobs, peer.Job{Name: names[i%len(names)], Args: peer.Args{ID: int64(i), Pad: pad}})
		}
		if err := session.InsertMany(ctx, jobs); err != nil {
			return fmt.Errorf("store jobs %d to %d: %w", from, from+len(jobs)-1, err)
		}
	}
	if err := r.Stage.of(r.Library).Ready(ctx); err != nil {
		return err
	}
	return r.expectWaiting(ctx, session, n)
}

func (r *Run) expectWaiting(ctx context.Context, session peer.Session, n int) error {
	left, err := session.Left(ctx)
	if err == nil && left != n {
		err = fmt.Errorf("%d jobs were stored, %s shows %d", n, r.Library.Name(), left)
	}
	return err
}

// settle waits until the library's keys show nothing.
func (r *Run) settle(ctx context.Context, session peer.Session) error {
	deadline := time.Now().Add(patience)
	for {
		left, err := session.Left(ctx)
		if err != nil || left == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("all jobs have run, and %s still shows %d after %v", r.Library.Name(), left, patience)
		}
		time.Sleep(time.Millisecond)
	}
}

// usage is processor time spent, and what was allocated.
type usage struct {
	store, program time.Duration
	allocations    uint64 // of the program
}

func (r *Run) usage() (u usage, err error) {
	if u.store, err = r.Stage.of(r.Library).CPU(); err != nil {
		return u, err
	}
	u.program, err = server.OwnCPU()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u.allocations = memory.Mallocs
	return u, err
}

// cost tells what was used since before, per job.
func (r *Run) cost(before usage, jobs int) ([]Metric, error) {
	after, err := r.usage()
	if err != nil {
		return nil, err
	}
	per := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / float64(jobs) }
	return []Metric{
		{Name: "CPU of the store per job", Unit: "µs", Value: per(after.store - before.store), Lower: true},
		{Name: "CPU of the program per job", Unit: "µs", Value: per(after.program - before.program), Lower: true},
		{Name: "allocations per job", Value: float64(after.allocations-before.allocations) / float64(jobs),
			Lower: true},
	}, nil
}

// names returns job0, job1, ...
func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("job%d", i)
	}
	return out
}

// tidy frees what the preparation of a run left behind, so that the run does not pay for it.
func tidy() { runtime.GC() }

func perSecond(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
