package work

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/workgroup"
)

// answerHeld tells somebody who asks what the workers of this pool hold.
func (p *WorkerPool) answerHeld(ctx context.Context, token string) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for _, w := range p.current() {
		for _, c := range w.sessions() {
			if err := c.rdb.AnswerHeld(ctx, token, c.elements()); err != nil {
				return // it is asked again
			}
		}
	}
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

// hintCancel has all workers of the pool look whether jobs that they hold are to be cancelled. A hint that is lost
// costs a second at the most: the heartbeat tells the same.
func (p *WorkerPool) hintCancel() {
	p.mu.Lock()
	workers := p.workers
	p.mu.Unlock()
	for _, w := range workers {
		select {
		case w.cancelHints <- struct{}{}:
		default: // one is on its way
		}
	}
}

// current are the workers of the pool as of now.
func (p *WorkerPool) current() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

// requestWorker has the scaler look whether another worker is needed.
func (p *WorkerPool) requestWorker() { p.scaler.Call() }

// stopByOrder begins a stop that waits for the handlers, because somebody wants it.
func (p *WorkerPool) stopByOrder() {
	p.ordered.Store(true)
	p.beginStop(context.Background(), stopTimeAfterCtx)
}

// hurryStop has a stop that was begun wait for no handler any longer.
func (p *WorkerPool) hurryStop() { p.deadline.Hurry(stopTimeAfterCtx) }

// newScaler makes what adds and removes the workers of a pool, but for the first one: that one has the daemons.
func newScaler(p *WorkerPool) *workgroup.Scaler[*worker] {
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

// poolMembers are the workers of a pool, for its scaler.
type poolMembers struct{ pool *WorkerPool }

func (m poolMembers) Members() []*worker { return m.pool.current() }

// Add registers and begins one more worker.
func (m poolMembers) Add(ctx context.Context, size int) (bool, error) {
	w := newWorker(&m.pool.engine, m.pool, size, false)
	// A stop lets the registration end, unless it has to hurry: one that is cut off may land after it was undone.
	joining, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	defer context.AfterFunc(m.pool.deadline, cancel)()
	if err := w.join(joining); err != nil {
		removeUnstarted([]*worker{w})
		return false, err
	}
	if !m.pool.addWorker(w) {
		removeUnstarted([]*worker{w})
		return false, nil
	}
	w.announce()
	return true, nil
}

func (m poolMembers) Full(w *worker) bool { return w.slots.Free() <= 0 }

// Busy is also one that an operator has told to rest: it is known by its id.
func (m poolMembers) Busy(w *worker) bool { return w.slots.Held() > 0 || w.desired.Now() != "" }

func (m poolMembers) Retire(w *worker, retire bool) bool {
	changed := w.retiring.Swap(retire) != retire
	if changed {
		w.queues.wakeup.Wake()
	}
	return changed
}

func (m poolMembers) Remove(w *worker) (int, bool) {
	if !m.pool.removeWorker(w) {
		return 0, false
	}
	_ = w.stop(m.pool.deadline, m.pool.options.ShutdownTimeout) // its error is in the event
	return w.concurrency, true
}

// addWorker begins a worker, unless the pool stops.
func (p *WorkerPool) addWorker(w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != poolStarted {
		return false
	}
	p.workers = append(slices.Clone(p.workers), w) // others read the slice
	w.begin()
	return true
}

// removeWorker takes a worker out of the pool, so that nobody else stops it.
func (p *WorkerPool) removeWorker(w *worker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != poolStarted {
		return false
	}
	p.workers = slices.DeleteFunc(slices.Clone(p.workers), func(other *worker) bool { return other == w })
	p.serving.Tell()
	return true
}
