package intake

import (
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/objects"
)

// answer is what a caller is told about the jobs of its request.
type answer struct {
	outcome  Outcome             // of all, except those with problems
	at       time.Time           // by the clock of Redis, when stored
	problems map[int]rdb.Problem // by index, when stored
	missing  map[int]string      // by index: the object that was not there
	owners   map[int]string      // by index: the job that has the lock
	later    map[int]answer      // by index: what came of sending that job alone again
	err      error               // otherwise

	// the version of the map that the partition knows, where the jobs came back by that
	newer        int64
	of           callID               // the call of which all this is the answer
	confirmation *pendingConfirmation // that some of the jobs wait for; nil for none
}

// errQueueKey is the problem of a job whose queue cannot take any.
var errCrowded = fmt.Errorf("%d other names of this namespace have jobs with keys already: leave the key out, or "+
	"use another namespace", rdb.MaxTurning)

var errQueueKey = errors.New("the key of its queue holds something that is no list: rename or remove that key")

// result reads what was answered for the job, the i-th of its request.
func (a *answer) result(job *Job, i int) Result {
	if later, ok := a.later[i]; ok {
		return later.result(job, 0)
	}
	if a.outcome != Stored {
		return Result{Outcome: a.outcome, Err: a.err}
	}
	switch problem := a.problems[i]; problem {
	case "":
		stored := Result{Outcome: Stored, At: a.at}
		a.confirmation.tell(&stored)
		return stored
	case rdb.Duplicate:
		return Result{Outcome: Stored, Duplicate: true, Owner: job.ID}
	case rdb.Unique:
		if job.Conflict != nil && job.Conflict.Refuse {
			return Result{Outcome: NotStored, Duplicate: true, Owner: a.owners[i]}
		}
		return Result{Outcome: Stored, Duplicate: true, Owner: a.owners[i]}
	case rdb.BadKey:
		return Result{Outcome: NotStored, Err: fmt.Errorf("queue %s: %w", excerpt.Brief(needs.Text(job.Queue)),
			errQueueKey)}
	case rdb.NoObject:
		return Result{Outcome: NotStored, Err: &objects.VanishedError{Hash: objects.Hash(a.missing[i])}}
	case rdb.Crowded:
		return Result{Outcome: NotStored, Err: fmt.Errorf("queue %s: %w", excerpt.Brief(needs.Text(job.Queue)),
			errCrowded)}
	default:
		return Result{Outcome: NotStored,
			Err: fmt.Errorf("redis refused it with %s", excerpt.Quoted(fmt.Sprint(problem)))}
	}
}

// returned is the outcome of jobs that were not executed where they went, and belong elsewhere or may go there: their
// caller finds out where. It is told to nobody.
const returned Outcome = -1

// one is the answer for the i-th job alone.
func (a *answer) one(i int) answer {
	if later, ok := a.later[i]; ok {
		return later
	}
	return a.part(i, 1)
}

// part is the answer for so many jobs of a request, counted from the first of these.
func (a *answer) part(from, n int) answer {
	own := *a
	own.problems, own.missing, own.owners = part(a.problems, from, n), part(a.missing, from, n), part(a.owners, from, n)
	return own
}

// part is what concerns the jobs from..from+n, counted from the first of these.
func part[V any](whole map[int]V, from, n int) map[int]V {
	var own map[int]V
	for i, value := range whole {
		if i >= from && i < from+n {
			if own == nil {
				own = map[int]V{}
			}
			own[i-from] = value
		}
	}
	return own
}
