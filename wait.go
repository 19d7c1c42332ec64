package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// Wait waits until a job has ended and returns what its handler returned beside its error. It makes no difference
// whether the job ends before or after the call, as long as its outcome is kept: for its Retention, and at least a
// minute where somebody waits. Many callers may wait for one job, and one program for many jobs: they share a
// connection and their requests, and nobody polls.
//
// A job that did not end well is an error: *[JobFailedError] when it is dead; *[NoResultError] when it was cancelled
// (which is also [ErrCancelled]), discarded, deleted, has expired, or when its handler returns no value (see
// [Enqueuer.WaitEnd]); [ErrGone] when nothing is kept of it, or there was no such job. A failed attempt that is
// followed by another is no end. When ctx ends the error is its cause; nothing is left behind. [Enqueuer.Close] ends
// the wait with [ErrClosed].
func Wait[T any](ctx context.Context, enq *Enqueuer, id string) (result T, err error) {
	if unended := enq.wait(ctx, []string{id}, func(end jobEnd) bool {
		result, err = endResult[T](ctx, enq, end)
		return true
	}); unended != nil {
		return result, unended
	}
	return result, err
}

// WaitAll waits until all jobs have ended, as [Wait] does, and returns their results in the order of ids. Those of jobs
// that gave none are zero, and the error is made of theirs: errors.As and errors.Is find each. When ctx ends, what has
// come until then is returned.
func WaitAll[T any](ctx context.Context, enq *Enqueuer, ids ...string) ([]T, error) {
	results, failed := make([]T, len(ids)), make([]error, len(ids))
	places := map[string][]int{}
	for i, id := range ids {
		places[id] = append(places[id], i)
	}
	unended := enq.wait(ctx, distinct(ids, places), func(end jobEnd) bool {
		result, err := endResult[T](ctx, enq, end)
		for _, i := range places[end.id] {
			results[i] = result
		}
		failed[places[end.id][0]] = err
		return false
	})
	return results, excerpt.Join(append(failed, unended)...)
}

// WaitAny waits until one of the jobs has ended, as [Wait] does, and returns its id with its result or error: also a
// job that failed has ended. Where several have, it is any of them. The id is empty when ctx ended before.
func WaitAny[T any](ctx context.Context, enq *Enqueuer, ids ...string) (id string, result T, err error) {
	if len(ids) == 0 {
		return "", result, &InvalidError{What: "ids of WaitAny", Value: "empty", Remedy: "give one or more"}
	}
	places := map[string][]int{}
	for i, id := range ids {
		places[id] = append(places[id], i)
	}
	if unended := enq.wait(ctx, distinct(ids, places), func(end jobEnd) bool {
		id = end.id
		result, err = endResult[T](ctx, enq, end)
		return true
	}); unended != nil {
		return "", result, unended
	}
	return id, result, err
}

// WaitEnd waits until a job has ended, as [Wait] does, and returns nil if it has ended well, with a result or without.
func (e *Enqueuer) WaitEnd(ctx context.Context, id string) error {
	_, err := Wait[ignored](ctx, e, id)
	var none *NoResultError
	if errors.As(err, &none) && none.State == stateSucceeded {
		return nil
	}
	return err
}

// ignored is a result that nobody reads.
type ignored struct{}

// UnmarshalJSON takes any.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

// distinct are the ids in their order, each once.
func distinct(ids []string, places map[string][]int) []string {
	once := make([]string, 0, len(places))
	for i, id := range ids {
		if places[id][0] == i {
			once = append(once, id)
		}
	}
	return once
}

// wait tells the ends of jobs as they come, until all have ended or enough is true.
func (e *Enqueuer) wait(ctx context.Context, ids []string, enough func(jobEnd) bool) error {
	for _, id := range ids {
		if err := validateID(id); err != nil {
			return err
		}
	}
	own, err := e.core.waiters.join(ids)
	if err != nil {
		return err
	}
	defer e.core.waiters.leave(own)
	left := make(map[string]bool, len(ids))
	for _, id := range ids {
		left[id] = true
	}
	for len(left) > 0 {
		end, cause := own.next(ctx, e.core.waiters.life)
		if cause != nil {
			return stillWaiting(ids, left, e.core.waiters.blame(cause))
		}
		if delete(left, end.id); enough(end) {
			return nil
		}
	}
	return nil
}

// next returns the end of a job, or the cause for which none comes any more. What has come is not lost to it.
func (w *wait) next(ctx, life context.Context) (end jobEnd, cause error) {
	select {
	case end = <-w.ended:
		return end, nil
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-life.Done():
		cause = context.Cause(life)
	}
	select {
	case end = <-w.ended:
		return end, nil
	default:
		return end, cause
	}
}

// stillWaiting names the first job that was still waited for.
func stillWaiting(ids []string, left map[string]bool, cause error) error {
	for _, id := range ids {
		switch {
		case left[id] && len(left) > 1:
			return fmt.Errorf("job %s and %d more have not ended: %w", quoted(id), len(left)-1, cause)
		case left[id]:
			return fmt.Errorf("job %s has not ended: %w", quoted(id), cause)
		}
	}
	return cause
}

// endResult is what the end of a job means to those who wait for its result.
func endResult[T any](ctx context.Context, enq *Enqueuer, end jobEnd) (result T, err error) {
	switch {
	case end.err != nil:
		return result, end.err
	case end.known.Fate == rdb.FateDead:
		return result, newJobFailedError(end.id, decodeTrail(end.known.Kept))
	case end.known.Fate == rdb.FateGone:
		return result, fmt.Errorf(
			"job %s: %w: its Retention (by default none) was over before anybody waited, or there was no such job",
			quoted(end.id), ErrGone)
	}
	kept, err := decodeOutcome(end.id, end.known.Kept)
	if err != nil {
		return result, err
	}
	return outcomeResult[T](ctx, enq, end.id, kept)
}

// JobFailedError is the error of those who wait for a job that is dead: it is in the morgue, and gives no result unless
// somebody retries it by hand.
type JobFailedError struct {
	ID       string
	Reason   string // why it was buried: "out of retries" for instance
	Attempts int    // that failed; 0 where its workers died or it could not begin
	Err      string // of the last failed attempt; empty when there was none
}

func newJobFailedError(id string, t trail) *JobFailedError {
	e := &JobFailedError{ID: id, Reason: t.Reason, Attempts: t.Fails}
	if n := len(t.Errors); n > 0 {
		e.Err = t.Errors[n-1].Error
	}
	return e
}

func (e *JobFailedError) Error() string { return cut(e.text()) }

func (e *JobFailedError) text() string {
	text := "job " + quoted(e.ID) + " is dead"
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if e.Attempts > 0 {
		text += fmt.Sprintf(", failed attempts: %d", e.Attempts)
	}
	if e.Err != "" {
		text += ", the last error: " + e.Err
	}
	return text
}
