package work

import (
	"context"
	"time"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/excerpt"
)

// TimeoutError is the error of an attempt that failed when its time was up: the job's Timeout had passed or its
// Deadline had come before the handler returned an error. Middleware, Backoff, Permanent, OnDeath and observers get it
// with what the handler returned inside. It is [ErrTimeout] for errors.Is, and [ErrDeadline] where it was that.
//
// It goes by the ctx of the attempt alone, and not by the error: a handler whose own, shorter ctx has ended has failed,
// and no time was up; one that returns any error of its own after the time was up has timed out, since what it called
// may hide why it gave up. Not so a panic, and an error by which the handler says what becomes of the job ([Bury],
// [Discard], [Snooze], [Release]). Without an error the job is done, however late. A worker that dies is a crash.
type TimeoutError struct {
	Limit time.Duration // how long the attempt had
	Cause error         // ErrTimeout or ErrDeadline
	Err   error         // what the handler returned, or a middleware where the handler was not called
}

func (e *TimeoutError) Error() string { return excerpt.Cut(e.text()) }

func (e *TimeoutError) text() string {
	text := excerpt.ErrorText(e.Cause) + ", the attempt had " + e.Limit.String()
	if e.Err == nil || e.Err == e.Cause {
		return text
	}
	return text + ": " + excerpt.ErrorText(e.Err)
}

// Unwrap returns Err.
func (e *TimeoutError) Unwrap() error { return e.Err }

// Is makes each of them [ErrTimeout], and what it was.
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout || target == e.Cause }

// Whether a handler was late is found out when it returns its error: middleware around it may take its time.
const (
	lateUnknown = iota // it was not called, or has not failed
	lateNo
	lateYes
)

// failed is an error of the attempt, as a *[TimeoutError] where its time was up. The first call, that of the handler if
// it was called, decides whether it was.
func (r *run) failed(err error) error {
	if err == nil {
		return nil
	}
	late := int32(lateNo)
	cause := r.timeIsUp()
	if cause != nil {
		late = lateYes
	}
	r.late.CompareAndSwap(lateUnknown, late)
	if r.failureKind(err) == "" || errchain.Find[*TimeoutError](err) != nil {
		return err
	}
	return &TimeoutError{Limit: r.limit, Cause: cause, Err: err}
}

// failureKind is what kind of failure an error is.
func (r *run) failureKind(err error) event.FailureKind {
	if err == nil || r.late.Load() != lateYes {
		return ""
	}
	if v := errchain.Find[*disposition](err); v != nil && v.verb != verbRetry {
		return ""
	}
	if bad := errchain.Find[*ArgumentError](err); bad != nil && bad.uncalled {
		return ""
	}
	if errchain.Find[*PanicError](err) != nil || errchain.Find[*GoexitError](err) != nil {
		return ""
	}
	return event.FailureTimeout
}

// timeIsUp is why the time of the attempt is up; nil while it is not, or where something else has ended its ctx before.
func (r *run) timeIsUp() error {
	if r.limit <= 0 {
		return nil
	}
	if cause := context.Cause(r.ctx); cause == ErrTimeout || cause == ErrDeadline {
		return cause
	}
	return nil
}
