package thoonk

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// DefaultKeep is how long a result is kept where nothing else is said.
const DefaultKeep = time.Hour

// Finish ends a job without a result; one that an earlier job of that id had goes away. It fails with [ErrGone] where
// the claim is no longer there: then the job is another's, and what this one did may be done twice.
//
// An outcome that got no answer, or that Redis refuses for a while as in a failover, is sent again until ctx ends, so
// give it one that does. A claim that is gone after no answer counts as ended.
func (j *JobFeed[T, R]) Finish(ctx context.Context, h Held) error { return j.finish(ctx, h, nil, 0) }

// FinishWith ends a job with a result, kept for that time; 0 is [DefaultKeep]. It fails with a [*NameError], and the
// claim stays, where another program chose an id that [JobFeed.Put] refuses: such a job ends without a result.
// Otherwise it is like [JobFeed.Finish].
func (j *JobFeed[T, R]) FinishWith(ctx context.Context, h Held, result R, keep time.Duration) error {
	if keep < 0 {
		return &FeedError{Feed: j.Name(), ID: h.ID,
			Err: fmt.Errorf("result cannot be kept for %s: use 0 for an hour, or a time above it", keep)}
	}
	if err := checkJobID(h.ID); err != nil {
		return j.client.explained(j.Name(), err)
	}
	if keep == 0 {
		keep = DefaultKeep
	}
	item, err := encoded(j.results, result)
	if err != nil {
		return &FeedError{Feed: j.Name(), ID: h.ID, Err: err}
	}
	return j.finish(ctx, h, item, keep)
}

func (j *JobFeed[T, R]) finish(ctx context.Context, h Held, result []byte, keep time.Duration) error {
	return j.settle(ctx, h, func(ctx context.Context, known string, claim thoonkdb.Claim) (bool, error) {
		return j.db.Finish(ctx, known, claim, result, keep)
	})
}

// Cancel gives a job back: it goes to the end of the queue, and its count goes up. Otherwise it is like
// [JobFeed.Finish].
func (j *JobFeed[T, R]) Cancel(ctx context.Context, h Held) error {
	return j.settle(ctx, h, j.db.Cancel)
}

// Stall puts a job aside, until it is retried or retracted. Otherwise it is like [JobFeed.Finish].
func (j *JobFeed[T, R]) Stall(ctx context.Context, h Held) error { return j.settle(ctx, h, j.db.Stall) }

// Retry puts a stalled job to the end of the queue, as one that was never cancelled. It fails with [ErrNotStalled], and
// does nothing, for any other.
func (j *JobFeed[T, R]) Retry(ctx context.Context, id string) error {
	return j.changed(ctx, id, ErrNotStalled, func(ctx context.Context, known string) (bool, error) {
		return j.db.Retry(ctx, known, id)
	})
}

// Retract removes a job, whether it waits, is claimed or is stalled; a claim on it is then gone. It fails with
// [ErrNoItem].
func (j *JobFeed[T, R]) Retract(ctx context.Context, id string) error {
	return j.changed(ctx, id, ErrNoItem, func(ctx context.Context, known string) (bool, error) {
		return j.db.Withdraw(ctx, known, id)
	})
}

// settle sends an outcome until it is answered, and not by a refusal that passes. One for any claim is not sent again
// after a lost answer: it could hit another claim.
func (j *JobFeed[T, R]) settle(ctx context.Context, h Held,
	send func(ctx context.Context, known string, claim thoonkdb.Claim) (bool, error)) error {
	claim, doubt := thoonkdb.Claim{ID: h.ID, Time: h.mark}, false
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		err := j.changed(ctx, h.ID, ErrGone, func(ctx context.Context, known string) (bool, error) {
			done, err := send(ctx, known, claim)
			return done || doubt && err == nil, err
		})
		if !passing(err) || lost(err) && h.mark == "" {
			return err
		}
		doubt = doubt || unanswered(err)
		if !sleep(ctx, pause) {
			return err
		}
	}
}
