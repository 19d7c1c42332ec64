package intake

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// conflictTries is how often the job that lives is tried to be changed, or another one stored when it has just ended.
// The waits between them, 5 ms and doubling, outlast the moment in which a worker has a job and has not begun it.
const (
	conflictTries = 8
	conflictWait  = 5 * time.Millisecond
)

// settle says what became of a job, the i-th of its request, once its conflict, if it has one, is resolved, and the
// replicas have it that it waits for.
func (in *Intake) settle(ctx context.Context, job *Job, a *answer, i int) Result {
	if later, ok := a.later[i]; ok {
		return in.settle(ctx, job, &later, 0)
	}
	a.confirmation.resolve(ctx)
	if job.Conflict == nil || job.Conflict.Change == nil || a.outcome != Stored || a.problems[i] != rdb.Unique {
		return a.result(job, i)
	}
	owner := a.owners[i]
	for try := range conflictTries {
		amended, outcome, err := in.amend(ctx, a.of.lane.site, job.Conflict.Change, owner)
		switch {
		case err != nil:
			return Result{Outcome: outcome, Err: err}
		case amended == rdb.AmendDone:
			return Result{Outcome: Stored, Duplicate: true, Owner: owner}
		}
		if amended != rdb.AmendGone && !backoff.Pause(ctx, conflictWait<<try) {
			break
		}
		again := in.putOne(ctx, job)
		if again.outcome != Stored || again.problems[0] != rdb.Unique {
			again.confirmation.resolve(ctx)
			return again.result(job, 0)
		}
		owner, a = again.owners[0], &again
	}
	return Result{Outcome: NotStored, Duplicate: true, Owner: owner, Held: true}
}

// amend changes the job that lives, in the partition where it has the lock. With an error it says whether that may have
// happened.
func (in *Intake) amend(ctx context.Context, at *site, change Change, owner string) (amended rdb.Amended, o Outcome,
	err error) {
	o = NotStored
	var broken error
	err = in.Ask(ctx, func(ctx context.Context) error {
		read, err := at.Store.Record(ctx, owner)
		if err != nil || read == nil {
			amended = rdb.AmendGone
			return err
		}
		var a rdb.Amendment
		if a, broken = change.Amendment(owner, read); broken != nil {
			return nil // the same the next time
		}
		o = Unknown
		amended, err = at.Store.Amend(ctx, a)
		if err == nil && amended == rdb.AmendDue { // it comes soon enough
			a.Place = ""
			if a.New, broken = change.Apply(read); broken == nil {
				amended, err = at.Store.Amend(ctx, a)
			}
		}
		if amended == rdb.AmendSteps { // it has begun with what it was enqueued with, and only waits
			amended = rdb.AmendHeld
		}
		return err
	})
	if err = excerpt.Join(err, broken); err != nil {
		err = fmt.Errorf("job %s has its lock and cannot be changed: %w", excerpt.Brief(owner), err)
	}
	return amended, o, err
}
