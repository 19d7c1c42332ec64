package inspect_test

import (
	"context"
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

// awaitDestroyed is when the janitor has destroyed a queue, and so has looked at all dates.
func (k *kit) awaitDestroyed(name string) event.QueueDestroyed {
	k.T.Helper()
	return pooltest.Await(k.T, k.Spy, func(e event.QueueDestroyed) bool { return e.Name == name })
}

// destroyNow has the janitor destroy a queue with one job.
func (k *kit) destroyNow(name string) {
	k.T.Helper()
	k.Enqueue(name)
	require.NoError(k.T, k.hands().DestroyQueueAt(k.Ctx(), name, time.UnixMilli(1)))
	assert.Equal(k.T, event.QueueDestroyed{Name: name, Jobs: 1, Forgotten: true}, k.awaitDestroyed(name))
}

// A queue goes when its date has come, and not before; until then the date may be changed, and called off.
func TestAQueueIsDestroyedWhenItsDateHasCome(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.inEveryState("doomed")
		at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		require.NoError(t, k.hands().DestroyQueueAt(k.Ctx(), "doomed", at))
		queue, err := k.hands().Queue(k.Ctx(), "doomed")
		require.NoError(t, err)
		assert.True(t, at.Equal(queue.DestroyAt), queue.DestroyAt)
		k.Tidy(work.NewWorkerPool(nil, 1, k.Options()).Job("served", func() error { return nil }))
		k.destroyNow("early")
		assert.Equal(t, 2, k.Number("LLEN", "queue:doomed"), "it is not due")

		for _, want := range []bool{true, false} {
			had, err := k.hands().KeepQueue(k.Ctx(), "doomed")
			require.NoError(t, err)
			assert.Equal(t, want, had)
		}
		queue, err = k.hands().Queue(k.Ctx(), "doomed")
		require.NoError(t, err)
		assert.Zero(t, queue.DestroyAt)
		assert.False(t, queue.Paused)

		require.NoError(t, k.hands().DestroyQueueAt(k.Ctx(), "doomed", at))
		require.NoError(t, k.hands().DestroyQueueAt(k.Ctx(), "doomed", time.UnixMilli(1)))
		gone := k.awaitDestroyed("doomed")
		assert.True(t, gone.Forgotten)
		assert.Equal(t, everyState.Sum()+10, gone.Jobs)
		assert.Empty(t, k.Remains(":doomed:"))
		assert.Zero(t, k.Number("EXISTS", "doomed"), "nor is there a date any more")
		require.ErrorIs(t, k.hands().DestroyQueueAt(k.Ctx(), "doomed", at), inspect.ErrNoQueue)
		var invalid *work.InvalidError
		require.ErrorAs(t, k.hands().DestroyQueueAt(k.Ctx(), "served", time.Time{}), &invalid)
	})
}

// A handler that does not heed its ctx keeps its own queue, and no other one.
func TestAQueueInUseHoldsUpNoOtherThatIsToBeDestroyed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ended, release := make(chan bool, 1), make(chan bool)
		k.Tidy(work.NewWorkerPool(nil, 1, k.Options()).Job("busy", func(ctx context.Context) error {
			<-ctx.Done()
			ended <- true
			<-release
			return nil
		}))
		id := k.Enqueue("busy").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobStarted](id))
		require.NoError(t, k.hands().DestroyQueueAt(k.Ctx(), "busy", time.UnixMilli(1)))
		pooltest.Receive(t, ended)
		k.destroyNow("first")
		k.destroyNow("second")
		assert.Equal(t, 1, k.Number("ZCARD", "doomed"), "it is still to be done")
		close(release)
		k.awaitDestroyed("busy")
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobCancelled](id))
	})
}
