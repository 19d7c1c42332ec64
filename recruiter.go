package work

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/lifecycle"
)

// recruiter makes a large pool cost little while it is idle. A pool of more processors than one worker should have
// begins with a single worker; while all that it has are full and more jobs wait, the next one is registered; one that
// has held nothing for a while leaves. The first stays: it has the daemons.
type recruiter struct {
	pool   *WorkerPool
	health health
	wanted chan struct{}

	open []int                 // how many processors each worker has that is not there
	idle map[*worker]time.Time // since when it was seen to hold nothing
}

// The times of a recruiter.
const (
	recruitLook = 5 * time.Second  // how often it looks who is idle
	recruitIdle = 30 * time.Second // after which an idle worker leaves
)

func newRecruiter(p *WorkerPool) *recruiter {
	r := &recruiter{
		pool: p, health: health{component: "recruiter", events: p.events}, wanted: make(chan struct{}, 1),
		idle: map[*worker]time.Time{},
	}
	for left := p.concurrency - maxPerWorker; left > 0; left -= maxPerWorker {
		r.open = append(r.open, min(left, maxPerWorker))
	}
	return r
}

// loop is what runs the recruiter.
func (r *recruiter) loop() *lifecycle.Loop {
	return &lifecycle.Loop{
		Run: r.run,
		Panic: func(value any, stack []byte) {
			r.pool.events.emit(event.LoopPanicked{Component: r.health.component, Value: value, Stack: string(stack)})
		},
		Restart: backoff.For,
	}
}

// call asks for one more worker. It never waits: a call that is not heard is made again at the next look.
func (r *recruiter) call() {
	if r == nil || r.pool.concurrency <= maxPerWorker { // nil: a worker without a pool that has started
		return
	}
	select {
	case r.wanted <- struct{}{}:
	default:
	}
}

func (r *recruiter) run(ctx context.Context) {
	look := time.NewTicker(r.pool.staffing)
	defer look.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			r.dismiss(ctx, time.Now())
			if r.allFull() {
				r.call() // full workers do not fetch, so they call nobody
			}
		case <-r.wanted:
			err := r.recruit(ctx)
			if ctx.Err() != nil {
				return
			}
			r.health.report(err)
			if failures++; err == nil {
				failures = 0
			}
			if failures > 0 {
				backoff.Pause(ctx, backoff.For(failures))
			}
		}
	}
}

// recruit registers and begins one more worker, if the pool may have one.
func (r *recruiter) recruit(ctx context.Context) error {
	if len(r.open) == 0 {
		return nil
	}
	w := newWorker(r.pool, r.open[0], false)
	// A stop lets the registration end, unless it has to hurry: one that is cut off may land after it was undone.
	joining, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	defer context.AfterFunc(r.pool.hurried, cancel)()
	if err := w.join(joining); err != nil {
		undo([]*worker{w})
		return err
	}
	if !r.pool.enlist(w) {
		undo([]*worker{w})
		return nil
	}
	r.open = r.open[1:]
	w.announce()
	return nil
}

// enlist begins a worker, unless the pool stops.
func (p *WorkerPool) enlist(w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != poolStarted {
		return false
	}
	p.workers = append(slices.Clone(p.workers), w) // others read the slice
	w.begin()
	return true
}

// allFull tells whether no worker can take another job.
func (r *recruiter) allFull() bool {
	return !slices.ContainsFunc(r.pool.current(), func(w *worker) bool { return w.slots.free() > 0 })
}

// dismiss stops the workers that have held nothing for a while.
func (r *recruiter) dismiss(ctx context.Context, now time.Time) {
	r.pool.mu.Lock()
	others := r.pool.workers[1:]
	r.pool.mu.Unlock()
	for _, w := range others {
		since, seen := r.idle[w]
		switch {
		case w.slots.held.Load() > 0 || w.wish() != "": // one that was told to rest is known by its id
			delete(r.idle, w)
			if w.retiring.Swap(false) {
				w.nudged.give()
			}
		case !seen:
			r.idle[w] = now
		case now.Sub(since) < r.pool.dismissal:
		case !w.retiring.Load():
			w.retiring.Store(true)
			w.nudged.give() // a fetch may be under way: whether it brought a job is seen at the next look
		case r.pool.delist(w):
			delete(r.idle, w)
			r.open = append(r.open, w.concurrency)
			_ = w.stop(r.pool.hurried, r.pool.options.ShutdownTimeout) // its error is in the event
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// delist takes a worker out of the pool, so that nobody else stops it.
func (p *WorkerPool) delist(w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != poolStarted {
		return false
	}
	p.workers = slices.DeleteFunc(slices.Clone(p.workers), func(other *worker) bool { return other == w })
	p.roster.tell()
	return true
}
