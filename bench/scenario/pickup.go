package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/bench/peer"
)

// pickupStreams is how many workers wait at the same time, each for jobs of its own: a library that polls is then
// measured in reasonable time.
const pickupStreams = 8

// pickup is how long a job waits for an idle worker, from before the enqueue to the handler. Each worker gets one job
// at a time, at a random moment of the second after it ended the last one.
func pickup() Scenario {
	run := func(ctx context.Context, r *Run) (metrics []Metric, err error) {
		names := names(pickupStreams)
		session, err := r.open(ctx, "", names)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, session.Close()) }()
		trips, err := r.pings(ctx)
		if err != nil {
			return nil, err
		}
		defer trips.stop()
		var group sync.WaitGroup
		var next atomic.Int64
		book := newLedger(r.Jobs)
		waits, errs := make([][]time.Duration, pickupStreams), make([]error, pickupStreams)
		for i := range pickupStreams {
			group.Go(func() { waits[i], errs[i] = r.stream(ctx, session, names[i], book, &next) })
		}
		group.Wait()
		if err := errors.Join(append(errs, book.check())...); err != nil {
			return nil, err
		}
		all := slices.Sorted(slices.Values(slices.Concat(waits...)))
		return trips.in([]Metric{
			{Name: "median", Unit: "ms", Value: millis(quantile(all, 0.5)), Lower: true},
			{Name: "p99", Unit: "ms", Value: millis(quantile(all, 0.99)), Lower: true},
		}), nil
	}
	return Scenario{Name: "idle pick-up", Jobs: [3]int{16, 64, 800}, Rounds: [3]int{1, 2, 3}, Run: run}
}

// stream sends jobs to one idle worker, one after the other, until all streams together have sent them all.
func (r *Run) stream(ctx context.Context, session peer.Session, name string, book *ledger, next *atomic.Int64,
) (waits []time.Duration, err error) {
	arrived := make(chan time.Time, 1)
	worker, err := session.Start(ctx, peer.Workload{Names: []string{name}, Lane: name, Concurrency: 10,
		Handle: func(args peer.Args) {
			now := time.Now()
			book.book(args)
			arrived <- now
		}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.Stop(ctx)) }()
	gap := time.Second
	if r.Size == Tiny {
		gap = 20 * time.Millisecond
	}
	for {
		time.Sleep(rand.N(gap))
		id := next.Add(1) - 1
		if id >= int64(r.Jobs) {
			return waits, nil
		}
		sent := time.Now()
		if err := session.Insert(ctx, peer.Job{Name: name, Lane: name, Args: peer.Args{ID: id}}); err != nil {
			return nil, err
		}
		select {
		case at := <-arrived:
			waits = append(waits, at.Sub(sent))
		case <-time.After(patience):
			return nil, fmt.Errorf("job %d was not run within %v", id, patience)
		}
	}
}

// lateness is how long after its time a scheduled job begins.
func lateness() Scenario {
	run := func(ctx context.Context, r *Run) (metrics []Metric, err error) {
		names := names(10)
		session, err := r.open(ctx, "", names)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, session.Close()) }()
		due, late := make([]time.Time, r.Jobs), make([]time.Duration, r.Jobs)
		span, lead := time.Duration(r.Jobs)*20*time.Millisecond, 1500*time.Millisecond
		book := newLedger(r.Jobs)
		load := peer.Workload{Names: names, Concurrency: 20, Handle: func(args peer.Args) {
			if args.ID >= 0 && args.ID < int64(len(due)) {
				late[args.ID] = time.Since(due[args.ID])
			}
			book.book(args)
		}}
		jobs, now := make([]peer.Job, r.Jobs), time.Now()
		for i := range jobs {
			due[i] = now.Add(lead + rand.N(span)).Truncate(time.Millisecond)
			jobs[i] = peer.Job{Name: names[i%len(names)], Due: due[i], Args: peer.Args{ID: int64(i)}}
		}
		if err := session.InsertMany(ctx, jobs); err != nil {
			return nil, err
		}
		trips, err := r.pings(ctx)
		if err != nil {
			return nil, err
		}
		defer trips.stop()
		if _, _, err := r.timed(ctx, session, load, book, usage{}); err != nil {
			return nil, err
		}
		slices.Sort(late)
		return trips.in([]Metric{
			{Name: "median", Unit: "ms", Value: millis(quantile(late, 0.5)), Lower: true},
			{Name: "p99", Unit: "ms", Value: millis(quantile(late, 0.99)), Lower: true},
		}), nil
	}
	return Scenario{Name: "lateness of scheduled jobs", Jobs: [3]int{20, 200, 1000}, Rounds: [3]int{1, 1, 3}, Run: run,
		For: func(lib peer.Library) bool { return lib.Name() != "gocraft" }} // which knows whole seconds
}

// quantile of sorted values, by the nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
