package onequeue_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// found are the ids of all jobs of a selection.
func (k *kit) found(selection inspect.Selection) (ids []string) {
	k.T.Helper()
	page, err := k.Inspector().Search(k.Ctx(), selection, inspect.SearchOptions{})
	require.NoError(k.T, err)
	for _, job := range page.Jobs {
		ids = append(ids, job.ID)
	}
	slices.Sort(ids)
	return ids
}

// enqueued are the ids of so many new jobs of a name.
func (k *kit) enqueued(name string, many int) (ids []string) {
	k.T.Helper()
	for n := range many {
		ids = append(ids, k.Enqueue(name, n).ID)
	}
	slices.Sort(ids)
	return ids
}

func TestJobsAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.shares(mail, "a", "b")
		a, b := k.enqueued("a", 3), k.enqueued("b", 2)
		assert.Equal(t, a, k.found(inspect.Selection{Name: "a"}))
		assert.Equal(t, b, k.found(inspect.Selection{Name: "b", State: work.StateQueued}))

		i := k.Inspector()
		page, err := i.Page(k.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "mail"})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 5)
		assert.Equal(t, "a", page.Jobs[0].Name)
		assert.Equal(t, "mail", page.Jobs[0].Options.Queue)
		assert.Equal(t, "b", page.Jobs[4].Name)

		queue, err := i.Queue(k.Ctx(), "mail")
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "b"}, queue.Names)
		assert.Equal(t, 5, queue.Waiting)
		of, err := i.Queue(k.Ctx(), "a")
		require.NoError(t, err)
		assert.Equal(t, "mail", of.SharedQueue)
		assert.Zero(t, of.Waiting)
		all, err := i.Queues(k.Ctx())
		require.NoError(t, err)
		at := slices.IndexFunc(all, func(q inspect.QueueInfo) bool { return q.Name == "mail" })
		assert.Equal(t, []string{"a", "b"}, all[at].Names)
	})
}

func TestWhatRunsHasItsName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		p := k.Start(work.NewWorkerPool(nil, 2, k.Another(pooltest.NewSpy())).
			JobWithOptions("a", mail, func(int) error { return g.Handle() }).
			JobWithOptions("b", mail, func(int) error { return g.Handle() }))
		a, b := k.enqueued("a", 1), k.enqueued("b", 1)
		g.Began(t, 2)
		assert.Equal(t, a, k.found(inspect.Selection{Name: "a", State: work.StateRunning}))
		assert.Equal(t, b, k.found(inspect.Selection{Name: "b"}))
		worker, err := k.Inspector().Worker(k.Ctx(), k.ID(p))
		require.NoError(t, err)
		names := []string{worker.Running[0].Name, worker.Running[1].Name}
		assert.ElementsMatch(t, []string{"a", "b"}, names)
		g.Release()
		require.NoError(t, p.Drain(k.Ctx()))
	})
}

func TestAPurgeByNameTakesNoOther(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueued("a", 1)
		k.shares(mail, "a", "b")
		k.enqueued("a", 3)
		b := k.enqueued("b", 3)
		i := k.Inspector()
		n, err := i.Purge(k.Ctx(), "a", inspect.PurgeOptions{})
		require.NoError(t, err)
		assert.Equal(t, 4, n)
		assert.Equal(t, b, k.found(inspect.Selection{}))
		n, err = i.Purge(k.Ctx(), "mail", inspect.PurgeOptions{})
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		k.Empty("a", "b", "mail")
	})
}

// What concerns a whole queue is not said of one of its names.
func TestANameIsNotPausedByItself(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newRecorder()
		p := k.Start(k.pool(ran, 1, "a", "b"))
		i := k.Inspector()
		var invalid *work.InvalidError
		err := i.PauseQueue(k.Ctx(), "a")
		require.ErrorAs(t, err, &invalid)
		assert.ErrorContains(t, err, `"mail"`)
		require.ErrorAs(t, i.SetLimit(k.Ctx(), "b", work.Limit{Concurrent: 1}), &invalid)
		for _, name := range []string{"a", "mail"} {
			require.ErrorAs(t, i.StopKey(k.Ctx(), name, "k"), &invalid)
			require.ErrorAs(t, i.SetKeyLimit(k.Ctx(), name, "k", work.Limit{Concurrent: 1}), &invalid)
			require.NoError(t, i.ResetKeyLimit(k.Ctx(), name, "k"))
		}
		require.NoError(t, i.StopKey(k.Ctx(), "other", "k"))
		_, err = i.DestroyQueue(k.Ctx(), "b", inspect.DestroyOptions{})
		require.ErrorAs(t, err, &invalid)

		require.NoError(t, i.PauseQueue(k.Ctx(), "mail"))
		k.enqueued("a", 1)
		k.enqueued("b", 1)
		queue, err := i.Queue(k.Ctx(), "mail")
		require.NoError(t, err)
		assert.True(t, queue.Paused)
		assert.Equal(t, 2, queue.Waiting)
		require.NoError(t, i.ResumeQueue(k.Ctx(), "mail"))
		assert.Equal(t, []string{"a 0", "b 0"}, ran.ran(t, 2))
		require.NoError(t, p.Drain(k.Ctx()))
	})
}

// A job that was handed on is found, moved, cancelled and deleted where it stands, and the doctor has nothing to say
// but that nobody serves it.
func TestWhatWasHandedOnIsWithinReach(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.shares(mail, "a", "b")
		b := newRecorder()
		k.Start(k.pool(b, 1, "b"))
		var ids []string
		for n := range 4 {
			ids = append(ids, k.Enqueue("a", n).ID)
		}
		handedOn := needs.HandOn("mail", "a")
		k.Until("all are handed on", func() bool { return k.Number("LLEN", "queue:"+handedOn) == 4 })
		i := k.Inspector()
		job, err := i.Job(k.Ctx(), ids[0])
		require.NoError(t, err)
		assert.Equal(t, work.StateQueued, job.State)
		assert.Equal(t, "a", job.Name)
		assert.Len(t, k.found(inspect.Selection{Name: "a"}), 4)
		report, err := doctor.Examine(k.Ctx(), i, doctor.Options{})
		require.NoError(t, err)
		for _, f := range report.Findings {
			assert.Equal(t, doctor.CheckUnserved, f.Check, "%+v", f)
			assert.Contains(t, f.Queue, "mail (of a)")
		}

		assert.Equal(t, work.CancelEnded, k.Cancel(ids[0]).Effect)
		require.NoError(t, i.Delete(k.Ctx(), ids[1]))
		require.NoError(t, i.MoveToFront(k.Ctx(), ids[3]))
		a := newRecorder()
		p := k.Start(k.pool(a, 1, "a"))
		assert.ElementsMatch(t, []string{"a 2", "a 3"}, a.ran(t, 2))
		require.NoError(t, p.Drain(k.Ctx()))
		a.idle(t)
		b.idle(t)
		k.Empty("a", "b", "mail", handedOn)
	})
}

// History, ended jobs and the morgue go by the name.
func TestWhatHasEndedHasItsName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		fails := true
		handle := func(int) error {
			if fails {
				return work.Bury(errors.New("no"))
			}
			return nil
		}
		p := k.Start(work.NewWorkerPool(nil, 1, k.Another(pooltest.NewSpy())).
			JobWithOptions("a", work.JobOptions{Queue: "mail", Retention: time.Hour}, handle).
			JobWithOptions("b", mail, func(int) error { return nil }))
		id := k.Enqueue("a", 1).ID
		require.NoError(t, p.Drain(k.Ctx()))
		assert.Equal(t, []string{id}, k.found(inspect.Selection{Name: "a", State: work.StateDead}))
		assert.Empty(t, k.found(inspect.Selection{Name: "b", State: work.StateDead}))
		fails = false
		require.NoError(t, k.Inspector().RetryNow(k.Ctx(), id))
		require.NoError(t, p.Drain(k.Ctx()))
		page, err := k.Inspector().Page(k.Ctx(), inspect.PageOptions{State: work.StateSucceeded, Name: "a"})
		require.NoError(t, err)
		require.Len(t, page.Jobs, 1)
		assert.Equal(t, "a", page.Jobs[0].Name)
		require.NoError(t, k.Stop(p))
		groups, err := k.Inspector().Errors(k.Ctx(), "a")
		require.NoError(t, err)
		assert.Len(t, groups, 1)
	})
}
