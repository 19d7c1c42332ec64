package work

import (
	"sync"

	"github.com/265d0351/work/internal/workgroup"
)

// group is up to maxPerWorker processors and the workers that fetch for them: one in each partition in which the pool
// works. A worker settles and beats by itself; the processors do not care where a job is from.
type group struct {
	id          string // by which others see which workers have the same processors
	concurrency int
	first       bool // of its pool: its workers have the daemons of their partitions
	places      *workgroup.Places
	runners     *workgroup.Pool[run]
	processors  sync.WaitGroup
	events      *stream

	adding  sync.Mutex // held by who adds to the runners
	workers []*worker  // guarded by the pool, which replaces the slice
}

// close ends the processors, once all workers have stopped. Those whose handlers do not return are left behind.
func (g *group) close() {
	g.runners.Close()
	if g.places.Busy() == 0 {
		g.processors.Wait()
	}
}

// at is the worker in a partition; nil where there is none.
func (g *group) at(partition int) *worker {
	for _, w := range g.workers {
		if w.site.partition == partition {
			return w
		}
	}
	return nil
}

// give hands runs to the processors.
func (w *worker) give(runs []*run) {
	w.group.adding.Lock()
	defer w.group.adding.Unlock()
	w.runners.Add(runs)
}

// untaken takes back what no processor has taken of what this worker gave.
func (w *worker) untaken() (own []*run) {
	w.group.adding.Lock()
	defer w.group.adding.Unlock()
	var others []*run
	for _, r := range w.runners.Untaken() {
		if r.worker == w {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	w.runners.Add(others)
	return own
}
