package work

import (
	"context"
	"fmt"

	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// CancelEffect is what a call of Cancel has done about one job.
type CancelEffect string

// The effects of a call of Cancel. The zero value says that nothing is known: the call ended before.
const (
	// CancelEnded: it waited, and has ended as cancelled. (One that stands more than 10,000 jobs deep in its queue
	// reads as cancelled and never runs; what belongs to it, such as a lock, is kept until its turn has come.)
	CancelEnded CancelEffect = "ended"
	// CancelFlagged: a worker has it. The ctx of its handler ends within a second, with [ErrCancelled] as its cause,
	// and when the handler has returned the job ends as cancelled, whatever it returned.
	CancelFlagged CancelEffect = "flagged"
	// CancelTooLate: it had ended before, as State says.
	CancelTooLate CancelEffect = "too late"
	// CancelDead: it is in the morgue, where nothing is left to cancel. Nothing was done.
	CancelDead CancelEffect = "dead"
	// CancelNotFound: there is no such job, or it has ended and no outcome is kept.
	CancelNotFound CancelEffect = "not found"

	// it is on its way from the partition that says so, and was flagged there. Nobody is told that: see cancelling.
	cancelLeaving CancelEffect = "leaving"
)

// CancelResult is what a call of Cancel has done about one job.
type CancelResult struct {
	ID     string       `json:"id"`
	Effect CancelEffect `json:"effect"`
	State  State        `json:"state,omitempty"` // of the job, now or soon; empty where it is not known
}

// Err is nil if the job has ended as cancelled or will, by this call or another. Otherwise it is a *[CancelError].
func (r CancelResult) Err() error {
	if r.State == StateCancelled {
		return nil
	}
	return &CancelError{CancelResult: r}
}

// CancelError says why a job was not cancelled. It is [ErrNotFound] for one of which nothing is there.
type CancelError struct{ CancelResult }

func (e *CancelError) Error() string { return excerpt.Cut(e.text()) }

func (e *CancelError) text() string {
	switch job := excerpt.Brief(e.ID); e.Effect {
	case CancelTooLate:
		return fmt.Sprintf("job %s cannot be cancelled: it has ended as %s", job, e.State)
	case CancelDead:
		return fmt.Sprintf("job %s cannot be cancelled: it is dead and will not run by itself; delete it instead", job)
	case CancelNotFound:
		return fmt.Sprintf("job %s cannot be cancelled: %v", job, ErrNotFound)
	default:
		return fmt.Sprintf("it is not known whether job %s was cancelled: cancel it again", job)
	}
}

// Unwrap returns [ErrNotFound] where it applies.
func (e *CancelError) Unwrap() error {
	if e.Effect == CancelNotFound {
		return ErrNotFound
	}
	return nil
}

// Cancel ends jobs before they are done. Those that wait, are scheduled, to be retried or stalled end at once; of those
// that run the ctx ends within a second, wherever they do, and they end when their handlers return, whatever these
// return: they are not retried. Dead ones are refused. That they were cancelled is kept for their retention, a minute
// at the least.
//
// There is one result for each id, in their order, also with an error: then some Effects are empty. An id that cannot
// be one is an error before anything is done. It sends up to 500 ids at a time, goes on by itself when a connection
// breaks, and ends when ctx does. Cancelling again does no harm. It may be called concurrently.
func (e *Enqueuer) Cancel(ctx context.Context, ids ...string) ([]CancelResult, error) {
	if err := e.core.intake.Enter(); err != nil {
		return nil, err
	}
	defer e.core.intake.Leave()
	return e.core.cancel(ctx, ids)
}

// cancelJobs cancels jobs, as many to a script as it takes. There is a result for each id, also with an error.
func cancelJobs(ctx context.Context, store *rdb.Store, ids []string) ([]CancelResult, error) {
	cancelled, err := ending.Cancel(ctx, store, ids)
	if cancelled == nil {
		return nil, asInvalid(err)
	}
	results := make([]CancelResult, len(cancelled))
	for i, one := range cancelled {
		results[i] = CancelResult{ID: one.ID, Effect: CancelEffect(one.Effect), State: State(one.State)}
	}
	return results, err
}
