package work

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// An id that is chosen again belongs to the new job: what the former one has returned is not told any more, whatever
// becomes of the new one.
func TestAnIDThatIsUsedAgainHasNoFormerResult(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		in    time.Duration
		do    func(k *kit, answers chan error)
		state State
	}{
		"waiting":   {state: StateQueued},
		"scheduled": {in: time.Hour, state: StateScheduled},
		"running":   {do: func(k *kit, answers chan error) { k.start(k.again(answers)) }, state: StateRunning},
		"retrying": {do: func(k *kit,
			answers chan error) {
			answers <- errors.New("not yet")
			k.start(k.again(answers))
		}, state: StateRetrying},
		"dead": {do: func(k *kit,
			answers chan error) {
			answers <- Bury(errors.New("no luck"))
			k.start(k.again(answers))
		}, state: StateDead},
		"cancelled": {do: func(k *kit, _ chan error) { require.NoError(k.t, k.cancel("x").Err()) },
			state: StateCancelled},
		"deleted": {do: func(k *kit, _ chan error) { require.NoError(k.t, k.hands().Delete(k.ctx(), "x")) }},
		"done":    {do: func(k *kit, answers chan error) { answers <- nil; k.start(k.again(answers)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				first := k.start(NewWorkerPool(nil, 1, k.options()).Job("again", func() (int, error) { return 1, nil }))
				_, err := k.enq.With(ID("x"), Retention(time.Hour)).Enqueue(k.ctx(), "again")
				require.NoError(t, err)
				one, err := Wait[int](k.ctx(), k.enq, "x")
				require.NoError(t, err)
				require.Equal(t, 1, one)
				require.NoError(t, first.Stop(k.ctx()))

				_, err = k.enq.With(ID("x")).EnqueueIn(k.ctx(), "again", row.in)
				require.NoError(t, err)
				answers := make(chan error, 1)
				defer close(answers)
				if row.do != nil {
					row.do(k, answers)
				}
				require.Eventually(t, func() bool {
					info, err := k.hands().Job(k.ctx(), "x")
					return err == nil && info.State == row.state || errors.Is(err, ErrNotFound) && row.state == ""
				}, patience, time.Millisecond)
				result, err := Result[int](k.ctx(), k.enq, "x")
				assert.Zero(t, result)
				if row.state == StateCancelled {
					assert.ErrorIs(t, err, ErrCancelled)
				} else {
					assert.ErrorIs(t, err, ErrGone)
				}
				assert.LessOrEqual(t, k.number("ZCARD", "outcomes:until"), 1)
			})
		})
	}
}

// again is a pool whose handler returns what it is answered.
func (k *kit) again(answers chan error) *WorkerPool {
	return NewWorkerPool(nil, 1, k.options()).Job("again", func() (int, error) { return 2, <-answers })
}

// A Result is not that of a former job either where its outcome is still there, as an older version has left it.
func TestAResultIsNotThatOfAFormerJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.standing(StateQueued, "again")
		k.do("HSET", "outcomes", id, outcome{State: stateSucceeded, Result: []byte("1")}.encode())
		_, err := Result[int](k.ctx(), k.enq, id)
		require.ErrorIs(t, err, ErrGone)
	})
}
