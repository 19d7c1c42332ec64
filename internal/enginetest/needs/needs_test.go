package needs_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestAJobRunsOnlyWhereItsLabelsAre(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		plain, gpu, both := newRecorder(), newRecorder(), newRecorder()
		first := k.Start(work.NewWorkerPool(nil, 4, k.Options()).Job("render", plain.handle))
		k.needing("render", 1, "gpu")
		k.needing("render", 2, "v2", "gpu")
		k.Enqueue("render", 0)
		assert.Equal(t, []int{0}, plain.ran(t, 1), "those that wait stand in nobody's way")
		require.NoError(t, first.Drain(k.Ctx()), "they are not what this pool waits for")

		second := k.Start(work.NewWorkerPool(nil, 4, k.labelled("gpu")).Job("render", gpu.handle))
		assert.Equal(t, []int{1}, gpu.ran(t, 1))
		require.NoError(t, second.Drain(k.Ctx()))

		k.Start(work.NewWorkerPool(nil, 4, k.labelled("v2", "other", "gpu")).Job("render", both.handle))
		assert.Equal(t, []int{2}, both.ran(t, 1))
		plain.idle(t)
		gpu.idle(t)
	})
}

func TestAWorkerHearsOfTheFirstJobThatNeedsItsLabels(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		gpu := newRecorder()
		p := k.Start(work.NewWorkerPool(nil, 4, k.labelled("gpu", "v2")).Job("render", gpu.handle))
		require.NoError(t, p.Drain(k.Ctx()))
		k.needing("render", 1, "gpu") // nobody knew of such a queue
		assert.Equal(t, []int{1}, gpu.ran(t, 1))
		_, err := k.Enq.With(work.Needs("v2")).EnqueueIn(k.Ctx(), "render", 50*time.Millisecond, 2)
		require.NoError(t, err)
		assert.Equal(t, []int{2}, gpu.ran(t, 1))
		assert.Contains(t, k.Strings("SMEMBERS", "worker:"+k.ID(p)+":queues"), needs.Queue("render", []string{"gpu"}))
	})
}

func TestJobsOfOtherNamesAndLabelsAreNotServed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.needing("render", 1, "gpu")
		k.needing("other", 2, "gpu")
		k.needing("render", 3, "cpu")
		gpu := newRecorder()
		p := k.Start(work.NewWorkerPool(nil, 4, k.labelled("gpu")).Job("render", gpu.handle))
		assert.Equal(t, []int{1}, gpu.ran(t, 1))
		require.NoError(t, p.Drain(k.Ctx()))
		assert.ElementsMatch(t, []string{"render", needs.Queue("render", []string{"gpu"})},
			k.Strings("SMEMBERS", "worker:"+k.ID(p)+":queues"))
		gpu.idle(t)
	})
}

func TestOrderIsKeptAmongJobsThatNeedTheSame(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var entries []work.Entry
		for n := range 100 {
			entries = append(entries, work.Entry{Name: "n", Args: []any{n},
				Options: []work.EnqueueOption{work.Needs("b", "a", "b")}})
		}
		_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		ran := newRecorder()
		k.Start(work.NewWorkerPool(nil, 1, k.labelled("a", "b")).Job("n", ran.handle))
		for n, got := range ran.ran(t, 100) {
			require.Equal(t, n, got)
		}
	})
}

// A job that comes back keeps what it needs: the pool without the label never runs it.
func TestWhatComesBackStillNeedsItsLabels(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]error{
		"a retry":   work.RetryIn(100*time.Millisecond, errors.New("not yet")),
		"a snooze":  work.Snooze(100 * time.Millisecond),
		"a release": work.Release(nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				plain, ran := newRecorder(), make(chan string, 10)
				k.Start(work.NewWorkerPool(nil, 4, k.Options()).Job("render", plain.handle))
				seen := 0
				k.Start(work.NewWorkerPool(nil, 1, k.labelled("gpu")).Job("render", func(job *work.Job, n int) error {
					ran <- job.Name
					if seen++; seen == 1 {
						return outcome
					}
					return nil
				}))
				k.needing("render", 1, "gpu")
				for range 2 {
					assert.Equal(t, "render", pooltest.Receive(t, ran))
				}
				plain.idle(t)
			})
		})
	}
}

func TestLabelsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		labels []string
		why    string
	}{
		"empty":       {[]string{""}, "an empty label"},
		"a comma":     {[]string{"a,b"}, "letters, digits"},
		"a blank":     {[]string{"a b"}, "letters, digits"},
		"no ASCII":    {[]string{"grün"}, "letters, digits"},
		"a separator": {[]string{"a\x1fb"}, "letters, digits"},
		"too long":    {[]string{string(make([]byte, 65))}, "65 bytes"},
		"too many":    {[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, "9 labels"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enq, err := work.NewEnqueuer("redis://localhost:1/0")
			require.NoError(t, err)
			defer func() { require.NoError(t, enq.Close()) }()
			_, err = enq.With(work.Needs(row.labels...)).Enqueue(t.Context(), "x")
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, row.why)
			assert.ErrorContains(t, err, "Needs")

			err = work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://localhost:1/0", Labels: row.labels}).
				Job("x", func() error { return nil }).Start(t.Context())
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, row.why)
			assert.ErrorContains(t, err, "WorkerOptions.Labels")
		})
	}
}

// What is limited or ordered by key must stand together, and what needs labels stands apart.
func TestAJobHasAKeyOrNeeds(t *testing.T) {
	t.Parallel()
	enq, err := work.NewEnqueuer("redis://localhost:1/0")
	require.NoError(t, err)
	defer func() { require.NoError(t, enq.Close()) }()
	_, err = enq.With(work.Key("k"), work.Needs("gpu")).Enqueue(t.Context(), "x")
	var invalid *work.InvalidError
	require.ErrorAs(t, err, &invalid)
	assert.ErrorContains(t, err, "both Key and Needs")
	err = work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://localhost:1/0"}).Job("x",
		func() error { return nil }).
		PeriodicWithOptions("@hourly", "x", work.PeriodicOptions{Key: "k", Needs: []string{"gpu"}}).Start(t.Context())
	require.ErrorAs(t, err, &invalid)
	assert.ErrorContains(t, err, "Key or Needs")
}
