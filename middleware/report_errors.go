package middleware

import (
	"context"
	"fmt"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/errchain"
)

// Failure is an attempt that failed.
type Failure struct {
	Job       *work.Job // to be read, and not to be kept
	Err       error     // *work.PanicError after a panic, *work.GoexitError after runtime.Goexit
	Stack     string    // of the panic; empty for other errors, which carry none
	WillRetry bool      // another attempt follows; if not, the job is buried or, with SkipMorgue, dropped
}

// ReportErrors calls report for every attempt that fails, in the goroutine of the job and before the pool settles it.
// Snooze, Release and Discard are no failures, and neither is a job that gives up because its pool stops. A panic is
// reported with its stack, and comes out of this middleware as a *work.PanicError, as which the pool takes it anyway. A
// panic in report is added to the error of the job and changes nothing else.
func ReportErrors(report func(ctx context.Context, failure Failure)) Func {
	return func(ctx context.Context, job *work.Job, next work.NextFunc) error {
		if report == nil {
			return next(ctx)
		}
		err := Catch(ctx, next, func(gone error) {
			_ = reported(ctx, job, gone, report) // the goroutine ends, nobody gets an error
		})
		if _, failed := job.Ending(err); failed {
			return reported(ctx, job, err, report)
		}
		return err
	}
}

// reported calls report, and returns the error with what went wrong in it.
func reported(ctx context.Context, job *work.Job, err error, report func(context.Context, Failure)) (after error) {
	defer func() {
		if value := recover(); value != nil {
			after = fmt.Errorf("%w (and the report of it panicked: %v)", err, value)
		}
	}()
	ending, _ := job.Ending(err)
	report(ctx, Failure{Job: job, Err: err, Stack: stackIn(err), WillRetry: ending == work.EndingRetry})
	return err
}

// stackIn is that of the panic in an error; empty where there is none.
func stackIn(err error) string {
	if panicked := errchain.Find[*work.PanicError](err); panicked != nil {
		return panicked.Stack
	}
	return ""
}
