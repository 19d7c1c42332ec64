package inspect_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redistest"
)

// An id that is chosen again belongs to the new job: what the former one has returned is not told any more, whatever
// becomes of the new one.
func TestAnIDThatIsUsedAgainHasNoFormerResult(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		in    time.Duration
		do    func(k *kit, answers chan error)
		state work.State
	}{
		"waiting":   {state: work.StateQueued},
		"scheduled": {in: time.Hour, state: work.StateScheduled},
		"running":   {do: func(k *kit, answers chan error) { k.Start(k.again(answers)) }, state: work.StateRunning},
		"retrying": {do: func(k *kit,
			answers chan error) {
			answers <- errors.New("not yet")
			k.Start(k.again(answers))
		}, state: work.StateRetrying},
		"dead": {do: func(k *kit,
			answers chan error) {
			answers <- work.Bury(errors.New("no luck"))
			k.Start(k.again(answers))
		}, state: work.StateDead},
		"cancelled": {do: func(k *kit, _ chan error) { require.NoError(k.T, k.Cancel("x").Err()) },
			state: work.StateCancelled},
		"deleted": {do: func(k *kit, _ chan error) { require.NoError(k.T, k.hands().Delete(k.Ctx(), "x")) }},
		"done":    {do: func(k *kit, answers chan error) { answers <- nil; k.Start(k.again(answers)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				first := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					Job("again", func() (int, error) { return 1, nil }))
				_, err := k.Enq.With(work.ID("x"), work.Retention(time.Hour)).Enqueue(k.Ctx(), "again")
				require.NoError(t, err)
				one, err := work.Wait[int](k.Ctx(), k.Enq, "x")
				require.NoError(t, err)
				require.Equal(t, 1, one)
				require.NoError(t, first.Stop(k.Ctx()))

				_, err = k.Enq.With(work.ID("x")).EnqueueIn(k.Ctx(), "again", row.in)
				require.NoError(t, err)
				answers := make(chan error, 1)
				defer close(answers)
				if row.do != nil {
					row.do(k, answers)
				}
				require.Eventually(t, func() bool {
					info, err := k.hands().Job(k.Ctx(), "x")
					return err == nil && info.State == row.state || errors.Is(err, work.ErrNotFound) && row.state == ""
				}, pooltest.Patience, time.Millisecond)
				result, err := work.Result[int](k.Ctx(), k.Enq, "x")
				assert.Zero(t, result)
				if row.state == work.StateCancelled {
					assert.ErrorIs(t, err, work.ErrCancelled)
				} else {
					assert.ErrorIs(t, err, work.ErrGone)
				}
				assert.LessOrEqual(t, k.Number("ZCARD", "outcomes:until"), 1)
			})
		})
	}
}

// again is a pool whose handler returns what it is answered.
func (k *kit) again(answers chan error) *work.WorkerPool {
	return work.NewWorkerPool(nil, 1, k.Options()).Job("again", func() (int, error) { return 2, <-answers })
}

// A Result is not that of a former job either where its outcome is still there, as an older version has left it.
func TestAResultIsNotThatOfAFormerJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.standing(work.StateQueued, "again")
		k.Do("HSET", "outcomes", id, record.Outcome{State: record.Succeeded, Result: []byte("1")}.Encode())
		_, err := work.Result[int](k.Ctx(), k.Enq, id)
		require.ErrorIs(t, err, work.ErrGone)
	})
}
