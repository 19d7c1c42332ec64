package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// The times of a stop.
const (
	returnGrace = time.Second      // for handlers to return once their ctx has ended
	settleGrace = 10 * time.Second // for the outcomes to be acknowledged
)

// The shares of the room that a stop has left once it has to hurry.
const (
	hurriedReturn = 0.3 // for handlers to return
	hurriedCut    = 0.8 // after that nothing is waited for
)

// stop ends the worker: no more fetches; running jobs may go on for so long, then their ctx ends; what has not
// returned is given back; outcomes are settled; the worker is removed from Redis. Once hurried has ended, all that gets
// very little time.
func (w *worker) stop(hurried *haste, shutdown time.Duration) *StopError {
	patience, cancel := context.WithTimeout(hurried, max(0, shutdown))
	defer cancel()
	defer context.AfterFunc(patience, func() { w.cancelHandlers(ErrShutdown) })()
	cut, cancel := hurried.after(hurriedCut)
	defer cancel()

	result := &StopError{}
	w.halting.Store(true)
	w.fetching.Stop()
	w.waitFor(cut, w.fetching.Done())
	w.crew.close() // the fetcher was the only one to add
	w.putAsideUntaken()
	w.returnUnbegun(cut)
	w.awaitHandlers(patience, hurried)
	result.Stuck = w.abandon()
	result.note(w.awaitSettled(cut))
	w.scribe.writing.Stop()
	result.Released = w.released()
	if w.daemons != nil {
		w.daemons.stop()
	}
	w.beating.Stop()
	w.waitFor(cut, w.beating.Done())
	w.fence.stop()
	w.tellAll(cut)
	result.note(w.leave(cut))
	w.settling.Stop()
	w.kill()
	w.restoring.Wait()
	<-w.settling.Done()
	<-w.scribe.writing.Done()
	if w.slots.busy.Load() == 0 {
		w.processors.Wait()
	}
	w.announceHistory()
	w.events.emit(event.WorkerStopped{Worker: w.claimant().rdb.ID, Err: result.orNil()})
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

// returnUnbegun gives back what was fetched and has not begun. A processor takes up what it was given at once, either
// to run it or to put it aside.
func (w *worker) returnUnbegun(ctx context.Context) {
	w.slots.until(ctx, func() bool { return w.slots.queued.Load() == 0 })
	w.mu.Lock()
	runs := w.unbegun
	w.unbegun = nil
	w.mu.Unlock()
	w.release(runs)
}

// putAsideUntaken takes what was prefetched, and no processor has come to: they may all be busy for long.
func (w *worker) putAsideUntaken() {
	for r, _ := w.crew.next(); r != nil; r, _ = w.crew.next() {
		w.putAside(r)
		w.slots.takeUp()
		w.slots.vacate()
	}
}

// putAside keeps a run that a processor was given but will not begin.
func (w *worker) putAside(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unbegun = append(w.unbegun, r)
}

// takeUp notes that a processor has begun what it was given.
func (w *worker) takeUp() {
	w.slots.takeUp()
	if w.stopping() { // only a stop waits for this
		w.slots.signal()
	}
}

// release gives runs back to the front of their queues and returns those whose fate was still open. The newest go
// first: whatever the settler has sent when an older one comes, that one then comes to stand before it.
func (w *worker) release(runs []*run) (open []*run) {
	inOrder(runs)
	for _, r := range slices.Backward(runs) {
		if w.conclude(r, decision{verb: verbRelease}) {
			open = append(open, r)
		}
	}
	slices.Reverse(open)
	return open
}

// awaitHandlers waits for the handlers to return: as long as patience lasts, and for a short while after it.
func (w *worker) awaitHandlers(patience context.Context, hurried *haste) {
	returned := func() bool { return w.slots.busy.Load() == 0 }
	if w.slots.until(patience, returned) {
		return
	}
	w.cancelHandlers(ErrShutdown)
	ctx, cancel := hurried.after(hurriedReturn)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, returnGrace)
	defer cancel()
	w.slots.until(ctx, returned)
}

func (w *worker) cancelHandlers(cause error) {
	for _, c := range w.claimants() {
		c.end(cause)
	}
}

// abandon gives back what has not returned, and says which handlers are stuck.
func (w *worker) abandon() (stuck []event.JobRef) {
	var runs []*run
	for _, c := range w.claimants() {
		runs = append(runs, c.runs()...)
	}
	for _, r := range w.release(runs) {
		if r.begun.Load() == 0 {
			continue
		}
		stuck = append(stuck, r.ref())
		w.events.emit(event.JobStuck{JobRef: r.ref(), Cause: ErrShutdown})
	}
	return stuck
}

// released returns the jobs that were cut short by the stop, though their handlers returned.
func (w *worker) released() []event.JobRef {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cutShort
}

// awaitSettled waits until Redis has acknowledged every outcome.
func (w *worker) awaitSettled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleGrace)
	defer cancel()
	if w.slots.until(ctx, func() bool { return w.slots.held.Load() == 0 }) {
		return nil
	}
	return fmt.Errorf("%d outcomes were not acknowledged by Redis: those jobs run again once this worker counts as "+
		"dead",
		w.slots.held.Load())
}

// leave removes the worker from Redis, giving back what a lost fetch may have left, and passes tokens on that it took.
func (w *worker) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	c, names := w.claimant(), w.duties.listed()
	for range 3 {
		left, err := c.withdrawAll(ctx, names)
		if err != nil {
			return fmt.Errorf("the worker could not be removed from Redis, others will reap it: %w", err)
		}
		holding, gone, err := c.rdb.Forget(ctx, left)
		if err != nil {
			return fmt.Errorf("the worker could not be removed from Redis, others will reap it: %w", err)
		}
		if gone {
			return w.store.Wake(ctx, w.duties.listed())
		}
		if len(holding) == 0 { // Redis lists others: a change of what is served was not answered
			if names, err = c.rdb.Queues(ctx); err != nil {
				return err
			}
			continue
		}
		for _, queue := range holding {
			if err := w.returnLost(ctx, c, queue); err != nil {
				return err
			}
		}
	}
	return errors.New("the worker could not be removed from Redis, others will reap it")
}

// withdrawAll takes out the names of a worker that has more than one script can look at, and returns those that stay,
// since it holds jobs of them. The fetcher has ended: the numbers are the caller's.
func (c *claimant) withdrawAll(ctx context.Context, names []string) ([]string, error) {
	if len(names) <= rdb.MaxBatch {
		return names, nil
	}
	for range 2 {
		state, stay, err := c.rdb.Serve(ctx, c.nextNumber, rdb.Serving{Leave: names})
		switch {
		case err != nil:
			return nil, err
		case state == rdb.Registered:
			return stay, nil
		case state == rdb.Fenced: // it is being taken apart, or Redis has forgotten it
			return names, nil
		}
		c.number += 1 << 32 // stale: somebody used our id, or a backup was restored
	}
	return nil, errors.New("the number of a change of what is served was not new to Redis")
}

func (e *StopError) note(err error) { e.Err = excerpt.Join(e.Err, err) }

// orNil returns the error only if there is something to say.
func (e *StopError) orNil() error {
	if len(e.Released) == 0 && len(e.Stuck) == 0 && e.Err == nil {
		return nil
	}
	return e
}
