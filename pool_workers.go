package work

import (
	"context"
	"slices"
	"sync"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/workgroup"
)

// answerHeld tells somebody who asks in a partition what the workers of this pool hold there.
func (p *WorkerPool) answerHeld(ctx context.Context, partition int, token string) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for _, w := range p.workersIn(partition) {
		for _, c := range w.sessions() {
			if err := c.rdb.AnswerHeld(ctx, token, c.elements()); err != nil {
				return // it is asked again
			}
		}
	}
}

// workersIn are the workers of the pool in a partition.
func (p *WorkerPool) workersIn(partition int) []*worker {
	return slices.DeleteFunc(slices.Clone(p.current()),
		func(w *worker) bool { return w.site.partition != partition })
}

// wakeFetchers has all fetchers of the pool look up from what they wait for.
func (p *WorkerPool) wakeFetchers() {
	for _, w := range p.current() {
		w.queues.wakeup.Wake()
	}
}

// beatAtOnce has the worker of the pool with that id, if there is one, send a heartbeat at once: something is wanted of
// it.
func (p *WorkerPool) beatAtOnce(id string) {
	for _, w := range p.current() {
		if w.session().rdb.ID != id {
			continue
		}
		select {
		case w.beatRequests <- make(chan struct{}):
		default: // a heartbeat is under way, and the next one is at most a second away
			w.missed.Store(true)
		}
	}
}

// hintCancel has the workers of the pool in a partition look whether jobs that they hold are to be cancelled. A hint
// that is lost costs a second at the most: the heartbeat tells the same.
func (p *WorkerPool) hintCancel(partition int) {
	for _, w := range p.workersIn(partition) {
		select {
		case w.cancelHints <- struct{}{}:
		default: // one is on its way
		}
	}
}

// learnParts notes queues of jobs that need labels. Where workers of the pool serve some of them that they did not
// know, they ask for their jobs at once.
func (p *WorkerPool) learnParts(queues []string) {
	if !p.serving.Learn(queues) {
		return
	}
	for _, w := range p.current() {
		w.alert()
	}
}

// shareAs has the workers serve the queues that the map says.
func (p *WorkerPool) shareAs() {
	if p.followShared(p.directory.Map()) {
		for _, w := range p.current() {
			w.alert()
		}
	}
}

// current are the workers of the pool as of now.
func (p *WorkerPool) current() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

// requestWorker has the scaler look whether another group of workers is needed.
func (p *WorkerPool) requestWorker() { p.scaler.Call() }

// stopByOrder begins a stop that waits for the handlers, because somebody wants it.
func (p *WorkerPool) stopByOrder() {
	p.ordered.Store(true)
	p.beginStop(context.Background(), stopTimeAfterCtx)
}

// mapIs has the pool follow the map of the partitions, should it not have this version of it, or give it to those who
// have only an older one.
func (p *WorkerPool) mapIs(version int64) {
	if p.members != nil { // a pool that tests have not started in full has none
		p.members.heard(version)
	}
}

// hurryStop has a stop that was begun wait for no handler any longer.
func (p *WorkerPool) hurryStop() { p.deadline.Hurry(stopTimeAfterCtx) }

// newScaler makes what adds and removes the groups of a pool, but for the first one: that one has the daemons.
func newScaler(p *WorkerPool) *workgroup.Scaler[*group] {
	h := &healthreport.Reporter{Component: "scaler", Emit: p.events.emit}
	scaling := workgroup.Scaling{Look: p.times.ScaleLook, Idle: p.times.ScaleIdle, Report: h.Report}
	for left := p.concurrency - maxPerWorker; left > 0; left -= maxPerWorker {
		scaling.Sizes = append(scaling.Sizes, min(left, maxPerWorker))
	}
	return workgroup.NewScaler(poolMembers{p}, scaling)
}

// scalingLoop is what runs the scaler.
func (p *WorkerPool) scalingLoop() *lifecycle.Loop {
	return restarting("scaler", p.events, p.scaler.Run)
}

// poolMembers are the groups of a pool, for its scaler.
type poolMembers struct{ pool *WorkerPool }

func (m poolMembers) Members() []*group { return m.pool.currentGroups() }

// Add registers and begins the workers of one more group, in all partitions in which the first one works. Where one of
// them cannot be registered now, that is tried again as for a partition that is away.
func (m poolMembers) Add(ctx context.Context, size int) (bool, error) {
	g := newGroup(&m.pool.engine, size, false)
	// A stop lets the registration end, unless it has to hurry: one that is cut off may land after it was undone.
	joining, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	defer context.AfterFunc(m.pool.deadline, cancel)()
	workers, err := m.register(joining, g)
	if len(workers) == 0 {
		return false, err
	}
	if !m.pool.addGroup(g, workers) {
		for _, w := range workers {
			w.discard(true)
		}
		return false, nil
	}
	for _, w := range workers {
		w.announce()
	}
	m.pool.members.wakeup.Wake() // what could not be registered
	return true, nil
}

// register makes the workers of a new group known to Redis, side by side.
func (m poolMembers) register(ctx context.Context, g *group) (joined []*worker, err error) {
	sites := m.pool.workedSites()
	workers, failed := make([]*worker, len(sites)), make([]error, len(sites))
	var joining sync.WaitGroup
	for i, s := range sites {
		workers[i] = newWorker(s, g, m.pool)
		joining.Go(func() {
			if failed[i] = workers[i].join(ctx); failed[i] != nil {
				workers[i].discard(true)
			}
		})
	}
	joining.Wait()
	for i, w := range workers {
		if failed[i] == nil {
			joined = append(joined, w)
		}
	}
	return joined, excerpt.Join(failed...)
}

func (m poolMembers) Full(g *group) bool { return g.places.Full() }

// Busy is also one of which an operator has told a worker to rest: that is known by its id.
func (m poolMembers) Busy(g *group) bool {
	return slices.ContainsFunc(m.pool.workersOf(g), func(w *worker) bool {
		return w.slots.Held() > 0 || w.desired.Now() != ""
	})
}

func (m poolMembers) Retire(g *group, retire bool) (changed bool) {
	for _, w := range m.pool.workersOf(g) {
		if w.retiring.Swap(retire) != retire {
			changed = true
			w.callFetcher()
		}
	}
	return changed
}

func (m poolMembers) Remove(g *group) (int, bool) {
	workers, removed := m.pool.removeGroup(g)
	if !removed {
		return 0, false
	}
	_ = m.pool.stopWorkers(workers) // its error is in the event
	g.close()
	return g.concurrency, true
}

// currentGroups are the groups of the pool as of now.
func (p *WorkerPool) currentGroups() []*group {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.groups
}

// workersOf are the workers of a group as of now.
func (p *WorkerPool) workersOf(g *group) []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return g.workers
}

// workedSites are those of the partitions in which the first group works.
func (p *WorkerPool) workedSites() (sites []*site) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.groups[0].workers {
		sites = append(sites, w.site)
	}
	return sites
}

// addGroup begins the workers of a group, unless the pool stops.
func (p *WorkerPool) addGroup(g *group, workers []*worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != poolStarted {
		return false
	}
	g.workers = workers
	p.setGroups(append(slices.Clone(p.groups), g)) // others read the slice
	for _, w := range workers {
		w.begin()
	}
	return true
}

// removeGroup takes a group out of the pool, so that nobody else stops its workers.
func (p *WorkerPool) removeGroup(g *group) ([]*worker, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != poolStarted {
		return nil, false
	}
	p.setGroups(slices.DeleteFunc(slices.Clone(p.groups), func(other *group) bool { return other == g }))
	p.serving.Tell()
	return g.workers, true
}

// addWorker begins a worker of a group, unless the pool stops or the group has gone.
func (p *WorkerPool) addWorker(g *group, w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != poolStarted || !slices.Contains(p.groups, g) {
		return false
	}
	g.workers = append(slices.Clone(g.workers), w)
	p.setGroups(p.groups)
	w.begin()
	return true
}

// removeWorkers takes those of a partition out of the pool, so that nobody else stops them.
func (p *WorkerPool) removeWorkers(partition int) (removed []*worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != poolStarted {
		return nil
	}
	for _, g := range p.groups {
		if w := g.at(partition); w != nil {
			removed = append(removed, w)
			g.workers = slices.DeleteFunc(slices.Clone(g.workers), func(other *worker) bool { return other == w })
		}
	}
	p.setGroups(p.groups)
	p.serving.Tell()
	return removed
}

// setGroups replaces the groups, and the workers of all of them. p.mu is held.
func (p *WorkerPool) setGroups(groups []*group) {
	p.groups, p.workers = groups, nil
	for _, g := range groups {
		p.workers = append(p.workers, g.workers...)
	}
}
