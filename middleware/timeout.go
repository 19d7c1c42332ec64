package middleware

import (
	"context"
	"time"

	"github.com/265d0351/work"
)

// Timeout ends the ctx of what it stands before after d, with the cause work.ErrTimeout; the ctx of an earlier limit
// ends earlier. Zero or less is no limit. A handler that then returns the error of its ctx has failed, and is retried.
// One that ignores its ctx runs on: nothing can stop it. JobOptions.Timeout is a limit for the jobs of one name, which
// also tells of handlers that ignore it.
func Timeout(d time.Duration) Func {
	return func(ctx context.Context, _ *work.Job, next work.NextFunc) error {
		if d <= 0 {
			return next(ctx)
		}
		ctx, cancel := context.WithTimeoutCause(ctx, d, work.ErrTimeout)
		defer cancel()
		return next(ctx)
	}
}
