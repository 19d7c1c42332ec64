package intake_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/replicas"
)

// lagging is a Witness whose replicas are that far behind.
type lagging struct {
	*played
	lag time.Duration
	err error
}

func (l *lagging) Ask(ctx context.Context, lanes []string, replicas int, wait time.Duration) (t rdb.Testimony,
	err error) {
	if l.err != nil {
		return t, l.err
	}
	t.Lanes, _ = l.Lanes(ctx, lanes)
	if l.lag > wait {
		elapse(wait)
		return t, nil
	}
	elapse(l.lag)
	t.Confirmed = replicas
	return t, nil
}

func (*lagging) Close() error { return nil }

// confirmed is an intake whose calls are answered at once, and whose replicas lag.
func confirmed(t *testing.T, lag time.Duration) (*intake.Intake, *lagging, *heard) {
	t.Helper()
	witness, told := &lagging{played: &played{back: map[string]int64{}}, lag: lag}, &heard{}
	witness.play = func(context.Context, sentCall) (rdb.Enqueued, error) {
		elapse(time.Millisecond)
		return stored, nil
	}
	config := configured(witness.played)
	config.Lost = told.note
	config.Witness = func(context.Context) (replicas.Witness, error) { return witness, nil }
	return intake.New(config), witness, told
}

func closing(t *testing.T, in *intake.Intake) { assert.NoError(t, in.Close()) }

// safe is a job that is to be on a replica.
func safe(id string) *intake.Job {
	j := job(id)
	j.Replicas, j.Wait = 1, time.Second
	return j
}

func TestLanesGoOnWhileReplicasConfirm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lag = 100 * time.Millisecond
		in, _, _ := confirmed(t, lag)
		defer closing(t, in)
		began := time.Now()
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				for range 10 {
					result := in.Put(context.Background(), safe("a"))
					assert.Equal(t, intake.Result{Outcome: intake.Stored, At: storedAt, Confirmed: 1}, result)
				}
			})
		}
		synctest.Wait()
		took := time.Now()
		assert.Equal(t, intake.Stored, put(t.Context(), in, "who waits for none").Outcome)
		assert.Less(t, time.Since(took), lag, "is not held up")
		callers.Wait()
		assert.Less(t, time.Since(began), 10*2*lag, "each waits for its own replicas, and not for those of others")
	})
}

func TestManyCallsOfOneCallerWaitTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, store, _ := confirmed(t, 100*time.Millisecond)
		defer closing(t, in)
		jobs := make([]intake.Job, 10*rdb.MaxBatch)
		for i := range jobs {
			jobs[i] = *safe("a")
		}
		began, next := time.Now(), 0
		require.NoError(t, in.PutAll(t.Context(), jobs, func(i int, result intake.Result) {
			assert.Equal(t, next, i)
			assert.Equal(t, 1, result.Confirmed)
			next++
		}))
		assert.Equal(t, len(jobs), next)
		assert.Len(t, store.sent(), 10)
		assert.Less(t, time.Since(began), 250*time.Millisecond)
	})
}

func TestTooFewReplicasInTime(t *testing.T) {
	t.Parallel()
	refused := errors.New("the connection is lost")
	for name, row := range map[string]struct {
		err  error
		want intake.Result
	}{
		"behind":    {want: intake.Result{Outcome: intake.Stored, At: storedAt}},
		"not asked": {err: refused, want: intake.Result{Outcome: intake.Stored, At: storedAt, Few: refused}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in, store, told := confirmed(t, time.Hour)
				defer closing(t, in)
				store.err = row.err
				began := time.Now()
				assert.Equal(t, row.want, in.Put(t.Context(), safe("a")))
				assert.Less(t, time.Since(began), time.Second+600*time.Millisecond)
				store.goBack(store.sent()[0].lane, 0)
				elapse(time.Minute)
				assert.Equal(t, []intake.Loss{{IDs: []string{"a"}}}, told.take(), "it was told of as stored")
			})
		})
	}
}

func TestACallerLeavesThoseWhoWaitForReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, _, _ := confirmed(t, 500*time.Millisecond)
		defer closing(t, in)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		assert.Equal(t, intake.Result{Outcome: intake.Stored, At: storedAt, Few: context.DeadlineExceeded},
			in.Put(ctx, safe("a")), "it is known to be stored")
	})
}

func TestCloseWaitsForReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, _, _ := confirmed(t, 500*time.Millisecond)
		var callers sync.WaitGroup
		callers.Go(func() { assert.Equal(t, 1, in.Put(context.Background(), safe("a")).Confirmed) })
		synctest.Wait()
		elapse(10 * time.Millisecond)
		assert.NoError(t, in.Close())
		callers.Wait()
	})
}

// A failover between the answer and the confirmation: the server that is asked does not have the call, or a later call
// of the lane has found that out first.
func TestAFailoverBeforeTheReplicasConfirm(t *testing.T) {
	t.Parallel()
	lost := intake.Result{Outcome: intake.Unknown, Err: intake.ErrLost}
	t.Run("asked", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			in, store, told := confirmed(t, 0)
			defer closing(t, in)
			require.Equal(t, intake.Stored, in.Put(t.Context(), safe("first")).Outcome)
			store.goBack(store.sent()[0].lane, 1)
			assert.Equal(t, lost, in.Put(t.Context(), safe("second")))
			elapse(time.Hour)
			assert.Empty(t, told.take(), "its caller was told")
		})
	})
	t.Run("found", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			in, store, _ := confirmed(t, 100*time.Millisecond)
			defer closing(t, in)
			store.play = func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
				if call.number == 2 {
					return rdb.Enqueued{Time: storedAt, Rewound: rdb.Rewind{Had: 0, At: 2}}, nil
				}
				return stored, nil
			}
			var callers sync.WaitGroup
			callers.Go(func() { assert.Equal(t, lost, in.Put(context.Background(), safe("first"))) })
			synctest.Wait()
			assert.Equal(t, 1, in.Put(t.Context(), safe("second")).Confirmed, "it is there")
			callers.Wait()
		})
	})
}

// cutOff is a Witness of a server that another one has taken over from after the first question, which it does not
// know.
type cutOff struct {
	*lagging
	asked bool
}

func (c *cutOff) Ask(ctx context.Context, lanes []string, replicas int, wait time.Duration) (rdb.Testimony, error) {
	t, err := c.lagging.Ask(ctx, lanes, replicas, wait)
	if c.asked {
		t.Lanes, t.Confirmed = make([]rdb.LaneState, len(lanes)), 0
	}
	c.asked = true
	return t, err
}

func TestAConnectionToAServerThatWasCutOffIsNoProofOfALoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		witness := &lagging{played: &played{back: map[string]int64{}}, lag: 10 * time.Millisecond}
		witness.play = func(context.Context, sentCall) (rdb.Enqueued, error) { return stored, nil }
		config, dialled := configured(witness.played), 0
		config.Witness = func(context.Context) (replicas.Witness, error) {
			if dialled++; dialled == 1 {
				return &cutOff{lagging: witness}, nil
			}
			return witness, nil
		}
		in := intake.New(config)
		defer closing(t, in)
		for range 3 {
			assert.Equal(t, 1, in.Put(t.Context(), safe("a")).Confirmed)
		}
		assert.Equal(t, 2, dialled)
	})
}
