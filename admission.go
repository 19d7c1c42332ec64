package work

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/refusals"
)

// Not every job that was claimed begins. What can be told when it is fetched is decided by the fetcher, in reject; the
// rest by the processor, in admit, just before it begins: time has passed, and some gates cost a request of their own.

// reject decides what becomes of a job that is not to be given to a processor: cancelled, broken, too late, or one that
// workers died with. It returns false for all others.
func (w *worker) reject(r *run, fetched *rdb.FetchedJob, now time.Time) bool {
	err := r.recordErr
	if err == nil {
		err = w.tooManyCrashes(&r.crashes)
	}
	switch {
	case fetched.Cancelled:
		r.decision = r.cancelDecision(now)
	case err != nil:
		r.decision = r.buryDecision(excerpt.ErrorText(err), nil, now)
	case r.isLate(now, &r.decision):
	case r.registration.missing:
		r.decision = handedOn(r)
	case !needs.Met(r.record.Needs, w.engine.options.Labels):
		r.decision = whereItBelongs(r)
	case w.mustWait(r):
		r.decision = deferral()
	default:
		return false
	}
	return true
}

// admit asks each gate in turn whether the run may begin. The gate that says no has decided what becomes of the run.
// Those that ask Redis come last.
func (w *worker) admit(r *run) bool {
	return w.isServed(r) && !w.endCancelled(r) && !w.releaseFenced(r) && !w.endLate(r) && w.markSuspect(r) &&
		w.unlock(r)
}

// isServed keeps a run from beginning whose worker stops, or whose name was withdrawn after it was fetched; the stop or
// the fetcher gives it back.
func (w *worker) isServed(r *run) bool {
	if !w.stopping() && !r.registration.withdrawn.Load() {
		return true
	}
	w.keepUnbegun(r)
	if !w.stopping() {
		w.alert()
	}
	return false
}

// endCancelled ends a run that was cancelled before it has begun, and tells whether it was.
func (w *worker) endCancelled(r *run) bool {
	if !r.cancelRequested.Load() {
		return false
	}
	w.handOver(r, r.cancelDecision(w.clock.Now()))
	return true
}

// releaseFenced gives a run back when others may have its job, and tells whether it did.
func (w *worker) releaseFenced(r *run) bool {
	if !w.fence.IsDown() && !r.cutOff() {
		return false
	}
	w.handOver(r, decision{verb: verbRelease})
	return true
}

// endLate ends a run that has expired, or whose deadline has passed, and tells whether it did.
func (w *worker) endLate(r *run) bool {
	if r.record.Expires == 0 && r.record.Deadline == 0 {
		return false
	}
	var end decision
	if !r.isLate(w.clock.Now(), &end) {
		return false
	}
	w.handOver(r, end)
	return true
}

// markSuspect tells Redis that the run begins if workers have died with its job. It returns false when the run must not
// begin: its claim is gone, or nobody would know whom to blame.
func (w *worker) markSuspect(r *run) bool {
	if !r.crashed {
		return true
	}
	ctx, cancel := context.WithTimeout(w.life, fetchTimeout)
	defer cancel()
	named, err := r.session.rdb.Suspect(ctx, r.claim)
	if err == nil && named {
		return true
	}
	w.handOver(r, deferral())
	return false
}

// unlock frees the lock of a run that is unique until it begins, which it is about to do. It returns false when the run
// must not begin: its claim is gone, or the worker stops. Redis is asked until it answers: a job that is deferred after
// its lock was freed would wait beside another one of its kind.
func (w *worker) unlock(r *run) bool {
	if rdb.LockKind(r.record.LockKind) != rdb.UntilBegun || r.record.Lock == "" {
		return true
	}
	health := healthreport.Reporter{Component: "processor", Emit: w.events.emit}
	for try := 1; !w.stopping(); try++ {
		ctx, cancel := context.WithTimeout(w.life, fetchTimeout)
		stands, err := r.session.rdb.Begin(ctx, r.claim, r.record.Lock)
		cancel()
		health.Report(err)
		switch {
		case err == nil && stands:
			return true
		case err == nil:
			w.handOver(r, decision{verb: verbRelease}) // which finds that the claim is gone
			return false
		}
		if refusals.Hopeless(err, try) { // as for a broken key
			w.handOver(r, deferral())
			return false
		}
		if w.endCancelled(r) {
			return false
		}
		backoff.Pause(w.life, min(backoff.For(try), time.Second))
	}
	w.keepUnbegun(r)
	return false
}

// mustWait tells whether a run is a suspect, with whose job workers have died, while another one is under way in this
// pool. Otherwise it becomes the one. Of each job that a worker has died with Redis is told before it begins: what was
// only held when its worker died has not to do with that.
func (w *worker) mustWait(r *run) bool {
	if r.crashes.Count() < crash.SuspectAfter {
		return false
	}
	r.suspected = true
	return !w.engine.quarantine.Enter(r.job)
}

// whereItBelongs has a job wait in its own queue that needs labels which this worker does not have, and stood in
// another one: a program that knows of no labels may have put it there. No attempt is used.
func whereItBelongs(r *run) decision {
	return decision{verb: verbSnooze, delay: time.Millisecond, keepCrashes: true, queue: r.record.Queue()}
}

// strayed tells whether a job that was met in the queue of another name was put there rightly: somebody else has names
// share it.
func (r *run) strayed() (name string, is bool) {
	if r.recordErr == nil {
		return "", false
	}
	rec, err := record.Decode(r.raw)
	return rec.Name, err == nil && rec.Shared != "" && rec.Shared == needs.Name(r.claim.Queue) &&
		rec.Name != r.registration.name
}

// handedOn has a job wait for a worker that has a handler for it. No attempt is used. Should it have been handed on
// already, some time has to pass: who serves that queue is to have a handler.
func handedOn(r *run) decision {
	queue, delay := needs.HandOn(r.claim.Queue, r.registration.name), time.Millisecond
	if queue == r.claim.Queue {
		delay = time.Second
	}
	return decision{verb: verbSnooze, delay: delay, keepCrashes: true, queue: queue}
}

// deferral shelves a suspect for a while; no attempt is used and its crashes are not forgotten.
func deferral() decision {
	return decision{verb: verbSnooze, delay: crash.Wait(), keepCrashes: true}
}

// clear ends the time of a suspect.
func (w *worker) clear(r *run) {
	if r.suspected {
		w.engine.quarantine.Leave(r.job)
	}
}

// isLate tells whether the run must not begin any more, and decides about it then.
func (r *run) isLate(now time.Time, outcome *decision) bool {
	switch ms := now.UnixMilli(); {
	case r.record.Deadline > 0 && ms >= r.record.Deadline:
		*outcome = r.deathDecision("its deadline has passed", nil, now)
	case r.record.Expires > 0 && ms >= r.record.Expires && !r.hadBegun():
		*outcome = r.ends(decision{verb: verbExpire, keep: discardRetention}, record.Outcome{}, now)
	default:
		return false
	}
	return true
}
