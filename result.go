package work

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// The states of jobs that have ended.
const (
	stateSucceeded = "done"
	stateDiscarded = "discarded"
	stateCancelled = "cancelled"
	stateExpired   = "expired"
)

// endState is how a job has ended, by what became of its last attempt.
var endState = map[verb]string{verbDone: stateSucceeded, verbDiscard: stateDiscarded, verbCancel: stateCancelled,
	verbExpire: stateExpired}

// outcome is what is kept of a job that has ended, for its retention.
type outcome struct {
	State   string          `json:"state"`
	EndedAt int64           `json:"ended"`             // ms
	Result  json.RawMessage `json:"result,omitempty"`  // absent where the handler returns none
	Object  string          `json:"object,omitempty"`  // SHA-256 of the result, where it is stored as an object
	Problem string          `json:"problem,omitempty"` // why a result that was returned is not here
}

// encode returns the JSON of the outcome, with the result byte for byte.
func (o outcome) encode() []byte {
	dst := make([]byte, 0, len(o.State)+len(o.Result)+48)
	dst = appendString(append(dst, `{"state":`...), o.State)
	dst = strconv.AppendInt(append(dst, `,"ended":`...), o.EndedAt, 10)
	if len(o.Result) > 0 {
		dst = append(append(dst, `,"result":`...), o.Result...)
	}
	if o.Object != "" {
		dst = appendString(append(dst, `,"object":`...), o.Object)
	}
	if o.Problem != "" {
		dst = appendString(append(dst, `,"problem":`...), o.Problem)
	}
	return append(dst, '}')
}

// NoResultError says that a job has ended and that there is no result, nor will there be.
type NoResultError struct {
	ID string
	// "done": its handler returns no value; "cancelled", "discarded", "expired", "deleted": it did not end well
	State   string
	Problem string // why the value that its handler returned is not kept; empty otherwise
}

func (e *NoResultError) Error() string { return cut(e.text()) }

func (e *NoResultError) text() string {
	switch {
	case e.Problem != "":
		return fmt.Sprintf("job %s is done but its result is not kept: %s", quoted(e.ID), e.Problem)
	case e.State == stateSucceeded:
		return fmt.Sprintf("job %s is done but has no result: its handler must return a value beside its error",
			quoted(e.ID))
	}
	return fmt.Sprintf("job %s ended as %s, so it has no result", quoted(e.ID), e.State)
}

// Is makes that of a cancelled job [ErrCancelled] for errors.Is.
func (e *NoResultError) Is(target error) bool {
	return target == ErrCancelled && e.State == stateCancelled
}

// Result returns what the handler of a job returned beside its error. Results are kept for the Retention that the job's
// options or its enqueue name; by default none are. The error is [ErrGone] while nothing is kept (not ended yet, or no
// longer kept), *[NoResultError] when the job ended without a result, or says why the result does not fit T or Redis
// could not be asked. It does not wait for the job: see [Wait]. It may be called concurrently.
func Result[T any](ctx context.Context, enq *Enqueuer, id string) (T, error) {
	kept, err := enq.outcome(ctx, id)
	if err != nil {
		var none T
		return none, err
	}
	return outcomeResult[T](ctx, enq, id, kept)
}

// outcomeResult is the result in what is kept of a job.
func outcomeResult[T any](ctx context.Context, enq *Enqueuer, id string, kept outcome) (T, error) {
	var result, none T
	if kept.Object != "" {
		if _, unread := any(&none).(*ignored); unread {
			return none, nil
		}
		if err := enq.fillIn(ctx, id, &kept); err != nil {
			return none, err
		}
	}
	if kept.State != stateSucceeded || len(kept.Result) == 0 {
		return none, &NoResultError{ID: id, State: kept.State, Problem: kept.Problem}
	}
	if err := decodeValue(kept.Result, &result); err != nil {
		return none, fmt.Errorf("the result of job %s does not fit a %T: %w", quoted(id), none, err)
	}
	return result, nil
}

// outcome reads what is kept of a job.
func (e *Enqueuer) outcome(ctx context.Context, id string) (outcome, error) {
	if err := validateID(id); err != nil {
		return outcome{}, err
	}
	var stored []byte
	err := e.core.lanes.read(ctx, func(ctx context.Context) (err error) {
		stored, err = e.core.store.Outcome(ctx, id)
		return err
	})
	if err != nil {
		return outcome{}, fmt.Errorf("the outcome of job %s cannot be read: %w", quoted(id), err)
	}
	if stored == nil {
		return outcome{}, fmt.Errorf(
			"job %s: %w: it has not ended yet, its Retention (by default none) is over, or there was no such job",
			quoted(id), ErrGone)
	}
	return decodeOutcome(id, stored)
}

func decodeOutcome(id string, stored []byte) (kept outcome, err error) {
	if err := json.Unmarshal(stored, &kept); err != nil {
		return outcome{}, fmt.Errorf("the outcome of job %s is not what this version writes: %w", quoted(id), err)
	}
	return kept, nil
}

// read asks Redis until it answers, ctx ends or the timeout has passed: reading twice does no harm.
func (l *lanes) read(ctx context.Context, ask func(ctx context.Context) error) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, l.timedOut())
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	return insist(ctx, ask)
}
