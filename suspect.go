package work

import (
	"context"
	"github.com/265d0351/work/internal/crash"
	"math/rand/v2"
)

// A job that two workers have died with is a suspect. A pool runs one suspect at a time; the others wait in scheduled.
// So if the program dies now, that one is to blame, and its innocent neighbours are not buried with it. Of each job
// that a worker has died with Redis is told before it begins: what was only held when its worker died has not to do
// with that.
const (
	suspectMinWait = crash.MinWait
	suspectMaxWait = crash.MaxWait
)

// putOff puts a suspect off when another one is under way in this pool. Otherwise it becomes the one.
func (w *worker) putOff(r *run) bool {
	if r.crashes.Count() < crash.SuspectAfter {
		return false
	}
	r.suspected = true
	return !w.pool.suspect.CompareAndSwap(nil, r)
}

// accuse tells Redis that the run begins if workers have died with its job. It returns false when the run must not
// begin: its claim is gone, or nobody would know whom to blame.
func (w *worker) accuse(r *run) bool {
	if !r.crashed {
		return true
	}
	ctx, cancel := context.WithTimeout(w.life, fetchTimeout)
	defer cancel()
	named, err := r.claimant.rdb.Suspect(ctx, r.claim)
	if err == nil && named {
		return true
	}
	w.conclude(r, postponement())
	return false
}

// postponement shelves a suspect for a while; no attempt is used and its crashes are not forgotten.
func postponement() decision {
	delay := suspectMinWait + rand.N(suspectMaxWait-suspectMinWait)
	return decision{verb: verbSnooze, delay: delay, keepCrashes: true}
}

// absolution is owed to the jobs of a worker that was taken for dead and is alive: they have met no crash.
type absolution struct {
	of  *claimant
	ids []string
}

// absolve takes back that a former identity of this worker died. What fails is tried again with the next heartbeat.
func (w *worker) absolve(ctx context.Context, old *claimant) {
	w.owed = append(w.owed, absolution{old, old.ever()})
	w.absolveOwed(ctx)
}

// absolveOwed is called by the heartbeater alone.
func (w *worker) absolveOwed(ctx context.Context) {
	for len(w.owed) > 0 {
		if _, err := w.owed[0].of.rdb.Absolve(ctx, w.owed[0].ids); err != nil {
			return
		}
		w.owed = w.owed[1:]
	}
}

// acquit ends the time of a suspect.
func (w *worker) acquit(r *run) {
	if r.suspected {
		w.pool.suspect.CompareAndSwap(r, nil)
	}
}
