package middleware

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

func TestTimeoutEndsTheCtxOfAJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		var cause, outside error
		failed := false
		runOne(t, s, func(pool *work.WorkerPool) {
			pool.Middleware(func(ctx context.Context, job *work.Job, next work.NextFunc) error {
				err := next(ctx)
				_, failed = job.Ending(err)
				outside = ctx.Err()
				return err
			}).Middleware(Timeout(time.Millisecond)).
				JobWithOptions("n", work.JobOptions{Backoff: hourly}, func(ctx context.Context) error {
					<-ctx.Done()
					cause = context.Cause(ctx)
					return ctx.Err()
				})
		})
		assert.ErrorIs(t, cause, work.ErrTimeout)
		assert.True(t, failed, "it is retried as after any error")
		assert.NoError(t, outside, "what stands outside has no such limit")
	})
}

func TestTimeoutOfNothing(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]time.Duration{"zero": 0, "negative": -time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, Timeout(d)(t.Context(), &work.Job{}, func(ctx context.Context) error {
				_, limited := ctx.Deadline()
				assert.False(t, limited)
				return ctx.Err()
			}))
		})
	}
}

func TestAnEarlierLimitStands(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Minute))
	defer cancel()
	want, _ := ctx.Deadline()
	require.NoError(t, Timeout(time.Hour)(ctx, &work.Job{}, func(ctx context.Context) error {
		got, _ := ctx.Deadline()
		assert.Equal(t, want, got)
		return nil
	}))
}

func TestOnlyAndExcept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		choose func(fn Func, names ...string) Func
		ran    []string
	}{
		"Only": {Only, []string{"a", "b"}}, "Except": {Except, []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran, handled []string
			names := []string{"a", "b"}
			fn := c.choose(func(ctx context.Context, job *work.Job, next work.NextFunc) error {
				ran = append(ran, job.Name)
				return next(ctx)
			}, names...)
			names[0] = "c" // the caller's may change
			for _, job := range []string{"a", "b", "c"} {
				require.NoError(t, fn(t.Context(), &work.Job{Name: job}, func(context.Context) error {
					handled = append(handled, job)
					return nil
				}))
			}
			assert.Equal(t, c.ran, ran)
			assert.Equal(t, []string{"a", "b", "c"}, handled)
		})
	}
}
