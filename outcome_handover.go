package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/requeue"
)

// handOver gives the outcome of a run to the settler, also of one that was not begun or did not return. It returns
// false if its outcome was decided before.
func (w *worker) handOver(r *run, d decision) bool { return w.handOverTelling(r, d, 0, w.events.emit) }

// handOverAfter is handOver for a run whose handler took that long. An observer may end the goroutine of the caller.
func (w *worker) handOverAfter(r *run, d decision, elapsed time.Duration) {
	w.handOverTelling(r, d, elapsed, w.events.emitHere)
}

func (w *worker) handOverTelling(r *run, d decision, elapsed time.Duration, tell func(event.Event)) bool {
	if !w.conclude(r, d, elapsed) {
		return false
	}
	defer w.outcomes.Put(r) // whatever an observer does
	if d.verb != verbDone || w.events.perJob() {
		tell(r.outcomeEvent(d, elapsed))
	}
	return true
}

// conclude notes what becomes of a run, whose outcome the caller gives to the settler. It returns false if that was
// decided before.
func (w *worker) conclude(r *run, d decision, elapsed time.Duration) bool {
	if !r.settled.CompareAndSwap(false, true) {
		return false
	}
	r.endAttempt()
	r.decision, r.elapsed = d, elapsed
	if d.cutShort && w.stopping() { // else its worker was fenced, which is no matter of a stop
		w.noteCutShort(r)
	}
	return true
}

func (w *worker) noteCutShort(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cutShort = append(w.cutShort, r.ref())
}

// outcomeEvent tells what became of an attempt. Of jobs that are done there is an event only where an observer wants
// those of each job: they are by far the most frequent.
func (r *run) outcomeEvent(d decision, elapsed time.Duration) event.Event {
	switch d.verb {
	case verbRetry:
		return event.JobFailed{JobRef: r.ref(), Elapsed: elapsed, Err: d.err, RetryIn: d.delay, Failure: d.kind}
	case verbBury:
		return event.JobBuried{JobRef: r.ref(), Reason: d.reason, Err: d.err, Failure: d.kind}
	case verbDiscard:
		return event.JobDiscarded{JobRef: r.ref(), Err: d.err, Failure: d.kind}
	case verbExpire:
		return event.JobExpired{JobRef: r.ref(), At: r.expiry()}
	case verbCancel:
		return event.JobCancelled{JobRef: r.ref()}
	case verbSnooze:
		return event.JobSnoozed{JobRef: r.ref(), For: d.delay, Err: d.err}
	case verbRelease:
		return event.JobReleased{JobRef: r.ref(), Err: d.err}
	default: // verbDone
		return event.JobDone{JobRef: r.ref(), Elapsed: elapsed}
	}
}

// inOrder sorts runs by when they were fetched, oldest first.
func inOrder(runs []*run) {
	slices.SortFunc(runs, func(a, b *run) int { return int(a.order - b.order) })
}

// place is where the run's job stands among those that its pool has fetched.
func (r *run) place() requeue.Place {
	return requeue.Place{ID: r.job.ID, Worker: r.session.rdb.ID, Fetched: r.fetched, Number: r.fetchNumber(),
		Order: r.order}
}

// fetchNumber is that of the fetch that brought the run.
func (r *run) fetchNumber() int64 { return r.claim.Number() }

// errHookLate is the cause with which the ctx of OnDeath ends.
var errHookLate = errors.New(
	"OnDeath has not returned within 5s: its ctx has ended, and it is not waited for any longer")

// needsDeathHook tells whether the run's job has just died here, and somebody wants to know.
func (r *run) needsDeathHook() bool {
	return r.decision.death != nil && r.registration.options.OnDeath != nil && !r.settlement.lostClaim
}

// startDeathHook calls OnDeath in a goroutine of its own. Until it returns, or its time is over, its job counts against
// what may be fetched: so there are never more of these goroutines than claims, and a stop waits for them.
func (w *worker) startDeathHook(r *run) {
	ctx, cancel := context.WithTimeoutCause(w.life, w.engine.times.Hook, errHookLate)
	end := sync.OnceFunc(func() { w.slots.Settled(1) })
	ref, cause := r.ref(), r.decision.death
	stopWaiting := context.AfterFunc(ctx, func() {
		defer end()
		w.events.emit(event.DeathHookFailed{JobRef: ref, Err: context.Cause(ctx)})
	})
	go func() {
		defer cancel()
		var err error = fmt.Errorf("the function OnDeath has not returned: %w", &GoexitError{})
		defer func() {
			if stopWaiting() {
				defer end()
				if err != nil {
					w.events.emit(event.DeathHookFailed{JobRef: ref, Err: err})
				}
			}
		}()
		err = callOnDeath(ctx, r, cause)
	}()
}

// callOnDeath turns a panic of OnDeath into an error.
func callOnDeath(ctx context.Context, r *run, cause error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = recovered(value)
		}
	}()
	r.registration.options.OnDeath(ctx, r.job, cause)
	return nil
}
