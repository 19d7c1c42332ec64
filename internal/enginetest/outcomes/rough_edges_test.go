package outcomes_test

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
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestABadOptionIsReportedOnce(t *testing.T) {
	t.Parallel()
	opts := work.WorkerOptions{
		Redis: "redis://localhost:1", Prefetch: -2, MaxCrashes: 1, MorgueRetention: -1, ObjectGrace: -1,
		MaxArgsSize: -5, Only: []string{"b", "b"},
	}
	pool := work.NewWorkerPool(nil, 1, opts).Job("a", func(int) error { return nil }).Periodic("@daily", "a", 1).
		Periodic("@daily", "")
	var setup *work.SetupError
	require.ErrorAs(t, pool.Start(t.Context()), &setup)
	for _, once := range []string{"Prefetch", "MaxCrashes", "MorgueRetention", "Grace", "MaxArgsSize",
		"WorkerOptions.Only", `schedule ""`} {
		named := 0
		for _, mistake := range setup.Mistakes {
			if strings.Contains(mistake.Error(), once) {
				named++
			}
		}
		assert.Equal(t, 1, named, "%s in %v", once, setup)
	}
	assert.Len(t, setup.Mistakes, 7)
}

func TestUniqueOptionsThatCannotFitFailAtStart(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		handler any
		args    []int
		fits    bool
	}{
		"the last one":          {func(int, string) error { return nil }, []int{0, 1}, true},
		"one too far":           {func(int, string) error { return nil }, []int{0, 2}, false},
		"none at all":           {func() error { return nil }, []int{0}, false},
		"as many as there come": {func(int, ...string) error { return nil }, []int{7}, true},
		"ctx and job are none":  {func(context.Context, *work.Job, int) error { return nil }, []int{1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := work.WorkerOptions{Redis: "redis://localhost:1", Prefetch: -2} // it is not to start
			err := work.NewWorkerPool(nil, 1, opts).JobWithOptions("job",
				work.JobOptions{Unique: &work.UniqueOptions{Args: row.args}},
				row.handler).Start(t.Context())
			assert.Equal(t, row.fits, !strings.Contains(err.Error(), "JobOptions.Unique: UniqueOptions.Args is "), err)
		})
	}
}

func TestFrontWithATimeThatHasPassed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		first := k.Enqueue("job")
		past, err := k.Enq.With(work.Front()).EnqueueAt(k.Ctx(), "job", time.Now().Add(-time.Hour))
		require.NoError(t, err)
		list, isList := k.Do("LRANGE", "queue:job", 0, -1).([]any)
		require.True(t, isList)
		assert.Equal(t, []any{[]byte(first.ID), []byte(past.ID)}, list, "the end of the list is the front")
		_, err = k.Enq.With(work.Front()).EnqueueAt(k.Ctx(), "job", time.Now().Add(time.Hour))
		var invalid *work.InvalidError
		require.ErrorAs(t, err, &invalid)
		assert.Contains(t, err.Error(), "due later but has the option Front")
	})
}

func TestProgressAfterTheAttempt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var late *work.Job
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("job", func(job *work.Job) error {
			late = job
			return job.Progress(1)
		}))
		k.Enqueue("job")
		require.NoError(t, pool.Drain(k.Ctx()))
		told := pooltest.Count[event.JobCheckedIn](k.Spy)
		require.ErrorIs(t, late.Progress(2), work.ErrAttemptOver)
		late.Checkin("still here")
		assert.Equal(t, told, pooltest.Count[event.JobCheckedIn](k.Spy), "nobody is told")
	})
}

func TestADrainThatCannotFinishSaysWhatIsLeftAndWhy(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, end := make(chan struct{}, 1), make(chan struct{})
		defer close(end)
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).
			Job("paused", func() error { return nil }).
			Job("empty", func() error { return nil }).
			JobWithOptions("limited", work.JobOptions{Limit: work.Limit{Concurrent: 1}},
				func() error { begun <- struct{}{}; <-end; return nil }))
		require.NoError(t, k.ByHand().PauseAndWait(k.Ctx(), "paused"))
		k.Enqueue("paused")
		k.Enqueue("limited")
		pooltest.Receive(t, begun)
		k.Enqueue("limited")
		ctx, cancel := context.WithCancelCause(k.Ctx())
		over := errors.New("enough")
		cancel(over)
		err := pool.Drain(ctx)
		require.ErrorIs(t, err, over)
		for _, text := range []string{`queue "paused" has 1 waiting and 0 running: it is paused`,
			`queue "limited" has 1 waiting and 1 running: its limit is 1 at once`} {
			assert.Contains(t, err.Error(), text)
		}
		assert.NotContains(t, err.Error(), "empty")
	})
}
