package work

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
)

// lostLock is the digest of the lock that the decision takes from the job: a buried one keeps only those that last
// longer.
func (r *run) lostLock() string {
	kind := rdb.LockKind(r.record.LockKind)
	if r.decision.verb == verbBury && (kind == rdb.UntilEnded || kind == rdb.UntilBegun) {
		return r.record.Lock
	}
	return ""
}

// heldLock is the lock that the run's job has as long as the run lasts. One for a time is not told by its job: nobody
// knows how much of the time is left.
func (r *run) heldLock() (digest string, kind rdb.LockKind) {
	kind = rdb.LockKind(r.record.LockKind)
	if kind == rdb.UntilEnded || kind == rdb.UntilGone || kind == rdb.UntilBegun && r.begun.Load() == 0 {
		return r.record.Lock, kind
	}
	return "", ""
}

// unlock frees the lock of a run that is unique until it begins, which it is about to do. It returns false when the run
// must not begin: its claim is gone, or the worker stops. Redis is asked until it answers: a job that is put off after
// its lock was freed would wait beside another one of its kind.
func (w *worker) unlock(r *run) bool {
	if rdb.LockKind(r.record.LockKind) != rdb.UntilBegun || r.record.Lock == "" {
		return true
	}
	trouble := health{component: "processor", events: w.events}
	for try := 1; !w.stopping(); try++ {
		ctx, cancel := context.WithTimeout(w.life, fetchTimeout)
		stands, err := r.claimant.rdb.Begin(ctx, r.claim, r.record.Lock)
		cancel()
		trouble.report(err)
		switch {
		case err == nil && stands:
			return true
		case err == nil:
			w.conclude(r, decision{verb: verbRelease}) // which finds that the claim is gone
			return false
		}
		if !rdb.ConcernsServer(err) && !judge(err).again { // a key that is broken: others must not wait behind this job
			w.conclude(r, postponement())
			return false
		}
		if r.calledOff.Load() {
			w.conclude(r, r.cancellation(w.clock.now()))
			return false
		}
		backoff.Pause(w.life, min(backoff.For(try), time.Second))
	}
	w.putAside(r)
	return false
}
