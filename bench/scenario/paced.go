package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/bench/peer"
)

// spans are for how long jobs come at a given rate where nothing else was asked for, at each size.
var (
	halfSpans   = [3]time.Duration{50 * time.Millisecond, 3 * time.Second, 10 * time.Second}
	steadySpans = [3]time.Duration{50 * time.Millisecond, time.Minute, time.Minute}
)

// steadyRate is how many jobs come in a second of the steady run.
const steadyRate = 10_000

// span is for how long jobs come.
func (r *Run) span(usual [3]time.Duration) time.Duration {
	if r.Span > 0 {
		return r.Span
	}
	return usual[r.Size]
}

// half is how long jobs of 1 ms take from the call that stores them to their handler, where half as many come as the
// library has just worked off of a backlog.
func half() Scenario {
	const takes = time.Millisecond
	run := func(ctx context.Context, r *Run) (metrics []Metric, err error) {
		backlog := processing{concurrency: 20, queues: 10, takes: takes}
		rate, err := r.capacity(ctx, backlog)
		if err != nil {
			return nil, err
		}
		return r.paced(ctx, pace{rate: rate / 2, span: r.span(halfSpans), lot: 1, callers: 32, takes: takes})
	}
	return Scenario{Name: "half load, concurrency 20, jobs of 1ms", Jobs: [3]int{100, 5000, 30_000},
		Rounds: [3]int{1, 2, 3}, Run: run}
}

// steady is the same for this library alone, with a rate that the others do not reach, in lists of 100.
func steady() Scenario {
	return Scenario{
		Name: fmt.Sprintf("%s jobs a second, concurrency 20", grouped(steadyRate)), Jobs: [3]int{1, 1, 1},
		Rounds: [3]int{1, 1, 1},
		For:    func(lib peer.Library) bool { _, own := lib.(replayable); return own },
		Run: func(ctx context.Context, r *Run) ([]Metric, error) {
			return r.paced(ctx, pace{rate: steadyRate, span: r.span(steadySpans), lot: 100, callers: 4})
		},
	}
}

// capacity is how many jobs a second the library works off of a backlog.
func (r *Run) capacity(ctx context.Context, p processing) (float64, error) {
	metrics, err := p.run(ctx, r)
	if err != nil {
		return 0, err
	}
	return metrics[0].Value, nil
}

// pace is how jobs come: so many a second, in calls of a lot, whether those before have been answered or not.
type pace struct {
	rate    float64
	span    time.Duration
	lot     int
	callers int           // at the most at the same time
	takes   time.Duration // of each handler
}

// paced has jobs come at their times, and tells how long after those their handlers began. A call that is late because
// the ones before were slow counts from when it was to be made.
func (r *Run) paced(ctx context.Context, p pace) (metrics []Metric, err error) {
	names, jobs := names(10), max(p.lot, int(p.rate*p.span.Seconds())/p.lot*p.lot)
	session, err := r.open(ctx, "", names)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	book, waits := newLedger(jobs), make([]time.Duration, jobs)
	var begun time.Time
	due := func(id int) time.Time {
		return begun.Add(time.Duration(float64(id/p.lot*p.lot) / p.rate * float64(time.Second)))
	}
	load := peer.Workload{Names: names, Concurrency: 20, Handle: func(args peer.Args) {
		if args.ID >= 0 && args.ID < int64(jobs) {
			waits[args.ID] = time.Since(due(int(args.ID)))
		}
		if p.takes > 0 {
			time.Sleep(p.takes)
		}
		book.book(args)
	}}
	tidy()
	before, err := r.usage()
	if err != nil {
		return nil, err
	}
	begun = time.Now().Add(10 * time.Millisecond) // the worker starts before the first one comes
	inserted := make(chan error, 1)
	go func() { inserted <- p.insert(ctx, session, names, jobs, due) }()
	took, costs, err := r.timed(ctx, session, load, book, before)
	if err = errors.Join(err, <-inserted); err != nil {
		return nil, err
	}
	slices.Sort(waits)
	metrics = []Metric{{Name: "jobs", Unit: "/s", Value: perSecond(jobs, took)}}
	for _, q := range []struct {
		name string
		of   float64
	}{{"median", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}} {
		metrics = append(metrics, Metric{Name: q.name, Unit: "ms", Value: millis(quantile(waits, q.of)), Lower: true})
	}
	return append(metrics, costs...), nil
}

// insert makes each call at its time.
func (p pace) insert(ctx context.Context, session peer.Session, names []string, jobs int,
	due func(id int) time.Time) error {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, p.callers)
	for caller := range p.callers {
		group.Go(func() {
			for errs[caller] == nil && ctx.Err() == nil {
				from := (int(next.Add(1)) - 1) * p.lot
				if from >= jobs {
					return
				}
				time.Sleep(time.Until(due(from)))
				errs[caller] = p.call(ctx, session, names, from)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// call stores one lot.
func (p pace) call(ctx context.Context, session peer.Session, names []string, from int) error {
	lot := make([]peer.Job, p.lot)
	for i := range lot {
		lot[i] = peer.Job{Name: names[(from+i)%len(names)], Args: peer.Args{ID: int64(from + i)}}
	}
	if len(lot) == 1 {
		return session.Insert(ctx, lot[0])
	}
	return session.InsertMany(ctx, lot)
}
