package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/bench/peer"
)

// processing is a load of jobs that wait already when the worker starts.
type processing struct {
	concurrency int
	queues      int
	idle        int           // names registered beside those, without a job
	takes       time.Duration // of each handler
	pad         int           // bytes of arguments
}

func process(p processing) Scenario {
	name := fmt.Sprintf("process, concurrency %d, %s queues", p.concurrency, grouped(p.queues))
	most := [3]int{200, 300_000, 1_000_000}
	if p.queues == 1 {
		name = fmt.Sprintf("process, concurrency %d, 1 queue", p.concurrency)
	}
	if p.idle > 0 {
		name += fmt.Sprintf(" of %s names", grouped(p.idle+p.queues))
	}
	if p.takes > 0 {
		name += fmt.Sprintf(", jobs of %v", p.takes)
	}
	if p.pad > 0 {
		name += fmt.Sprintf(", args of %d kB", p.pad/1000)
		most = [3]int{min(200, 1_000_000/p.pad), 100_000_000 / p.pad, 400_000_000 / p.pad} // by the memory it takes
	}
	return Scenario{Name: name, Jobs: most, Fitted: true, Run: p.run}
}

func (p processing) run(ctx context.Context, r *Run) (metrics []Metric, err error) {
	names := names(p.queues)
	session, err := r.open(ctx, "", names)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	if err := r.fill(ctx, session, names, r.Jobs, strings.Repeat("x", p.pad)); err != nil {
		return nil, err
	}
	load := peer.Workload{Names: names, Concurrency: p.concurrency}
	for i := range p.idle {
		load.Idle = append(load.Idle, fmt.Sprintf("idle%d", i))
	}
	book := newLedger(r.Jobs)
	load.Handle = book.book
	if p.takes > 0 {
		load.Handle = func(args peer.Args) {
			time.Sleep(p.takes)
			book.book(args)
		}
	}
	tidy()
	before, err := r.usage()
	if err != nil {
		return nil, err
	}
	took, costs, err := r.timed(ctx, session, load, book, before)
	if err != nil {
		return nil, err
	}
	metrics = append([]Metric{{Name: "jobs", Unit: "/s", Value: perSecond(r.Jobs, took)}}, costs...)
	if p.takes > 0 {
		metrics = append(metrics, Metric{Name: Share, Value: metrics[0].Value / p.alone(r.Size)})
	}
	return metrics, nil
}

// Share is the name of the figure that says how many jobs were done of those that goroutines do in the same time which
// have them at hand.
const Share = "share of as many goroutines that sleep"

// alone is how often a second as many goroutines as there are processors sleep as long as a handler does, one sleep
// after the other.
func (p processing) alone(size Size) float64 {
	span := [3]time.Duration{20 * time.Millisecond, time.Second / 2, time.Second}[size]
	var sleeps atomic.Int64
	var group sync.WaitGroup
	begun := time.Now()
	for range p.concurrency {
		group.Go(func() {
			for time.Since(begun) < span {
				time.Sleep(p.takes)
				sleeps.Add(1)
			}
		})
	}
	group.Wait()
	return float64(sleeps.Load()) / time.Since(begun).Seconds()
}

// timed starts a worker and stops it once everything has run and is settled. The time counts from the first job: how
// long a start takes is a scenario of its own.
func (r *Run) timed(ctx context.Context, session peer.Session, load peer.Workload, book *ledger, before usage,
) (took time.Duration, costs []Metric, err error) {
	worker, err := session.Start(ctx, load)
	if err != nil {
		return 0, nil, fmt.Errorf("start: %w", err)
	}
	if err = book.wait(ctx); err == nil {
		err = r.settle(ctx, session)
	}
	ended := time.Now()
	if err == nil {
		costs, err = r.cost(before, len(book.seen))
	}
	if stopErr := worker.Stop(ctx); stopErr != nil {
		err = errors.Join(err, fmt.Errorf("stop: %w", stopErr))
	}
	return ended.Sub(book.first()), costs, errors.Join(err, book.check())
}

// grouped writes 1000 as 1,000.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// AsynqOwn is the load of asynq's own benchmark: so many no-op jobs of one queue, all of them waiting at the start.
func AsynqOwn(concurrency, jobs int) Scenario {
	s := process(processing{concurrency: concurrency, queues: 1})
	s.Jobs, s.Fitted = [3]int{jobs, jobs, jobs}, false
	return s
}
