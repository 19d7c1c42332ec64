package needs_test

import (
	"errors"
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

// ids are those of jobs, in their order.
func ids(jobs []*inspect.JobInfo) (all []string) {
	for _, job := range jobs {
		all = append(all, job.ID)
	}
	return all
}

func TestAJobThatWaitsForLabelsSaysSo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newRecorder()
		k.Start(work.NewWorkerPool(nil, 4, k.Options()).Job("render", ran.handle))
		waits := k.needing("render", 1, "v2", "gpu")
		i := k.Inspector()
		job, err := i.Job(k.Ctx(), waits.ID)
		require.NoError(t, err)
		assert.Equal(t, "render", job.Name)
		assert.Equal(t, work.StateQueued, job.State)
		assert.Equal(t, []string{"gpu", "v2"}, job.Options.Needs)
		require.Len(t, job.Why, 1)
		assert.Equal(t, inspect.WaitReason{Kind: inspect.WaitNeeds, Needs: []string{"gpu", "v2"}}, job.Why[0])
		assert.Equal(t, "needs gpu, v2, which no registered worker that serves its queue has", job.Why[0].String())

		queue, err := i.Queue(k.Ctx(), "render")
		require.NoError(t, err)
		assert.Equal(t, 1, queue.Waiting)
		assert.Equal(t, 1, queue.Workers)
		require.Len(t, queue.Needs, 1)
		assert.Equal(t, inspect.QueueNeeds{Labels: []string{"gpu", "v2"}, Waiting: 1, Oldest: queue.Oldest},
			queue.Needs[0])

		diagnosis, err := doctor.Examine(k.Ctx(), i, doctor.Options{})
		require.NoError(t, err)
		require.Len(t, diagnosis.Findings, 1, "%+v", diagnosis.Findings)
		assert.Equal(t, doctor.CheckUnserved, diagnosis.Findings[0].Check)
		assert.Equal(t, "render (needs gpu, v2)", diagnosis.Findings[0].Queue)
		assert.Equal(t, "1 job waits, and no worker serves this name and has what it needs, gpu and v2",
			diagnosis.Findings[0].Detail)

		gpu := newRecorder()
		p := k.Start(work.NewWorkerPool(nil, 4, k.labelled("gpu", "v2")).Job("render", gpu.handle))
		gpu.ran(t, 1)
		k.Drained(p)
		worker, err := i.Worker(k.Ctx(), k.ID(p))
		require.NoError(t, err)
		assert.Equal(t, []string{"gpu", "v2"}, worker.Labels)
		assert.Equal(t, []string{"render"}, worker.Queues)
		names, err := i.Queues(k.Ctx())
		require.NoError(t, err)
		require.Len(t, names, 1)
		assert.Equal(t, 2, names[0].Workers)
		assert.Empty(t, names[0].Needs)
	})
}

func TestPagesAndSearchesFindJobsWhateverTheyNeed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.Inspector()
		var want []string
		for n := range 3 {
			want = append(want, k.Enqueue("render", n).ID)
		}
		for _, labels := range [][]string{{"cpu"}, {"cpu"}, {"cpu"}, {"gpu"}} {
			want = append(want, k.needing("render", 0, labels...).ID)
		}
		k.needing("rendered", 0, "cpu") // another name
		for _, limit := range []int{2, 3, 50} {
			var found []string
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				page, err := i.Page(k.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "render",
					Cursor: cursor,
					Limit:  limit})
				require.NoError(t, err)
				require.NotEmpty(t, page.Jobs)
				assert.Equal(t, 7, page.Total)
				found, cursor = append(found, ids(page.Jobs)...), page.Next
			}
			assert.Equal(t, want, found, "limit %d", limit)
		}
		search, err := i.Search(k.Ctx(), inspect.Selection{Name: "render"}, inspect.SearchOptions{})
		require.NoError(t, err)
		assert.Equal(t, want, ids(search.Jobs))
		search, err = i.Search(k.Ctx(), inspect.Selection{}, inspect.SearchOptions{})
		require.NoError(t, err)
		assert.Len(t, search.Jobs, 8)

		counts, err := i.Counts(k.Ctx())
		require.NoError(t, err)
		assert.Equal(t, 8, counts.Queued)
		report, err := i.Bulk(k.Ctx(), inspect.Selection{State: work.StateQueued, Name: "render"}, inspect.ActionStall,
			inspect.BulkOptions{})
		require.NoError(t, err)
		assert.Equal(t, 7, report.Done)
	})
}

// What is done by hand is about the name, and leaves jobs what they need.
func TestByHandAJobKeepsWhatItNeeds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i, gpu := k.Inspector(), newRecorder()
		stalled, front, dead := k.needing("render", 1, "gpu"), k.needing("render", 2, "gpu"), k.needing("bad", 3, "gpu")
		require.NoError(t, i.Stall(k.Ctx(), stalled.ID))
		require.NoError(t, i.MoveToFront(k.Ctx(), front.ID))
		require.NoError(t, i.Resume(k.Ctx(), stalled.ID))
		cancelled := k.needing("render", 4, "gpu")
		assert.NoError(t, k.Cancel(cancelled.ID).Err())
		deleted := k.needing("render", 5, "gpu")
		require.NoError(t, i.Delete(k.Ctx(), deleted.ID))
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("render", func(int) error { panic("not here") }).
			Job("bad", func(int) error { panic("not here") }))
		bury := work.Bury(errors.New("bad"))
		p := k.Start(work.NewWorkerPool(nil, 1, k.labelled("gpu")).Job("render", gpu.handle).
			Job("bad", func(n int) error { gpu <- n; err := bury; bury = nil; return err }))
		assert.ElementsMatch(t, []int{2, 1, 3}, gpu.ran(t, 3))
		k.Drained(p)
		job, err := i.Job(k.Ctx(), dead.ID)
		require.NoError(t, err)
		require.Equal(t, work.StateDead, job.State)
		assert.Equal(t, "bad", job.Name)
		require.NoError(t, i.RetryNow(k.Ctx(), dead.ID))
		assert.Equal(t, []int{3}, gpu.ran(t, 1))
		k.Drained(p)
		gpu.idle(t)
	})
}

func TestAgainAJobNeedsTheSame(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		gpu := newRecorder()
		p := k.Start(work.NewWorkerPool(nil, 1, k.labelled("gpu")).
			JobWithOptions("render", work.JobOptions{Retention: time.Hour}, gpu.handle))
		first := k.needing("render", 1, "gpu")
		gpu.ran(t, 1)
		k.Drained(p)
		page, err := k.Inspector().Page(k.Ctx(), inspect.PageOptions{State: work.StateSucceeded, Name: "render"})
		require.NoError(t, err)
		require.Equal(t, []string{first.ID}, ids(page.Jobs))
		again, err := k.Inspector().EnqueueAgain(k.Ctx(), first.ID)
		require.NoError(t, err)
		gpu.ran(t, 1)
		k.Drained(p)
		job, err := k.Inspector().Job(k.Ctx(), again.ID)
		require.NoError(t, err)
		assert.Equal(t, []string{"gpu"}, job.Options.Needs)
	})
}

func TestAQueueIsPurgedAndDestroyedByItsName(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.Inspector()
		store := func() {
			k.Enqueue("render", 0)
			k.needing("render", 1, "gpu")
			k.needing("render", 2, "gpu", "v2")
			_, err := k.Enq.With(work.Needs("gpu")).EnqueueIn(k.Ctx(), "render", time.Hour, 3)
			require.NoError(t, err)
			k.needing("other", 4, "gpu")
		}
		store()
		removed, err := i.Purge(k.Ctx(), "render", inspect.PurgeOptions{})
		require.NoError(t, err)
		assert.Equal(t, 3, removed)
		store()
		report, err := i.DestroyQueue(k.Ctx(), "render", inspect.DestroyOptions{DryRun: true})
		require.NoError(t, err)
		assert.Equal(t, inspect.DestroyedCounts{Waiting: 3, Scheduled: 2}, report.DestroyedCounts)
		report, err = i.DestroyQueue(k.Ctx(), "render", inspect.DestroyOptions{})
		require.NoError(t, err)
		assert.Equal(t, inspect.DestroyedCounts{Waiting: 3, Scheduled: 2}, report.DestroyedCounts)
		assert.True(t, report.Forgotten)
		assert.Equal(t, []string{needs.Queue("other", []string{"gpu"})}, k.Strings("ZRANGE", "queues", 0, -1))
		assert.Equal(t, 2, k.Number("HLEN", "jobs"), "those of the other name")
		_, err = i.Queue(k.Ctx(), "render")
		assert.ErrorIs(t, err, inspect.ErrNoQueue)
	})
}

func TestASchedulesJobsNeedLabels(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		plain, ran := newRecorder(), make(chan struct{}, 100)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("tick", func() error { return plain.handle(0) }).
			PeriodicWithOptions("@every 1s", "tick", work.PeriodicOptions{Needs: []string{"gpu"}}))
		k.Start(work.NewWorkerPool(nil, 1, k.labelled("gpu")).Job("tick",
			func() error { ran <- struct{}{}; return nil }).
			PeriodicWithOptions("@every 1s", "tick", work.PeriodicOptions{Needs: []string{"gpu"}}))
		pooltest.Receive(t, ran)
		plain.idle(t)
		schedules, err := k.Inspector().Schedules(k.Ctx())
		require.NoError(t, err)
		require.Len(t, schedules, 1)
		assert.Equal(t, []string{"gpu"}, schedules[0].Options.Needs)
	})
}
