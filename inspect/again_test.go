package inspect_test

import (
	"context"
	"errors"
	"strings"
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

// A job that has ended does once more what it did, and each of the two leads to the other.
func TestAJobThatHasEndedIsEnqueuedAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("n", func(job *work.Job, _ string) error {
				if job.Meta["fails"] != "" {
					return work.Discard(errors.New("no luck"))
				}
				return nil
			}))
		for name, row := range map[string]struct {
			options []work.EnqueueOption
			in      time.Duration
			do      func(id string)
			want    work.State
			again   work.State
		}{
			"succeeded": {want: work.StateSucceeded, again: work.StateSucceeded},
			"discarded": {options: []work.EnqueueOption{work.Meta("fails", "1")}, want: work.StateDiscarded,
				again: work.StateDiscarded},
			"cancelled": {in: time.Hour, do: func(id string) { k.Cancel(id) }, want: work.StateCancelled,
				again: work.StateSucceeded},
			"deleted": {in: time.Hour, do: func(id string) { require.NoError(t, k.hands().Delete(k.Ctx(), id)) },
				want: work.StateDeleted, again: work.StateSucceeded},
			"expired": {options: []work.EnqueueOption{work.ExpireAt(time.UnixMilli(1)),
				work.Deadline(time.Now().Add(time.Hour))}, want: work.StateExpired, again: work.StateSucceeded},
		} {
			options := append(row.options, work.Retention(time.Hour), work.Tags("red"), work.Timeout(time.Minute))
			receipt, err := k.Enq.With(options...).EnqueueIn(k.Ctx(), "n", row.in, "<arg>")
			require.NoError(t, err, name)
			if row.do != nil {
				row.do(receipt.ID)
			}
			former := k.over(receipt.ID)
			require.Equal(t, row.want, former.State)

			second, err := k.hands().EnqueueAgain(k.Ctx(), receipt.ID)
			require.NoError(t, err, name)
			assert.False(t, second.Duplicate)
			assert.NotEqual(t, receipt.ID, second.ID)
			info := k.over(second.ID)
			assert.Equal(t, row.again, info.State, name)
			assert.Equal(t, receipt.ID, info.AgainOf)
			assert.Equal(t, former.Args, info.Args)
			assert.Equal(t, former.Tags, info.Tags)
			assert.Equal(t, former.Meta, info.Meta)
			assert.Equal(t, former.Options.Timeout, info.Options.Timeout)
			assert.False(t, info.EnqueuedAt.Before(former.EndedAt))
			assert.Equal(t, second.ID, k.over(receipt.ID).AgainAs)

			third, err := k.hands().EnqueueAgain(k.Ctx(), receipt.ID)
			require.NoError(t, err)
			assert.Equal(t, work.Receipt{ID: second.ID, Name: "n", Duplicate: true}, third, "also when that has ended")
			fourth, err := k.hands().EnqueueAgain(k.Ctx(), second.ID)
			require.NoError(t, err)
			assert.False(t, fourth.Duplicate)
			k.over(fourth.ID)
		}
		require.NoError(t, k.Stop(pool))
		k.healthy()
	})
}

// Many that ask at once get one job.
func TestOneOfManyEnqueuesAJobAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipt, err := k.Enq.With(work.Retention(time.Hour)).EnqueueIn(k.Ctx(), "n", time.Hour)
		require.NoError(t, err)
		k.Cancel(receipt.ID)
		const askers = 20
		answers := make(chan work.Receipt, askers)
		for range askers {
			hands := k.hands()
			go func() {
				answer, err := hands.EnqueueAgain(k.Ctx(), receipt.ID)
				assert.NoError(t, err)
				answers <- answer
			}()
		}
		stored, ids := 0, map[string]bool{}
		for range askers {
			answer := pooltest.Receive(t, answers)
			ids[answer.ID] = true
			if !answer.Duplicate {
				stored++
			}
		}
		assert.Equal(t, 1, stored)
		assert.Len(t, ids, 1)
		assert.Equal(t, 1, k.Number("LLEN", "queue:n"))
	})
}

func TestJobsThatCannotBeEnqueuedAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		keep := work.Retention(time.Hour)
		cancelled := func(args []any, options ...work.EnqueueOption) string {
			receipt, err := k.Enq.With(options...).EnqueueIn(k.Ctx(), "n", time.Hour, args...)
			require.NoError(t, err)
			k.Cancel(receipt.ID)
			return receipt.ID
		}
		part := strings.Repeat("x", 8000) // less than an object has
		fitting := []any{part, part, part, part, part, part, part, part}
		for why, id := range map[string]string{
			"unwanted":  cancelled(nil, keep, work.OmitArgs()),
			"too large": cancelled(append(fitting, part), keep),
			"not kept":  cancelled(nil),
		} {
			_, err := k.hands().EnqueueAgain(k.Ctx(), id)
			var gone *inspect.ArgsGoneError
			require.ErrorAs(t, err, &gone, why)
			assert.Equal(t, why, gone.Why)
			assert.Contains(t, err.Error(), ", which is cancelled, was not enqueued again: its args ")
		}
		fits, err := k.hands().EnqueueAgain(k.Ctx(), cancelled(fitting, keep))
		require.NoError(t, err, "on the other side of the bound")
		assert.Equal(t, work.StateQueued, k.whereabouts(fits.ID))

		object := cancelled([]any{part + part}, keep)
		k.Do("UNLINK", "objects")
		_, err = k.hands().EnqueueAgain(k.Ctx(), object)
		var gone *inspect.ArgsGoneError
		require.ErrorAs(t, err, &gone)
		assert.Equal(t, "object", gone.Why)

		_, err = k.hands().EnqueueAgain(k.Ctx(), "nobody")
		require.ErrorIs(t, err, work.ErrNotFound)

		only := cancelled(nil, keep, work.Unique(work.UniqueOptions{}))
		lives, err := k.Enq.With(work.Unique(work.UniqueOptions{})).EnqueueIn(k.Ctx(), "n", time.Hour)
		require.NoError(t, err)
		_, err = k.hands().EnqueueAgain(k.Ctx(), only)
		var twin *work.DuplicateError
		require.ErrorAs(t, err, &twin)
		assert.Equal(t, lives.ID, twin.ID)
	})
}

func TestJobsThatLiveAreNotEnqueuedAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		running, release := make(chan bool), make(chan bool)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("n", work.JobOptions{Retention: time.Hour}, func(context.Context) error {
				running <- true
				<-release
				return nil
			}).
			JobWithOptions("dies", work.JobOptions{Retries: -1}, func() error { return errors.New("no luck") }))
		dies := k.Enqueue("dies").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](dies))
		k.Until("it is dead", func() bool { return k.Number("ZCARD", "morgue") == 1 })
		runs := k.Enqueue("n").ID
		<-running
		for state, id := range map[work.State]string{work.StateDead: dies, work.StateRunning: runs,
			work.StateQueued: k.Enqueue("n").ID} {
			_, err := k.hands().EnqueueAgain(k.Ctx(), id)
			var refused *inspect.StateError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, state, refused.State)
		}
		release <- true
		<-running
		release <- true
	})
}

// When the first attempt began is known however many attempts are not listed any more.
func TestTheFirstBeginIsKept(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		listed, goOn := make(chan struct{}), make(chan struct{})
		receipt, err := k.Enq.With(work.Retention(time.Hour)).Enqueue(k.Ctx(), "n")
		require.NoError(t, err)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("n", work.JobOptions{Backoff: func(*work.Job, error) time.Duration { return 1 }},
				func(job *work.Job) error {
					if job.Attempt == 3 {
						close(listed)
						<-goOn
					}
					if job.Attempt < 13 {
						return errors.New("no luck")
					}
					return nil
				}))
		pooltest.Receive(t, listed)
		info, err := k.hands().Job(k.Ctx(), receipt.ID)
		require.NoError(t, err)
		close(goOn)
		first := info.Attempts[0]
		assert.Equal(t, 1, first.Number)
		info = k.over(receipt.ID)
		assert.Equal(t, 2, info.AttemptsLeftOut)
		assert.True(t, first.Begun.Equal(info.FirstBegunAt), "%s, not %s", info.FirstBegunAt, first.Begun)
		assert.True(t, info.FirstBegunAt.Before(info.Attempts[0].Begun))
	})
}
