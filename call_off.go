package work

import (
	"context"
	"time"
)

// hint has all workers of the pool look whether jobs that they hold are to be cancelled. A hint that is lost costs a
// second at the most: the heartbeat tells the same.
func (p *WorkerPool) hint() {
	p.mu.Lock()
	workers := p.workers
	p.mu.Unlock()
	for _, w := range workers {
		select {
		case w.hints <- struct{}{}:
		default: // one is on its way
		}
	}
}

// callOff asks which of the jobs that the worker holds are to be cancelled, and has them end.
func (h *heartbeater) callOff(ctx context.Context) error {
	if h.conn == nil {
		return nil
	}
	runs := map[string]*run{}
	var ids []string
	for _, r := range h.worker.claimant().runs() {
		if !r.settled.Load() && !r.calledOff.Load() {
			runs[r.job.ID] = r
			ids = append(ids, r.job.ID)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, h.worker.beats.timeout)
	defer cancel()
	flagged, err := h.worker.store.Flagged(ctx, h.conn, ids)
	for _, id := range flagged {
		runs[id].callOff()
	}
	return err
}

// callOff ends the ctx of a run whose job is to be cancelled. Whatever its handler returns, the job then ends as
// cancelled; one that has not begun does not begin.
func (r *run) callOff() {
	if r.calledOff.Swap(true) {
		return
	}
	r.attempt.end(ErrCancelled)
	time.AfterFunc(r.worker.stuckAfter, func() { r.reportStuck(ErrCancelled) })
}

// turnBack ends a run that was called off before it has begun, and tells whether it was.
func (w *worker) turnBack(r *run) bool {
	if !r.calledOff.Load() {
		return false
	}
	w.conclude(r, r.cancellation(w.clock.now()))
	return true
}
