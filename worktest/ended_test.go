package worktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
)

// TestAnOutcomeIsTheSameWhoeverReturnsIt: a job tells its pool and its caller the same when it is run alone, waited for
// in a pool that runs on, or a member of a flow.
func TestAnOutcomeIsTheSameWhoeverReturnsIt(t *testing.T) {
	t.Parallel()
	pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{}).
		Job("order", func(ctx context.Context, job *work.Job, item string) (string, error) {
			job.Checkin("packing")
			if err := job.Progress(50); err != nil {
				return "", err
			}
			job.Logger().Info("packed", "item", item)
			_, err := work.EnqueuerFromContext(ctx).EnqueueIn(ctx, "ship", time.Hour, item)
			return "parcel of " + item, err
		}).
		Job("ship", func(string) error { return nil })

	r := New(t)
	running := r.Start(t, pool.Clone(r.Options()))
	waitedFor, err := running.Enqueuer().Enqueue(t.Context(), "order", "ink")
	require.NoError(t, err)
	f := flow.New("parcel")
	f.Job("order", "ink")

	for name, outcome := range map[string]*Outcome{
		"run": Run(t, pool, "order", "ink"), "waited for": WaitEnded(t, r, waitedFor.ID),
		"of a flow": RunFlow(t, pool, f).Members["order"],
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, work.EndingDone, outcome.Ending)
			assert.Equal(t, "parcel of ink", ResultOf[string](t, outcome))
			assert.Equal(t, []string{"packing"}, outcome.Checkins)
			require.Len(t, outcome.Progress, 1)
			assert.Equal(t, "50", string(outcome.Progress[0]))
			require.Len(t, outcome.Log, 1)
			assert.Equal(t, "packed", outcome.Log[0].Message)
			AssertEnqueued(t, outcome, "ship", "ink")
			assert.Positive(t, outcome.Elapsed)
		})
	}
}

// TestAnOutcomeOfSeveralAttempts: the log and the check-ins are those of all of them, the result is that of the last.
func TestAnOutcomeOfSeveralAttempts(t *testing.T) {
	t.Parallel()
	r := New(t)
	attempts := 0
	pool := r.Start(t, work.NewWorkerPool(nil, 1, r.Options()).Job("mail",
		func(_ context.Context, job *work.Job) (int, error) {
			attempts++
			job.Logger().Info("an attempt")
			if attempts < 3 {
				return attempts, errors.New("not yet")
			}
			return attempts, nil
		}))
	mail, err := pool.Enqueuer().Enqueue(t.Context(), "mail")
	require.NoError(t, err)
	DrainAll(t, r, pool)
	outcome := WaitEnded(t, r, mail.ID)
	assert.Equal(t, 3, ResultOf[int](t, outcome))
	assert.Len(t, outcome.Log, 3)
}
