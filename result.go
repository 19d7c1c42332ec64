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
)

// outcome is what is kept of a job that has ended, for its retention.
type outcome struct {
	State   string          `json:"state"`
	EndedAt int64           `json:"ended"`            // ms
	Result  json.RawMessage `json:"result,omitempty"` // absent where the handler returns none
}

// encode returns the JSON of the outcome, with the result byte for byte.
func (o outcome) encode() []byte {
	dst := make([]byte, 0, len(o.State)+len(o.Result)+48)
	dst = appendString(append(dst, `{"state":`...), o.State)
	dst = strconv.AppendInt(append(dst, `,"ended":`...), o.EndedAt, 10)
	if len(o.Result) > 0 {
		dst = append(append(dst, `,"result":`...), o.Result...)
	}
	return append(dst, '}')
}

// NoResultError says that a job has ended and that there is no result, nor will there be.
type NoResultError struct {
	ID    string
	State string // "done": its handler returns no value; "discarded": it was dropped
}

func (e *NoResultError) Error() string {
	if e.State == stateSucceeded {
		return fmt.Sprintf("job %s is done but has no result: its handler must return a value beside its error", quoted(e.ID))
	}
	return fmt.Sprintf("job %s ended as %s, so it has no result", quoted(e.ID), e.State)
}

// Result returns what the handler of a job returned beside its error. Results are kept for the Retention that the job's
// options or its enqueue name; by default none are. The error is [ErrGone] while nothing is kept (not ended yet, or no
// longer kept), *[NoResultError] when the job ended without a result, or says why the result does not fit T or Redis
// could not be asked. It does not wait for the job. It may be called concurrently.
func Result[T any](ctx context.Context, enq *Enqueuer, id string) (T, error) {
	var result T
	kept, err := enq.outcome(ctx, id)
	if err != nil {
		return result, err
	}
	if kept.State != stateSucceeded || len(kept.Result) == 0 {
		return result, &NoResultError{ID: id, State: kept.State}
	}
	if err := json.Unmarshal(kept.Result, &result); err != nil {
		var zero T
		return zero, fmt.Errorf("the result of job %s does not fit a %T: %w", quoted(id), zero, err)
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
		return outcome{}, fmt.Errorf("job %s: %w: it has not ended yet, its Retention (by default none) is over, or there was no such job",
			quoted(id), ErrGone)
	}
	var kept outcome
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
	var trouble error
	for attempt := 1; ; attempt++ {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		v := judge(err)
		if trouble == nil || ctx.Err() == nil {
			trouble = v.err
		}
		if !v.again {
			return v.err
		}
		if !pause(ctx, backoffFor(attempt)) {
			return blame(context.Cause(ctx), trouble)
		}
	}
}
