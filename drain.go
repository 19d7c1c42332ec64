package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/leftover"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/span"
)

// drainInterval is how often Drain looks in the long run. It begins with less: short jobs are over soon.
const drainInterval = 50 * time.Millisecond

// Drain waits until nothing is due, waits or runs in the queues that this pool serves, here or in another worker. Jobs
// that are scheduled for later, and retries that are not due yet, do not count. What this pool collects to take it
// together waits for no others meanwhile. It is meant for tests and for programs that do a fixed amount of work. When
// ctx ends before, the error names the queues that have jobs, and what keeps these from running. Names that are not
// served yet, since their limit is still to hold over all partitions, are among the queues. Before Start it returns
// ErrNotStarted, once the pool has stopped ErrStopped.
func (p *WorkerPool) Drain(ctx context.Context) error {
	p.mu.Lock()
	started := p.state != poolNew && p.state != poolStarting && p.served != nil
	p.mu.Unlock()
	if !started && !p.hasStopped() {
		return ErrNotStarted
	}
	for interval := time.Millisecond; ; interval = min(2*interval, drainInterval) {
		busy, err := p.hasJobsLeft(ctx)
		switch {
		// its connections end a little before it
		case p.hasStopped(), errors.Is(err, redisconn.ErrClosed) && p.stateNow() == poolStopping:
			return ErrStopped
		case ctx.Err() != nil:
			return fmt.Errorf("jobs may be left%s: %w", p.describeLeftover(), excerpt.Error(context.Cause(ctx)))
		case err != nil:
			return fmt.Errorf("cannot tell whether jobs are left: %w", err)
		case !busy:
			return nil
		}
		if !p.hasWorkToFetch(ctx) && p.claiming.Load() == 0 { // nothing can join what is collected
			for _, w := range p.current() {
				w.flushGathered()
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("jobs are left%s: %w", p.describeLeftover(), excerpt.Error(context.Cause(ctx)))
		case <-p.stopped:
			return fmt.Errorf("jobs are left: %w", ErrStopped)
		case <-time.After(interval):
		}
	}
}

// leftoverTimeout is how long a Drain whose time is over asks what is left.
const leftoverTimeout = time.Second

// describeLeftover names the served queues that have jobs, and why these do not run; nothing where that cannot be
// learned.
func (p *WorkerPool) describeLeftover() string {
	ctx, cancel := context.WithTimeout(context.Background(), leftoverTimeout)
	defer cancel()
	names := slices.Collect(maps.Keys(p.registered))
	for name := range p.registered {
		names = append(names, p.serving.Siblings(name)...)
	}
	for name := range p.shared.All() {
		names = append(append(names, name), p.serving.Siblings(name)...)
	}
	slices.Sort(names)
	return leftover.Pool{
		Queues:  slices.DeleteFunc(names, func(queue string) bool { return !p.serves(queue) }),
		Unbound: p.binding.waits,
		Full: func(queue string) (most int, full bool) {
			own := p.quotaOf(queue)
			if own == nil || own.HasRoom() {
				return 0, false
			}
			return own.Most(), true
		},
	}.Describe(ctx, p.stores())
}

// serves reports whether this pool runs jobs of a queue, now or once the limit of its name is in force (see binding).
func (p *WorkerPool) serves(queue string) bool {
	return p.serving.IsMeant(queue)
}

func (p *WorkerPool) hasStopped() bool {
	select {
	case <-p.stopped:
		return true
	default:
		return false
	}
}

// hasJobsLeft tells whether jobs are left. It asks in the direction in which jobs move, so none can slip past it: a job
// that was due is found in its queue, one that waited is found in process. One that was given back during the first
// look went the other way: the second look finds it.
func (p *WorkerPool) hasJobsLeft(ctx context.Context) (bool, error) {
	if p.hasStopped() {
		return false, nil
	}
	for range 2 {
		if busy, err := p.hasWork(ctx); busy || err != nil {
			return busy, err
		}
	}
	return false, nil
}

func (p *WorkerPool) hasWork(ctx context.Context) (bool, error) {
	for i, store := range p.stores() {
		if busy, err := p.hasWorkIn(ctx, store); busy || err != nil {
			return busy, p.inPartition(i, err)
		}
	}
	return false, nil
}

func (p *WorkerPool) hasWorkIn(ctx context.Context, store *rdb.Store) (bool, error) {
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
		_, found, err := leftover.FirstDue(ctx, store, leftover.Shelf{Shelf: shelf, Serves: p.serves})
		if found || err != nil {
			return found, err
		}
	}
	if p.looksForParts() { // of what has just come for them nobody may have heard
		ready, err := store.ReadyParts(ctx)
		if err != nil {
			return false, err
		}
		p.learnParts(ready)
	}
	n, err := store.Load(ctx, p.serving.Meant())
	if err != nil || n > 0 {
		return n > 0, err
	}
	return p.movesFrom(ctx, store)
}

// movesFrom tells whether jobs, of whatever name, are on their way from a partition to another one: they stand in no
// queue.
func (p *WorkerPool) movesFrom(ctx context.Context, store *rdb.Store) (bool, error) {
	if p.directory.Map().Single() {
		return false, nil
	}
	there, err := store.Remaining(ctx)
	return there.Frozen > 0, err
}

// stores are those of the partitions in which the pool works, or is about to, by their numbers.
func (p *WorkerPool) stores() map[int]*rdb.Store {
	stores := map[int]*rdb.Store{}
	for _, i := range p.directory.Map().Served() {
		stores[i] = p.directory.Store(i)
	}
	return stores
}

// inPartition says where an error comes from, if the namespace is divided.
func (p *WorkerPool) inPartition(i int, err error) error {
	if err == nil || p.directory.Map().Single() {
		return err
	}
	return &partition.Error{Partition: i, Err: err}
}

// NextDue is when the first of the jobs is due that are scheduled or to be retried, in the queues that this pool
// serves: those that [WorkerPool.Drain] does not wait for. It is by the clock of Redis, in the past for one that is due
// and has not been moved to its queue yet, and the zero time where there is none. It reads in pages of 500 past the
// jobs of other queues. Before Start it returns ErrNotStarted, once the pool has stopped ErrStopped. It may be called
// concurrently.
func (p *WorkerPool) NextDue(ctx context.Context) (time.Time, error) {
	p.mu.Lock()
	started := p.state != poolNew && p.state != poolStarting && p.served != nil
	p.mu.Unlock()
	switch {
	case p.hasStopped():
		return time.Time{}, ErrStopped
	case !started:
		return time.Time{}, ErrNotStarted
	}
	var first time.Time
	for i, store := range p.stores() {
		for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
			next, _, err := leftover.FirstDue(ctx, store,
				leftover.Shelf{Shelf: shelf, Ahead: span.Longest, Serves: p.serves})
			if err != nil {
				return time.Time{}, fmt.Errorf("cannot tell when the next job is due: %w", p.inPartition(i, err))
			}
			if first.IsZero() || !next.IsZero() && next.Before(first) {
				first = next
			}
		}
	}
	return first, nil
}

// Poll has the pool ask Redis for the time and for what is due, as it does by itself within a second. It is for
// tests that move the clock of Redis: once it has returned, the pool goes by that clock, and what is due is on its way.
// A pool that is not started, or not any more, does nothing. It returns when Redis has answered, or ctx has ended. It
// may be called concurrently.
func (p *WorkerPool) Poll(ctx context.Context) {
	p.mu.Lock()
	workers, enqueuer, closed := p.workers, p.enqueuer, p.closed
	p.mu.Unlock()
	for _, w := range workers {
		w.poll(ctx)
	}
	if enqueuer != nil && !closed {
		_ = enqueuer.SyncClock(ctx) // the next enqueue does the same
	}
}

func (w *worker) poll(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.life, cancel)()
	w.beatNow(ctx) // the heartbeat that it waits for brings the time and, to the daemons, when the next jobs are due
	if d := w.daemons; d != nil {
		d.scheduler.Told(0)
		d.retrier.Told(0)
		d.periodic.Look(ctx) // its ticks are jobs that wait then, which a drain knows of
	}
}
