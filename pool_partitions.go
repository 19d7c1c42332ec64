package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/workgroup"
)

// memberships has a pool work in the partitions that the map of the namespace says: in all that are open or are being
// emptied. Those that come are joined, those that are closed are left, and those that do not answer are tried until
// they do. Each is dealt with beside the others. Nothing is asked of Redis while nothing changes.
type memberships struct {
	pool   *WorkerPool
	wakeup workgroup.Wakeup
	under  sync.WaitGroup // what is under way

	mu      sync.Mutex
	newest  int64              // version of the map that somebody has heard of
	behind  bool               // a partition has an older map than the pool, or none: it is to be given that
	reading bool               // the map is being read
	busy    map[int]bool       // partitions that are being joined or left
	down    map[int]*outage    // partitions that cannot be joined
	left    map[int]*StopError // how the stops went of workers in partitions that were left, while the pool stops
}

// outage is a partition that cannot be joined.
type outage struct {
	since    time.Time
	err      error
	failures int
	next     time.Time // when it is tried again
	health   healthreport.Reporter
}

// joinTimeout is how long one try to join a partition may take; othersGrace is how long a start waits for the other
// partitions once it has joined one.
const (
	joinTimeout = fetchTimeout
	othersGrace = time.Second
)

func newMemberships(p *WorkerPool) *memberships {
	return &memberships{pool: p, wakeup: workgroup.NewWakeup(), busy: map[int]bool{}, down: map[int]*outage{},
		left: map[int]*StopError{}}
}

// heard notes that somebody has met a version of the map. One that is older than what is known is that of a Redis which
// has lost what it had, or was not told yet.
func (m *memberships) heard(version int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	behind := version < m.pool.directory.Map().Version
	if version > m.newest || behind {
		m.newest, m.behind = max(m.newest, version), m.behind || behind
		m.wakeup.Wake()
	}
}

// run follows the map until ctx ends, and waits for what it has begun.
func (m *memberships) run(ctx context.Context) {
	defer m.under.Wait()
	m.under.Go(func() { m.pool.binding.run(ctx) })
	for ctx.Err() == nil {
		changed := m.pool.directory.Changed()
		m.pool.shareAs()
		m.readMap(ctx)
		timer := time.NewTimer(m.follow(ctx))
		select {
		case <-ctx.Done():
		case <-changed:
		case <-m.wakeup:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// readMap has the map read, if there is a newer one than is known, or somebody to be given it.
func (m *memberships) readMap(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reading || !m.behind && m.newest <= m.pool.directory.Map().Version {
		return
	}
	m.reading, m.behind = true, false
	m.under.Go(func() {
		reading, cancel := context.WithTimeout(ctx, joinTimeout)
		defer cancel()
		err := m.pool.directory.Refresh(reading)
		if err != nil || m.pool.directory.Map().Version == 0 {
			backoff.Pause(ctx, backoff.For(1))
		}
		m.mu.Lock()
		m.reading = false
		m.mu.Unlock()
		m.wakeup.Wake()
	})
}

// follow begins what is to be done, and returns when to look again.
func (m *memberships) follow(ctx context.Context) time.Duration {
	served, there := m.pool.directory.Map().Served(), m.pool.partitions()
	m.mu.Lock()
	defer m.mu.Unlock()
	again := longestRest
	for _, i := range served {
		outage := m.down[i]
		switch {
		case m.busy[i]:
		case outage != nil && time.Until(outage.next) > 0:
			again = min(again, time.Until(outage.next))
		case !there[i]:
			m.begin(i, func() { m.join(ctx, i) })
		}
	}
	for i := range m.down {
		if !slices.Contains(served, i) && !m.busy[i] {
			delete(m.down, i)
		}
	}
	for i := range there {
		if !slices.Contains(served, i) && !m.busy[i] {
			m.begin(i, func() { m.leave(i) })
		}
	}
	return again
}

// longestRest is how long nothing is looked at where nothing is to be done.
const longestRest = time.Hour

// begin does something about a partition beside all others. mu is held.
func (m *memberships) begin(partition int, do func()) {
	m.busy[partition] = true
	m.under.Go(func() {
		defer m.wakeup.Wake()
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.busy, partition)
		}()
		do()
	})
}

// join has all groups of the pool work in a partition, or notes that this cannot be now. The first group comes first:
// its worker has the daemons.
func (m *memberships) join(ctx context.Context, i int) {
	p := m.pool
	site, err := p.site(i)
	for _, g := range p.currentGroups() {
		if err == nil && !p.works(g, i) {
			err = m.joinOne(ctx, site, g)
		}
	}
	m.note(i, err)
}

// joinOne has one group work in a partition. A stop lets the registration end, unless it has to hurry: one that is cut
// off may land after it was undone.
func (m *memberships) joinOne(ctx context.Context, s *site, g *group) error {
	joining, cancel := context.WithTimeout(context.WithoutCancel(ctx), joinTimeout)
	defer cancel()
	defer context.AfterFunc(m.pool.deadline, cancel)()
	if g.first {
		if err := s.checkServer(joining); err != nil {
			return err
		}
	}
	w := newWorker(s, g, m.pool)
	known, err := true, error(nil)
	if g.first {
		known, err = m.pool.enter(joining, w, w.join)
	} else {
		err = w.join(joining)
	}
	if err == nil && m.pool.addWorker(g, w) {
		if w.announce(); g.first {
			m.pool.events.emit(event.PartitionJoined{Partition: s.partition, Worker: w.session().rdb.ID})
		}
		return nil
	}
	w.discard(known)
	return err
}

// note notes whether a partition could be joined.
func (m *memberships) note(i int, err error) {
	m.mu.Lock()
	down := m.down[i]
	if down == nil && err != nil {
		down = &outage{since: time.Now(), health: healthreport.Reporter{Component: componentOf(i),
			Emit: m.pool.events.emit}}
		m.down[i] = down
	}
	if err == nil {
		delete(m.down, i)
	} else {
		down.failures++
		down.err, down.next = err, time.Now().Add(backoff.For(down.failures))
	}
	m.mu.Unlock()
	if down != nil {
		down.health.Report(err)
	}
}

// componentOf is how events and health name a partition that cannot be joined.
func componentOf(partition int) string { return fmt.Sprintf("partition %d", partition) }

// leave stops the workers of a partition that is closed, as a stop of the pool does.
func (m *memberships) leave(i int) {
	p := m.pool
	workers := p.removeWorkers(i)
	for _, w := range workers { // all of them first: what one gives back none of the others takes
		w.requestStop()
	}
	result := p.stopWorkers(workers)
	if p.stateNow() == poolStopping { // whoever waits for that is to know
		m.mu.Lock()
		m.left[i] = result
		m.mu.Unlock()
	}
	p.forgetSite(i)
	p.events.emit(event.PartitionLeft{Partition: i, Err: result.orNil()})
}

// results are how the stops went of what was left while the pool stopped.
func (m *memberships) results() (all []*StopError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, result := range m.left {
		all = append(all, result)
	}
	return all
}

// problems are the partitions that cannot be joined.
func (m *memberships) problems() (found []HealthProblem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, down := range m.down {
		found = append(found, HealthProblem{Component: componentOf(i), Since: down.since, Err: down.err})
	}
	slices.SortFunc(found, func(a, b HealthProblem) int {
		return cmp.Or(len(a.Component)-len(b.Component), cmp.Compare(a.Component, b.Component))
	})
	return found
}

// learnMap reads the map of the partitions when a pool starts, beside the first look at partition 0. That is enough
// where there is no map; where that partition is away, others may have one.
func (p *WorkerPool) learnMap(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reading sync.WaitGroup
	reading.Go(func() { _ = p.directory.Refresh(ctx) }) // a heartbeat tells of the map again
	err := p.home.checkServer(ctx)
	if err != nil {
		defer time.AfterFunc(othersGrace, cancel).Stop()
	}
	reading.Wait()
	if p.directory.Map().Single() {
		return err
	}
	return nil
}

// joinAll makes the first worker of the pool known in each partition, side by side. One success is enough: what fails
// is tried again once the pool runs. With an error it returns the workers that Redis may know.
func (p *WorkerPool) joinAll(ctx context.Context, g *group, served []int) (joined []*worker, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers, failed := make([]*worker, len(served)), make([]error, len(served))
	var joining sync.WaitGroup
	for at, i := range served {
		joining.Go(func() {
			if workers[at], failed[at] = p.joinFirst(ctx, g, i); failed[at] == nil {
				time.AfterFunc(othersGrace, cancel)
			}
		})
	}
	joining.Wait()
	for at, i := range served {
		if failed[at] == nil {
			joined = append(joined, workers[at])
		} else {
			failed[at] = &partition.Error{Partition: i, Err: failed[at]}
		}
	}
	if len(joined) == 0 && len(served) == 1 {
		return nil, fmt.Errorf("the worker pool cannot start: %w", errors.Unwrap(failed[0]))
	}
	if len(joined) == 0 {
		return nil, fmt.Errorf("the worker pool cannot start: %w", excerpt.Join(failed...))
	}
	for at, i := range served {
		if failed[at] != nil {
			p.members.note(i, failed[at])
		}
	}
	return joined, nil
}

// joinFirst makes the first worker of the pool known in one partition. After an error there is none.
func (p *WorkerPool) joinFirst(ctx context.Context, g *group, partition int) (*worker, error) {
	s, err := p.site(partition)
	if err == nil && partition != 0 { // the start has looked at that one
		err = s.checkServer(ctx)
	}
	if err != nil {
		return nil, err
	}
	w := newWorker(s, g, p)
	known, err := p.enter(ctx, w, func(ctx context.Context) error { return p.joinPatiently(ctx, w) })
	if err != nil {
		w.discard(known)
		return nil, err
	}
	return w, nil
}

// enter makes the first worker of a partition known there, with what the pool declares. It tells whether Redis may
// know it.
func (p *WorkerPool) enter(ctx context.Context, w *worker, join func(context.Context) error) (known bool, err error) {
	if err := join(ctx); err != nil {
		var unsent *redisconn.DialError
		return !errors.As(err, &unsent), err
	}
	var limits, schedules error
	var declaring sync.WaitGroup // neither has to do with the other, and each is two round trips or more
	declaring.Go(func() { limits = w.site.declareLimits(ctx) })
	declaring.Go(func() { schedules = p.startSchedules(ctx, w) })
	declaring.Wait()
	return true, cmp.Or(limits, schedules)
}

// site is what the pool has in a partition, made if need be.
func (p *WorkerPool) site(partition int) (*site, error) {
	if partition == 0 {
		return p.home, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sites[partition]; s != nil {
		return s, nil
	}
	s := newSite(&p.engine, partition)
	if err := s.open(); err != nil {
		return nil, err
	}
	p.sites[partition] = s
	return s, nil
}

// forgetSite forgets what the pool had in a partition in which nobody of it works any more.
func (p *WorkerPool) forgetSite(partition int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sites[partition]; s != nil {
		s.objects.cache.Close()
		delete(p.sites, partition)
	}
}

// allSites are those of the pool, the home first.
func (p *WorkerPool) allSites() []*site {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []*site{p.home}
	for i := range partition.Max {
		if s := p.sites[i]; s != nil {
			all = append(all, s)
		}
	}
	return all
}

// partitions are those in which the pool works, and whether all of its groups do.
func (p *WorkerPool) partitions() map[int]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	groups, there := map[int]int{}, map[int]bool{}
	for _, w := range p.workers {
		groups[w.site.partition]++
	}
	for i, n := range groups {
		there[i] = n == len(p.groups)
	}
	return there
}

// works tells whether a group has a worker in a partition.
func (p *WorkerPool) works(g *group, partition int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return g.at(partition) != nil
}
