package work

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The times of a stop.
const (
	returnGrace = time.Second      // for handlers to return once their ctx has ended
	settleGrace = 10 * time.Second // for the outcomes to be acknowledged
)

// stop ends the worker in good order as far as ctx allows: no more fetches; running jobs may go on for so long, then
// their ctx ends; what has not returned is given back; outcomes are settled; the worker is removed from Redis.
func (w *worker) stop(ctx context.Context, shutdown time.Duration) *StopError {
	result := &StopError{}
	w.halting.Store(true)
	w.fetching.Stop()
	w.waitFor(ctx, w.fetching.Done())
	close(w.jobs) // the fetcher was the only one to send

	w.awaitHandlers(ctx, shutdown, ErrShutdown)
	w.awaitHandlers(ctx, returnGrace, nil)
	result.Stuck, result.Released = w.abandon()
	if err := w.awaitSettled(ctx); err != nil {
		result.Err = errors.Join(result.Err, err)
	}
	if w.daemons != nil {
		w.daemons.stop()
	}
	w.beating.Stop()
	w.waitFor(ctx, w.beating.Done())
	if err := w.leave(ctx); err != nil {
		result.Err = errors.Join(result.Err, err)
	}
	w.settling.Stop()
	w.kill()
	<-w.settling.Done()
	<-w.beating.Done()
	w.events.emit(WorkerStopped{Worker: w.claimant().rdb.ID, Err: result.orNil()})
	return result
}

// waitFor waits for a loop to end; when ctx ends, everything that waits for Redis is cut off first.
func (w *worker) waitFor(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
		w.kill()
		<-done
	}
}

// awaitHandlers waits until all handlers have returned, at most so long; then it ends their ctx with the cause.
func (w *worker) awaitHandlers(ctx context.Context, most time.Duration, cause error) {
	ctx, cancel := context.WithTimeout(ctx, max(0, most))
	defer cancel()
	returned := w.slots.until(ctx, func() bool { return w.slots.busy.Load() == 0 })
	if !returned && cause != nil {
		for _, c := range w.claimants() {
			c.cancel(cause)
		}
	}
}

// abandon gives back what has not returned, and says which handlers are stuck and which jobs were cut short.
func (w *worker) abandon() (stuck, released []JobRef) {
	for _, c := range w.claimants() {
		runs := c.runs()
		inOrder(runs)
		for _, r := range runs {
			if w.conclude(r, decision{verb: verbRelease}) {
				stuck = append(stuck, r.ref())
				w.events.emit(JobStuck{JobRef: r.ref(), Cause: ErrShutdown})
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return stuck, w.cutShort
}

// awaitSettled waits until Redis has acknowledged every outcome.
func (w *worker) awaitSettled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleGrace)
	defer cancel()
	if w.slots.until(ctx, func() bool { return w.slots.held.Load() == 0 }) {
		return nil
	}
	return fmt.Errorf("%d outcomes were not acknowledged by Redis: those jobs run again once this worker counts as dead",
		w.slots.held.Load())
}

// leave removes the worker from Redis, giving back what a lost fetch may have left, and passes tokens on that it took.
func (w *worker) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	c := w.claimant()
	for range 3 {
		holding, gone, err := c.rdb.Forget(ctx, w.names)
		if err != nil {
			return fmt.Errorf("the worker could not be removed from Redis, others will reap it: %w", err)
		}
		if gone {
			return w.store.Wake(ctx, w.names)
		}
		for _, queue := range holding {
			if _, err := emptyInProcess(ctx, c.rdb, queue, ""); err != nil {
				return err
			}
		}
	}
	return errors.New("the worker could not be removed from Redis, others will reap it")
}

// orNil returns the error only if there is something to say.
func (e *StopError) orNil() error {
	if len(e.Released) == 0 && len(e.Stuck) == 0 && e.Err == nil {
		return nil
	}
	return e
}
