// Package middleware holds stock middleware for the jobs of a work.WorkerPool. All of it works with any context of a
// pool, and with none:
//
//	pool.Middleware(middleware.Log(nil)).
//		Middleware(middleware.ReportErrors(report)).
//		Middleware(middleware.SlowJob(time.Minute, middleware.LogSlow(nil))).
//		Middleware(middleware.Timeout(10 * time.Minute))
//
// The first one given is the outermost. [ReportErrors] turns a panic into an error, so it belongs inside whatever looks
// at errors, such as [Log]; [Timeout] belongs inside what takes longer than the job.
//
// Everything here may be used by any number of pools and jobs at a time.
package middleware

import (
	"context"
	"slices"

	"github.com/265d0351/work"
)

// Func is the form of middleware that needs no context of the pool. It is what WorkerPool.Middleware calls the fastest.
type Func = func(ctx context.Context, job *work.Job, next work.NextFunc) error

// Only runs fn for the jobs of these names, and nothing for others.
func Only(fn Func, names ...string) Func { return chosen(fn, true, slices.Clone(names)) }

// Except runs fn for all jobs but those of these names.
func Except(fn Func, names ...string) Func { return chosen(fn, false, slices.Clone(names)) }

func chosen(fn Func, named bool, names []string) Func {
	return func(ctx context.Context, job *work.Job, next work.NextFunc) error {
		if slices.Contains(names, job.Name) != named {
			return next(ctx)
		}
		return fn(ctx, job, next)
	}
}
