package scenario

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/265d0351/work/bench/peer"
	"github.com/265d0351/work/bench/server"
)

// elastic is what one worker costs while it is idle, by how many jobs it could run at the same time: a pool that is
// large enough for the worst hour should cost little in all others.
func elastic(concurrency int) Scenario {
	return Scenario{
		Name: fmt.Sprintf("idle pool, concurrency %s", grouped(concurrency)), Jobs: [3]int{20, 100, 100},
		Rounds: [3]int{1, 1, 1},
		Run:    func(ctx context.Context, r *Run) ([]Metric, error) { return runElastic(ctx, r, concurrency) },
	}
}

// runElastic starts the worker twice where requests can be counted: the proxy that counts them has goroutines and
// buffers of its own.
func runElastic(ctx context.Context, r *Run, concurrency int) ([]Metric, error) {
	if r.Size == Tiny {
		concurrency = min(concurrency, raceGoroutines)
	}
	metrics, err := r.idlePool(ctx, "", concurrency, &footprint{run: r})
	if err != nil || r.Library.Store() != peer.Redis {
		return metrics, err
	}
	count := &requests{}
	proxy, err := server.NewProxy(r.Stage.Redis.Addr, count.see)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	asked, err := r.idlePool(ctx, proxy.Addr(), concurrency, &asking{run: r, count: count})
	return append(metrics, asked...), err
}

// raceGoroutines is fewer than the 8,128 goroutines with which the race detector gives up: tests run tiny scenarios.
const raceGoroutines = 1000

// probe measures a worker that is about to start, and then is idle.
type probe interface {
	before()
	idle() ([]Metric, error)
}

// idlePool starts a worker, lets probe measure it, and sends it jobs, which show that it was alive.
func (r *Run) idlePool(ctx context.Context, redis string, concurrency int, probe probe) (metrics []Metric, err error) {
	names := names(10)
	session, err := r.open(ctx, redis, names)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	probe.before()
	book := newLedger(r.Jobs)
	worker, err := session.Start(ctx, peer.Workload{Names: names, Concurrency: concurrency, Handle: book.book})
	if err != nil {
		return nil, err
	}
	time.Sleep(quietTime)
	metrics, err = probe.idle()
	if err == nil {
		err = insertFrom(ctx, session, names, r.Jobs, 1)
	}
	if err == nil {
		err = book.wait(ctx)
	}
	if err == nil {
		err = r.settle(ctx, session)
	}
	return metrics, errors.Join(err, worker.Stop(ctx), book.check())
}

// quietTime is after which what a start asks and allocates is over.
const quietTime = 1500 * time.Millisecond

// watchTime is how long something idle is watched.
func (r *Run) watchTime() time.Duration {
	return time.Duration([3]int64{1, 4, 10}[r.Size]) * time.Second
}

// asking counts requests.
type asking struct {
	run   *Run
	count *requests
}

func (*asking) before() {}

func (a *asking) idle() ([]Metric, error) {
	before, watch := a.count.all.Load(), a.run.watchTime()
	time.Sleep(watch)
	asked := perSecond(int(a.count.all.Load()-before), watch)
	return []Metric{{Name: "requests per second", Unit: "/s", Value: asked, Lower: true}}, nil
}

// footprint is what the program and the store pay.
type footprint struct {
	run               *Run
	goroutines, bytes int64
}

func (f *footprint) before() { f.goroutines, f.bytes = int64(runtime.NumGoroutine()), programMemory() }

func (f *footprint) idle() ([]Metric, error) {
	goroutines, bytes := int64(runtime.NumGoroutine())-f.goroutines, programMemory()-f.bytes
	before, err := f.run.usage()
	if err != nil {
		return nil, err
	}
	watch := f.run.watchTime()
	time.Sleep(watch)
	after, err := f.run.usage()
	each := func(d time.Duration) float64 { return millis(d) / watch.Seconds() }
	return []Metric{
		{Name: "CPU of the program per second", Unit: "ms", Value: each(after.program - before.program), Lower: true},
		{Name: "CPU of the store per second", Unit: "ms", Value: each(after.store - before.store), Lower: true},
		{Name: "goroutines", Unit: "", Value: float64(goroutines), Lower: true},
		{Name: "memory of the program", Unit: "kB", Value: float64(bytes) / 1000, Lower: true},
	}, err
}

// programMemory is what the heap and the stacks of this program take, without garbage. What a scenario before has left
// goes bit by bit: stacks are freed by one collection after the other, and some memory when a timer ends.
func programMemory() int64 {
	const pause, same = 50 * time.Millisecond, 10
	least := collected()
	for since, left := 0, 100; since < same && left > 0; since, left = since+1, left-1 {
		time.Sleep(pause)
		if now := collected(); now < least-least/200 {
			least, since = now, -1
		}
	}
	return least
}

func collected() int64 {
	runtime.GC()
	runtime.GC() // what the first one found in pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse)
}
