package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/bench/peer"
)

// startStop is how long it takes from the start of a worker to its first job, and to stop it when it is idle.
func startStop() Scenario {
	return Scenario{Name: "start and stop", Jobs: [3]int{2, 3, 10}, Rounds: [3]int{1, 1, 3}, Run: runStartStop}
}

func runStartStop(ctx context.Context, r *Run) (metrics []Metric, err error) {
	names := names(10)
	session, err := r.open(ctx, "", names)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	var starts, stops time.Duration
	book := newLedger(r.Jobs + 1)
	ran := make(chan struct{}, 1)
	load := peer.Workload{Names: names, Concurrency: 20, Handle: func(args peer.Args) {
		book.book(args)
		ran <- struct{}{}
	}}
	for id := range r.Jobs + 1 { // the first one, which brings scripts to the server, is not counted
		if err := session.Insert(ctx, peer.Job{Name: names[0], Args: peer.Args{ID: int64(id)}}); err != nil {
			return nil, err
		}
		begun := time.Now()
		worker, err := session.Start(ctx, load)
		if err != nil {
			return nil, err
		}
		select {
		case <-ran:
		case <-time.After(patience):
			return nil, errors.Join(fmt.Errorf("job %d was not run within %v", id, patience), worker.Stop(ctx))
		}
		started := time.Since(begun)
		if err := r.settle(ctx, session); err != nil {
			return nil, errors.Join(err, worker.Stop(ctx))
		}
		begun = time.Now()
		if err := worker.Stop(ctx); err != nil {
			return nil, fmt.Errorf("stop: %w", err)
		}
		if id > 0 {
			starts, stops = starts+started, stops+time.Since(begun)
		}
	}
	n := time.Duration(r.Jobs)
	return []Metric{
		{Name: "start to first job", Unit: "ms", Value: millis(starts / n), Lower: true},
		{Name: "stop when idle", Unit: "ms", Value: millis(stops / n), Lower: true},
	}, book.check()
}
