package work

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"
)

// A job that two workers have died with is a suspect. A pool runs one suspect at a time and tells Redis which before
// it begins; the others wait in scheduled. So if the program dies now, that one is to blame, and its innocent
// neighbours are not buried with it.
const (
	suspectAfter   = 2 // crashes
	suspectMinWait = time.Second
	suspectMaxWait = 30 * time.Second
)

// putOff puts a suspect off when another one is under way in this pool. Otherwise it becomes the one.
func (w *worker) putOff(r *run, crashes string) bool {
	if len(strings.Fields(crashes)) < suspectAfter {
		return false
	}
	r.suspected = true
	return !w.pool.suspect.CompareAndSwap(nil, r)
}

// accuse names the run in Redis if it is a suspect. It returns false when the run must not begin: its claim is gone, or
// nobody would know whom to blame.
func (w *worker) accuse(r *run) bool {
	if !r.suspected {
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

// acquit ends the time of a suspect.
func (w *worker) acquit(r *run) {
	if r.suspected {
		w.pool.suspect.CompareAndSwap(r, nil)
	}
}
