package middleware

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
)

// Slow is a job that still runs.
type Slow struct {
	Job     *work.Job // to be read, and not to be kept
	Running time.Duration
	Stack   string // where its goroutines are; empty when they could not be told from others, or it has just ended
}

// SlowJob calls report once for an attempt that still runs after the threshold, in a goroutine of its own; the job's
// own goes on meanwhile, and waits for the report only when it ends before it. A panic in report goes to the log. Zero
// or less reports nothing. A job that is fast enough pays for one timer.
//
// The stacks are found by profiler labels, which goroutines that a job starts inherit: the job's name, which each pool
// sets, and its id, which is set here. They cost a goroutine profile, so a threshold is better well above what is
// usual.
func SlowJob(threshold time.Duration, report func(ctx context.Context, slow Slow)) Func {
	return func(ctx context.Context, job *work.Job, next work.NextFunc) (err error) {
		if threshold <= 0 || report == nil {
			return next(ctx)
		}
		begun, reported := time.Now(), make(chan struct{})
		timer := time.AfterFunc(threshold, func() {
			defer close(reported)
			reportSlow(ctx, job, begun, report)
		})
		defer func() {
			if !timer.Stop() {
				<-reported // the job is not to be used once this has returned
			}
		}()
		pprof.Do(ctx, pprof.Labels("job", job.Name, "id", job.ID), func(ctx context.Context) { err = next(ctx) })
		return err
	}
}

func reportSlow(ctx context.Context, job *work.Job, begun time.Time, report func(context.Context, Slow)) {
	defer func() {
		if value := recover(); value != nil { // nobody else is there to be told
			slog.ErrorContext(ctx, "work: the report of a slow job panicked", "job", job.Name, "id", job.ID,
				"panic", fmt.Sprint(value), "stack", excerpt.PanicStack())
		}
	}()
	pprof.SetGoroutineLabels(context.Background()) // a timer's goroutine may have inherited those of any job
	report(ctx, Slow{Job: job, Running: time.Since(begun), Stack: stackOf(job.Name, job.ID)})
}

// LogSlow is a report for [SlowJob] that writes a warning. nil is slog.Default().
func LogSlow(logger *slog.Logger) func(ctx context.Context, slow Slow) {
	return func(ctx context.Context, slow Slow) {
		orDefault(logger).WarnContext(ctx, "work: a job still runs", append(about(slow.Job),
			slog.Duration("running", slow.Running), slog.String("stack", slow.Stack))...)
	}
}
