package flow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redistest"
)

func TestWhatBecomesOfThoseThatWaitForAJobThatDoesNotEndWell(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, job := range map[string]string{"dead": "bad", "discarded": "drop"} {
			t.Run(name, func(t *testing.T) {
				k, r := newKit(t, s), &runs{}
				pool := k.pool(r)
				f := flow.New("f")
				first := f.Job(job).Named("first")
				cancelled := f.Job("ok").Named("cancelled").After(first)
				f.Job("ok").Named("cancelled too").After(cancelled)
				f.Job("ok").Named("even").After(cancelled).Even(flow.Dead)
				f.OnDone("ok").OnDeath("ok")
				k.stored(f)
				p := k.ended("f")
				k.Drained(pool)
				assert.Equal(t, []string{"f/first", "f/even", "f/@dead"}, r.all())
				assert.Equal(t, flow.DeadEnded, p.State)
				assert.Equal(t, []int{4, 1, 2, 0}, []int{p.Total, p.Done, p.Cancelled, p.Left})
				assert.Equal(t, map[string][]int{"dead": {1, 0}, "discarded": {0, 1}}[name], []int{p.Dead, p.Otherwise})
			})
		}
	})
}

func TestAJobThatHoldsWaitsUntilTheOtherIsRetried(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		fail := true
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("once", func(job *work.Job) error {
				r.note(job.ID)
				if fail {
					fail = false
					return work.Bury(errors.New("no"))
				}
				return nil
			}).
			Job("ok", r.done))
		f := flow.New("f")
		f.Job("ok").After(f.Job("once")).Hold(flow.Dead)
		f.OnDone("ok")
		k.stored(f)
		k.Until("it is dead", func() bool { return k.Number("ZCARD", "morgue") == 1 })
		p, err := flow.Read(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, []int{1, 1}, []int{p.Dead, p.Left})
		assert.Equal(t, flow.Running, p.State)
		require.NoError(t, k.Inspector().RetryNow(k.Ctx(), "f/once"))
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Equal(t, []string{"f/once", "f/once", "f/ok", "f/@done"}, r.all())
	})
}

func TestAFlowIsCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		begun := make(chan string, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("long", func(ctx context.Context, job *work.Job) error {
				begun <- job.ID
				<-ctx.Done()
				return context.Cause(ctx)
			}).
			Job("ok", r.done))
		f := flow.New("f")
		long := f.Job("long")
		f.Job("ok").After(long).Even(flow.Dead)
		f.Job("ok").Named("free")
		f.OnDone("ok").OnDeath("ok")
		k.stored(f)
		pooltest.Receive(t, begun)
		for range 2 {
			_, err := flow.Cancel(k.Ctx(), k.Enq, "f")
			require.NoError(t, err)
		}
		p := k.ended("f")
		k.Drained(pool)
		assert.Equal(t, flow.Cancelled, p.State)
		assert.Equal(t, 3, p.Cancelled+p.Done)
		assert.NotContains(t, r.all(), "f/ok")
		assert.NotContains(t, r.all(), "f/@dead")
		_, err := flow.Cancel(k.Ctx(), k.Enq, "g")
		assert.ErrorIs(t, err, flow.ErrNoFlow)
	})
}

func TestAFlowIsRetriedWithWhatWasNotDone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		fails := 1
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("some", func(job *work.Job) error {
				r.note(job.ID)
				if fails > 0 {
					fails--
					return work.Bury(errors.New("no"))
				}
				return nil
			}).
			Job("ok", r.done))
		f := flow.New("f")
		done := f.Job("ok").Named("done")
		some := f.Job("some").After(done)
		f.Job("ok").Named("after").After(some)
		f.Job("ok").Named("even").After(some).Even(flow.Dead)
		f.OnDone("ok").OnDeath("ok")
		k.stored(f)
		assert.Equal(t, flow.DeadEnded, k.ended("f").State)
		k.Drained(pool)
		assert.Equal(t, []string{"f/done", "f/some", "f/even", "f/@dead"}, r.all())
		p, err := flow.Retry(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.Equal(t, 2, p.Generation)
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Equal(t, []string{"f/some", "f/after", "f/@done#2"}, r.all()[4:])
		_, err = flow.Retry(k.Ctx(), k.Enq, "f")
		assert.EqualError(t, err, `flow "f" is done: enqueue another one: there is nothing to retry`)
	})
}

// What a member has done step by step before it died is not done again when its flow is retried.
func TestStepsOfAMemberOutliveTheRetryOfItsFlow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		tries := 0
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("order", func(ctx context.Context) error {
			_, err := work.Step(ctx, "charge", func(context.Context) (int, error) {
				r.note("charged")
				return 7, nil
			})
			if tries++; err == nil && tries < 3 {
				err = work.Bury(errors.New("none left"))
			}
			return err
		}))
		f := flow.New("f")
		f.Job("order")
		k.stored(f)
		for range 2 {
			assert.Equal(t, flow.DeadEnded, k.ended("f").State)
			k.Drained(pool)
			_, err := flow.Retry(k.Ctx(), k.Enq, "f")
			require.NoError(t, err)
		}
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Equal(t, []string{"charged"}, r.all())
		assert.Zero(t, k.Number("EXISTS", "steps:f/order"), "they go with the job")
	})
}

func TestAPausedFlowPutsNothingIntoQueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		f := flow.New("f")
		f.Job("ok").Named("b").After(f.Job("ok").Named("a"))
		k.stored(f)
		_, err := flow.Pause(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		pool := k.pool(r)
		k.Drained(pool)
		assert.Equal(t, []string{"f/a"}, r.all())
		p, err := flow.Resume(k.Ctx(), k.Enq, "f")
		require.NoError(t, err)
		assert.False(t, p.Paused)
		assert.Equal(t, flow.Done, k.ended("f").State)
		assert.Equal(t, []string{"f/a", "f/b"}, r.all())
	})
}

func TestAFlowIsForgottenWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		pool := k.pool(r)
		f := flow.New("f").Retention(time.Millisecond)
		f.Job("ok")
		k.stored(f)
		k.Drained(pool)
		store := pooltest.StoreOf(k.Enq)
		k.Until("its time is over", func() bool {
			removed, err := flowdb.Of(store).Remove(k.Ctx(), "f", 0)
			require.NoError(t, err)
			return removed
		})
		assert.Empty(t, k.Remains("flow"))
	})
}
