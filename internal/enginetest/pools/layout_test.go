package pools_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestAProgramThatIsTooOldRefuses: whatever it wants, nothing is stored, and it says what to do. One that may work
// beside a newer one does.
func TestAProgramThatIsTooOldRefuses(t *testing.T) {
	t.Parallel()
	uses := map[string]func(t *testing.T, k *kit) error{
		"a worker": func(t *testing.T, k *kit) error {
			pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
			t.Cleanup(func() { _ = pool.Stop(k.Ctx()) })
			return pool.Start(k.Ctx())
		},
		"the enqueuer of a pool": func(t *testing.T, k *kit) error {
			pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
			t.Cleanup(func() { _ = pool.Stop(k.Ctx()) })
			_, err := pool.Enqueuer().Enqueue(k.Ctx(), "a")
			return err
		},
		"an enqueuer": func(_ *testing.T, k *kit) error {
			_, err := k.Enq.Enqueue(k.Ctx(), "a")
			return err
		},
		"an enqueuer of many": func(_ *testing.T, k *kit) error {
			_, err := k.Enq.EnqueueMany(k.Ctx(), make([]work.Entry, 0, 1))
			if err == nil {
				_, err = k.Enq.EnqueueMany(k.Ctx(), []work.Entry{{Name: "a"}, {Name: "b"}})
			}
			return err
		},
		"a wait": func(_ *testing.T, k *kit) error {
			if err := k.Enq.WaitEnd(k.Ctx(), "x"); !errors.Is(err, work.ErrGone) {
				return err
			}
			return nil
		},
		"an inspector": func(_ *testing.T, k *kit) error {
			_, err := k.Inspector().Queues(k.Ctx())
			return err
		},
		"the inspector of a pool": func(t *testing.T, k *kit) error {
			pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
			t.Cleanup(func() { _ = pool.Stop(k.Ctx()) })
			_, err := inspect.Of(pool).Queues(k.Ctx())
			return err
		},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for title, use := range uses {
			t.Run(title, func(t *testing.T) {
				k := newKit(t, s)
				k.Do("SET", "layout", "9 9")
				err := use(t, k)
				require.ErrorIs(t, err, work.ErrOutdated)
				require.ErrorContains(t, err, `this program is too old for the namespace "`+k.Namespace[:20])
				require.ErrorContains(t, err, `: its layout is 9 and needs programs that know 9, this one knows 8: `+
					`build it with a newer version`)
				assert.Equal(t, []string{"layout"}, k.Keys(), "nothing was stored")
				k = newKit(t, s)
				k.Do("SET", "layout", "9 3")
				require.NoError(t, use(t, k))
				assert.Equal(t, "9 3", k.Text("GET", "layout"))
			})
		}
	})
}

// TestARunningWorkerHearsThatItIsTooOld: it ends what it runs, fetches nothing more and is not healthy, until the
// layout is one that it knows.
func TestARunningWorkerHearsThatItIsTooOld(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		patient := pooltest.NewPatient()
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", patient.Handle).Job("b", pooltest.Nothing))
		assert.Equal(t, "8 3", k.Text("GET", "layout"))
		running := k.Enqueue("a").ID
		pooltest.Receive(t, patient.Began)
		k.Do("SET", "layout", "9 9")
		trouble := pooltest.Await(t, k.Spy, func(e event.Trouble) bool { return e.Component == "layout" })
		require.ErrorIs(t, trouble.Err, work.ErrOutdated)
		err := pool.Healthy(k.Ctx())
		require.ErrorIs(t, err, work.ErrOutdated)
		require.ErrorContains(t, err, "layout of worker "+pooltest.WorkerID(pool))
		later := k.Enqueue("b").ID // by an enqueuer that has asked before
		close(patient.GoOn)
		pooltest.Await(t, k.Spy, func(e event.JobDone) bool { return e.ID == running })
		k.Until("its outcome is in Redis", func() bool { return k.Number("HLEN", "claimed") == 0 })
		pool.Poll(k.Ctx())
		assert.Equal(t, []string{later}, k.InLine("b"), "it waits for a newer worker")
		k.Do("SET", "layout", "9 3")
		pooltest.Await(t, k.Spy, func(e event.JobDone) bool { return e.ID == later })
		require.NoError(t, pool.Healthy(k.Ctx()))
	})
}

// TestALostLayoutIsWrittenAgain, as all that a worker has told Redis.
func TestALostLayoutIsWrittenAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing))
		k.Unlink(k.Keys()...)
		k.Until("it is there again", func() bool { return k.Text("GET", "layout") == "8 3" })
	})
}
