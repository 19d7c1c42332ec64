package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/lifecycle"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/stopped"
)

// The times of a stop.
const (
	takeUpGrace = time.Second      // for processors to take up what they were given: a gate may be asking Redis
	returnGrace = time.Second      // for handlers to return once their ctx has ended
	settleGrace = 10 * time.Second // for the outcomes to be acknowledged
)

// leaveAgain is how often the worker tries again to be removed from Redis where a connection broke.
const leaveAgain = 2

// The shares of the room that a stop has left once it has to hurry.
const (
	returnShare = 0.3 // for handlers to return
	cutShare    = 0.8 // after that nothing is waited for
)

// requestStop begins the stop of the worker: no more fetches, no handler waits for other jobs, and what handlers give
// back goes to the front of its queue.
func (w *worker) requestStop() {
	w.stopRequested.Store(true)
	w.beginStop()
	w.fetching.Stop()
}

// stop ends the worker: no more fetches; running jobs may go on for so long, then their ctx ends; what has not
// returned is given back; outcomes are settled; the worker is removed from Redis. Once deadline has ended, all that
// gets very little time.
func (w *worker) stop(deadline *lifecycle.StopDeadline, shutdown time.Duration) *StopError {
	patience, cancel := context.WithTimeout(deadline, max(0, shutdown))
	defer cancel()
	defer context.AfterFunc(patience, func() { w.cancelHandlers(ErrShutdown) })()
	cut, cancel := deadline.After(cutShare)
	defer cancel()
	// Whatever code of the program does here, such as its Connection: nothing of a worker outlives its stop.
	defer w.fence.Stop()
	defer w.kill()

	result := &StopError{}
	w.requestStop()
	w.waitFor(cut, w.fetching.Done())
	w.slots.Part()
	w.mendWithoutFetcher(w.session())
	w.keepUntaken()
	w.returnUnbegun(cut)
	w.awaitHandlers(patience, deadline)
	result.Stuck = w.abandon()
	result.note(w.awaitSettled(cut))
	w.logging.Stop()
	result.Released = w.released()
	if w.daemons != nil {
		w.daemons.stop()
	}
	w.beating.Stop()
	w.waitFor(cut, w.beating.Done())
	w.stopAnswering(cut)
	w.fence.Stop()
	w.reportHistory(cut)
	result.note(w.leave(cut, w.whyStopped()))
	w.settling.Stop()
	w.kill()
	w.restoring.Wait()
	<-w.settling.Done()
	w.closeSettler()
	<-w.logging.Done()
	w.statsReporter.Announce(w.session().rdb.ID, w.events.emit)
	w.events.emit(event.WorkerStopped{Worker: w.session().rdb.ID, Err: result.orNil()})
	return result
}

// stopAnswering waits for the answers under way as long as for handlers whose ctx has ended: theirs has ended, too.
func (w *worker) stopAnswering(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, returnGrace)
	defer cancel()
	w.answerer.Stop(ctx)
}

// reportHistory brings what is left of history to Redis. What cannot be reported soon is lost.
func (w *worker) reportHistory(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	w.statsReporter.Flush(ctx)
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
// to run it or to keep it for the stop. Whatever a gate has not decided in time goes back with what does not return.
func (w *worker) returnUnbegun(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, takeUpGrace)
	defer cancel()
	w.slots.Until(ctx, func() bool { return w.slots.Queued() == 0 })
	w.release(w.takeUnbegun())
}

// keepUntaken takes what no processor has come to: what was prefetched, since they may all be busy for long, and what
// waits for others to be taken together with.
func (w *worker) keepUntaken() {
	w.keepGathered(func(*gatherer) bool { return true })
	for _, r := range w.untaken() {
		w.keepInstead(r)
	}
}

// keepInstead keeps what a processor was given and has not taken up.
func (w *worker) keepInstead(given *run) {
	for _, r := range given.members() {
		w.keepUnbegun(r)
		r.leave()
	}
	w.slots.TakeUp()
	w.slots.Vacate()
}

// keepGathered keeps what waits for more of some names for whoever gives it back.
func (w *worker) keepGathered(some func(*gatherer) bool) {
	for _, g := range w.gatherers {
		if !some(g) {
			continue
		}
		runs := g.open.Take()
		for _, r := range runs {
			r.leave()
		}
		w.keepUnbegun(runs...)
	}
}

// keepUnbegun keeps runs that will not begin, for whoever gives them back.
func (w *worker) keepUnbegun(runs ...*run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unbegun = append(w.unbegun, runs...)
}

func (w *worker) takeUnbegun() []*run {
	w.mu.Lock()
	defer w.mu.Unlock()
	runs := w.unbegun
	w.unbegun = nil
	return runs
}

// noteBegun notes that a processor has begun what it was given.
func (w *worker) noteBegun() {
	w.slots.TakeUp()
	if w.stopping() { // only a stop waits for this
		w.slots.Signal()
	}
}

// release gives runs back to the front of their queues and returns those whose outcome was still open. The newest go
// first: whatever the settler has sent when an older one comes, that one then comes to stand before it.
func (w *worker) release(runs []*run) (open []*run) {
	inOrder(runs)
	for _, r := range slices.Backward(runs) {
		if w.handOver(r, decision{verb: verbRelease}) {
			open = append(open, r)
		}
	}
	slices.Reverse(open)
	return open
}

// awaitHandlers waits for the handlers to return: as long as patience lasts, and for a short while after it.
func (w *worker) awaitHandlers(patience context.Context, deadline *lifecycle.StopDeadline) {
	returned := func() bool { return w.slots.Busy() == 0 }
	if w.slots.Until(patience, returned) {
		return
	}
	w.cancelHandlers(ErrShutdown)
	ctx, cancel := deadline.After(returnShare)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, returnGrace)
	defer cancel()
	w.slots.Until(ctx, returned)
}

func (w *worker) cancelHandlers(cause error) {
	for _, c := range w.sessions() {
		c.end(cause)
	}
}

// abandon gives back what has not returned, and says which handlers are stuck.
func (w *worker) abandon() (stuck []event.JobRef) {
	var runs []*run
	for _, c := range w.sessions() {
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
	if w.slots.Until(ctx, func() bool { return w.slots.Held() == 0 }) {
		return nil
	}
	if held := w.slots.Held(); held == w.slots.Waiting() {
		return fmt.Errorf("replicas have not confirmed %d outcomes yet: they are stored, and a failover may lose them",
			held)
	}
	return fmt.Errorf("%d outcomes were not acknowledged by Redis: those jobs run again once this worker counts as "+
		"dead",
		w.slots.Held())
}

// whyStopped is what the list of workers that have stopped says.
func (w *worker) whyStopped() string {
	switch {
	case w.engine.ordered.Load():
		return stopped.Ordered
	case w.retiring.Load():
		return stopped.Retired
	case w.engine.idled.Load():
		return stopped.Idle
	}
	return stopped.Stopped
}

// leave removes the worker from Redis, giving back what a lost fetch may have left, and passes tokens on that it took.
// It is listed with why it has stopped; without a reason it is not.
//
// A connection may have broken long before, while it was idle, and whether Redis did it is then not known: it is done
// again, which changes nothing where it was done. A stop has no later turn that would mend it.
func (w *worker) leave(ctx context.Context, why string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	err := w.leaveOnce(ctx, why)
	for range leaveAgain {
		if class := redisconn.Classify(err); !class.MayCount || !class.Again || ctx.Err() != nil {
			break
		}
		err = w.leaveOnce(ctx, why)
	}
	return err
}

func (w *worker) leaveOnce(ctx context.Context, why string) error {
	c, names, text := w.session(), w.queues.listing.Listed(), ""
	if why != "" {
		told := stopped.Of(c.info, why)
		told.Ran = c.ran.Ran()
		text = told.Encode()
	}
	for range 3 {
		left, err := c.withdrawAll(ctx, names)
		if err != nil {
			return fmt.Errorf("the worker could not be removed from Redis, others will reap it: %w", err)
		}
		holding, gone, err := c.rdb.Forget(ctx, left, text)
		if err != nil {
			return fmt.Errorf("the worker could not be removed from Redis, others will reap it: %w", err)
		}
		if gone {
			return w.store.Wake(ctx, w.queues.listing.Listed())
		}
		if len(holding) == 0 { // Redis lists others: a change of what is served was not answered
			if names, err = c.rdb.Queues(ctx); err != nil {
				return err
			}
			continue
		}
		for _, queue := range holding {
			if err := w.requeueListed(ctx, c, queue); err != nil {
				return err
			}
		}
	}
	return errors.New("the worker could not be removed from Redis, others will reap it")
}

// requeueListed requeues what Redis lists for a worker that leaves. That one holds nothing any more: a fetch under way
// brought it, or one whose reply was lost.
func (w *worker) requeueListed(ctx context.Context, c *session, queue string) error {
	for {
		lists, err := c.rdb.InProcess(ctx, []string{queue}, 7*rdb.MaxBatch) // more than it may hold
		if err != nil {
			return err
		}
		elements := lists[0].Elements
		if len(elements) == 0 {
			return lists[0].Err
		}
		if _, err := w.site.requeued.Requeue(ctx, c.rdb, queue, elements); err != nil {
			return err
		}
	}
}

// withdrawAll takes out the names of a worker that has more than one script can look at, and returns those that stay,
// since it holds jobs of them. The fetcher has ended: the numbers are the caller's.
func (s *session) withdrawAll(ctx context.Context, names []string) ([]string, error) {
	if len(names) <= rdb.MaxBatch {
		return names, nil
	}
	for range 3 {
		state, stay, err := s.rdb.Serve(ctx, s.nextNumber, rdb.Serving{Leave: names})
		switch {
		case err != nil:
			return nil, err
		case state == rdb.Registered:
			return stay, nil
		case state == rdb.Fenced: // it is being taken apart, or Redis has forgotten it
			return names, nil
		case state == rdb.Rewound:
			s.rdb.Acknowledged(0) // nothing is held any more
			continue
		}
		s.number += 1 << 32 // stale: somebody used our id, or a backup was restored
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
