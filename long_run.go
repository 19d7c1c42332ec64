package work

import (
	"errors"
	"sync"

	"github.com/265d0351/work/internal/rdb"
)

// longRun is what a run has in Redis beside its claim while it goes on: a log, a state, the last it told. Most runs
// have nothing of it.
type longRun struct {
	mu       sync.Mutex
	over     bool   // the attempt is: nothing is written any more
	message  string // the last of Checkin
	progress string // JSON, the last of Progress

	log   *jobLog // nil until somebody asked for the logger
	saves int64   // numbers of what was saved

	// What is or will be in Redis, and is in the trail once the attempt is over. It is noted before it is sent: a log
	// that was noted and is not there harms nobody, one that is there and was not noted is left behind.
	hasLog, hasState     bool
	logNoted, stateNoted bool // Redis knows
}

// ErrAttemptOver is returned by what belongs to one attempt of a job, once that is over: the handler has returned, or
// the pool has stopped waiting for it.
var ErrAttemptOver = errors.New("this attempt of the job is over")

// note returns the trail that notes what the run has in Redis, with what is known to stand there already left out.
func (r *run) note(noted *bool) rdb.Note {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	if *noted {
		return rdb.Note{}
	}
	present, fuller := *r.trail, *r.trail
	present.Log, present.State = r.long.hasLog, r.long.hasState
	fuller.Log, fuller.State = true, true
	return rdb.Note{Trail: present.encode(), Fuller: fuller.encode()}
}

// noted remembers that a note has reached Redis.
func (r *run) noted(which *bool) {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	*which = true
}

// endAttempt lets nothing be written to Redis any more but what is on its way, and puts what there is into the trail,
// which nobody changes from then on. Whoever decides about the run calls it first; the first call counts.
func (r *run) endAttempt() {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	if r.long.over {
		return
	}
	r.long.over = true
	if r.long.hasLog != r.trail.Log || r.long.hasState != r.trail.State {
		whole := *r.trail
		whole.Log, whole.State = r.long.hasLog, r.long.hasState
		r.trail = &whole
	}
}

// presentTrail is the trail that stands in Redis, to be stored again.
func (r *run) presentTrail() []byte {
	r.long.mu.Lock()
	defer r.long.mu.Unlock()
	if !r.long.logNoted && !r.long.stateNoted {
		return r.trail.raw
	}
	present := *r.trail
	present.Log, present.State = r.long.hasLog, r.long.hasState
	return present.encode()
}
