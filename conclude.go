package work

import (
	"github.com/265d0351/work/event"
	"slices"
	"time"
)

// conclude decides the fate of a run that was not begun or did not return, and hands it to the settler. It returns
// false if its fate was decided before.
func (w *worker) conclude(r *run, d decision) bool { return w.concludeAfter(r, d, 0) }

// concludeAfter is conclude for a run whose handler took that long.
func (w *worker) concludeAfter(r *run, d decision, elapsed time.Duration) bool {
	if !r.settled.CompareAndSwap(false, true) {
		return false
	}
	r.endAttempt()
	r.decision, r.elapsed = d, elapsed
	if d.cutShort && w.stopping() { // else its worker was fenced, which is no matter of a stop
		w.noteCutShort(r)
	}
	defer w.scribe.handOver(r) // whatever an observer does
	w.tell(r, d, elapsed)
	return true
}

func (w *worker) noteCutShort(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cutShort = append(w.cutShort, r.ref())
}

func (w *worker) tell(r *run, d decision, elapsed time.Duration) {
	switch d.verb {
	case verbDone:
		if w.events.perJob() {
			w.events.emit(event.JobDone{JobRef: r.ref(), Elapsed: elapsed})
		}
	case verbRetry:
		w.events.emit(event.JobFailed{JobRef: r.ref(), Elapsed: elapsed, Err: d.err, RetryIn: d.delay})
	case verbBury:
		w.events.emit(event.JobBuried{JobRef: r.ref(), Reason: d.reason, Err: d.err})
	case verbDiscard:
		w.events.emit(event.JobDiscarded{JobRef: r.ref(), Err: d.err})
	case verbExpire:
		w.events.emit(event.JobExpired{JobRef: r.ref(), At: r.expiry()})
	case verbCancel:
		w.events.emit(event.JobCancelled{JobRef: r.ref()})
	case verbSnooze:
		w.events.emit(event.JobSnoozed{JobRef: r.ref(), For: d.delay, Err: d.err})
	case verbRelease:
		w.events.emit(event.JobReleased{JobRef: r.ref(), Err: d.err})
	}
}

// inOrder sorts runs by when they were fetched, oldest first.
func inOrder(runs []*run) {
	slices.SortFunc(runs, func(a, b *run) int { return int(a.order - b.order) })
}
