package work

import "context"

// LookNow has the pool ask Redis for the time and for what is due, as it does by itself within a second. It is for
// tests that move the clock of Redis: once it has returned, the pool goes by that clock, and what is due is on its way.
// A pool that is not started, or not any more, does nothing. It returns when Redis has answered, or ctx has ended. It
// may be called concurrently.
func (p *WorkerPool) LookNow(ctx context.Context) {
	p.mu.Lock()
	workers, enqueuer, closed := p.workers, p.enqueuer, p.closed
	p.mu.Unlock()
	for _, w := range workers {
		w.lookNow(ctx)
	}
	if enqueuer != nil && !closed {
		_ = enqueuer.SyncClock(ctx) // the next enqueue does the same
	}
}

func (w *worker) lookNow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.life, cancel)()
	w.doubt(ctx) // the heartbeat that it waits for brings the time and, to the daemons, when the next jobs are due
	if d := w.daemons; d != nil {
		d.scheduler.told(0)
		d.retrier.told(0)
		d.periodic.wake()
	}
}
