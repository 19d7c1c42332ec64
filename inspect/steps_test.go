package inspect_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// importing is a pool whose only job charges as much as its arg says, and waits for an approval.
func importing(k *kit, charged chan<- int) *work.WorkerPool {
	return k.Start(work.NewWorkerPool(nil, 1, k.Options()).
		JobWithOptions("import", work.JobOptions{Retention: time.Hour}, func(ctx context.Context, price int) error {
			_, err := work.Step(ctx, "charge", func(context.Context) (int, error) {
				charged <- price
				return price, nil
			})
			if err != nil {
				return err
			}
			if err := work.Sleep(ctx, "rest", 0); err != nil {
				return err
			}
			_, err = work.Receive[string](ctx, "approval")
			return err
		}))
}

func TestStepsAreShownAndForgottenByHand(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, charged := k.inspector(), make(chan int, 5)
		id := k.Enqueue("import", 3).ID
		require.NoError(t, i.Send(k.Ctx(), id, "other", true))
		require.NoError(t, i.ChangeArgs(k.Ctx(), id, 4), "it has done nothing yet")
		importing(k, charged)
		assert.Equal(t, 4, pooltest.Receive(t, charged))
		k.Until("it waits", func() bool { return k.Number("ZCARD", "scheduled") == 1 })

		steps, err := i.Steps(k.Ctx(), id)
		require.NoError(t, err)
		require.Len(t, steps.Done, 2)
		at := slices.IndexFunc(steps.Done, func(s inspect.Step) bool { return s.Name == "charge" })
		require.GreaterOrEqual(t, at, 0)
		charge, rest := steps.Done[at], steps.Done[1-at] // within a few ms their order is not known
		assert.Equal(t, []any{"step", "int", 1, "4"},
			[]any{charge.Kind, charge.Type, charge.Bytes, string(charge.Value)})
		assert.False(t, charge.At.IsZero())
		assert.Equal(t, []string{"rest", "sleep"}, []string{rest.Name, rest.Kind})
		require.Len(t, steps.Waits, 1)
		assert.Equal(t, `waits for message "approval"`, steps.Waits[0].String())
		require.Len(t, steps.Mailbox, 1, "also where the args were changed since")
		assert.Equal(t, []string{"other", "true"}, []string{steps.Mailbox[0].Name, string(steps.Mailbox[0].Value)})

		var has *inspect.StepsError
		require.ErrorAs(t, i.ChangeArgs(k.Ctx(), id, 5), &has)
		assert.Equal(t, id, has.ID)
		n, err := i.ForgetSteps(k.Ctx(), id)
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		assert.Equal(t, 4, pooltest.Receive(t, charged), "it is done at once, and anew")
		k.Until("it waits again", func() bool {
			return pooltest.Count[event.JobSnoozed](k.Spy) == 2 && k.Number("ZCARD", "scheduled") == 1
		})
		require.NoError(t, i.Send(k.Ctx(), id, "approval", "ann"))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		k.Until("it has ended", func() bool { return k.Number("HLEN", "jobs") == 0 })

		_, err = i.Steps(k.Ctx(), id)
		require.ErrorIs(t, err, work.ErrNotFound)
		_, err = i.ForgetSteps(k.Ctx(), id)
		var state *inspect.StateError
		require.ErrorAs(t, err, &state)
		var refused *work.MessageError
		require.ErrorAs(t, i.Send(k.Ctx(), id, "approval", "bob"), &refused)
		assert.Equal(t, work.StateSucceeded, refused.State)
	})
}

// TestWhatCannotBeReadOfStepsIsShown: somebody has tampered with them.
func TestWhatCannotBeReadOfStepsIsShown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		charged := make(chan int, 5)
		importing(k, charged)
		id := k.Enqueue("import", 3).ID
		k.Until("it waits", func() bool { return k.Number("ZCARD", "scheduled") == 1 })
		k.Do("HSET", "steps:"+id, "torn", "done 7")
		steps, err := k.inspector().Steps(k.Ctx(), id)
		require.NoError(t, err)
		kinds := map[string]string{}
		for _, step := range steps.Done {
			kinds[step.Name] = step.Kind
		}
		assert.Equal(t, map[string]string{"charge": "step", "rest": "sleep", "torn": "unreadable"}, kinds)
	})
}
