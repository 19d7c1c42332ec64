package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/bench/peer"
	"github.com/265d0351/work/bench/server"
)

// idle counts what workers without work ask of Redis, and how many of them a single job wakes.
func idle(workers int) Scenario {
	return Scenario{
		Name: fmt.Sprintf("%d idle workers", workers), Jobs: [3]int{20, 100, 100}, Rounds: [3]int{1, 1, 1},
		For: func(lib peer.Library) bool { return lib.Store() == peer.Redis },
		Run: func(ctx context.Context, r *Run) ([]Metric, error) { return runIdle(ctx, r, workers) },
	}
}

// requests are what went through the proxy.
type requests struct {
	reader       peer.FetchReader
	all          atomic.Int64
	full, hollow atomic.Int64 // fetches that gave jobs, and that gave none
}

func (c *requests) see(e server.Exchange) {
	c.all.Add(1)
	if c.reader == nil {
		return
	}
	switch asked, jobs := c.reader.Fetched(e.Request, e.Reply); {
	case asked && jobs > 0:
		c.full.Add(1)
	case asked:
		c.hollow.Add(1)
	}
}

func runIdle(ctx context.Context, r *Run, workers int) (metrics []Metric, err error) {
	count := &requests{}
	count.reader, _ = r.Library.(peer.FetchReader)
	proxy, err := server.NewProxy(r.Stage.Redis.Addr, count.see)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	names := names(10)
	session, err := r.open(ctx, proxy.Addr(), names)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	book := newLedger(r.Jobs)
	arrived := make(chan struct{}, 1)
	load := peer.Workload{Names: names, Concurrency: 10, Handle: func(args peer.Args) {
		book.book(args)
		arrived <- struct{}{}
	}}
	stop, err := startMany(ctx, session, load, workers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop(), book.check()) }()
	quiet, watch := 1500*time.Millisecond, time.Duration([3]int64{1, 4, 10}[r.Size])*time.Second
	time.Sleep(quiet) // what a start asks is over
	before := count.all.Load()
	time.Sleep(watch)
	idle := count.all.Load() - before

	full, hollow := count.full.Load(), count.hollow.Load()
	for id := range r.Jobs {
		if err := session.Insert(ctx,
			peer.Job{Name: names[id%len(names)], Args: peer.Args{ID: int64(id)}}); err != nil {
			return nil, err
		}
		select {
		case <-arrived:
		case <-time.After(patience):
			return nil, fmt.Errorf("job %d was not run within %v", id, patience)
		}
	}
	return []Metric{
		{Name: "requests per second and worker", Unit: "", Value: perSecond(int(idle), watch) / float64(workers),
			Lower: true},
		{Name: fmt.Sprintf("fetches with a job, %d single enqueues", r.Jobs), Unit: "",
			Value: float64(count.full.Load() - full), Lower: true},
		{Name: fmt.Sprintf("fetches without a job, %d single enqueues", r.Jobs), Unit: "",
			Value: float64(count.hollow.Load() - hollow), Lower: true},
	}, r.settle(ctx, session)
}

// startMany starts workers side by side, and returns what stops them again.
func startMany(ctx context.Context, session peer.Session, load peer.Workload, n int) (stop func() error, err error) {
	started := make([]peer.Worker, 0, n)
	stop = func() error {
		var group sync.WaitGroup
		errs := make([]error, len(started))
		for i, worker := range started {
			group.Go(func() { errs[i] = worker.Stop(ctx) })
		}
		group.Wait()
		return errors.Join(errs...)
	}
	for range n {
		worker, err := session.Start(ctx, load)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		started = append(started, worker)
	}
	return stop, nil
}
