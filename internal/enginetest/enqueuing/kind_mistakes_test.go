package enqueuing_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

// TestMistakesOfAKindAreToldByStartAndByEachEnqueue, without a panic, and with the line that defines it.
func TestMistakesOfAKindAreToldByStartAndByEachEnqueue(t *testing.T) {
	t.Parallel()
	type misspelt struct {
		ID int `work:"uniqe"`
	}
	type plain struct{ ID int }
	enq, err := work.NewEnqueuer("redis://127.0.0.1:1/0") // nothing is sent
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, enq.Close()) })
	check := func(name, want string, start, enqueue func() error) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var setup *work.SetupError
			started := start()
			require.ErrorAs(t, started, &setup)
			assert.Len(t, setup.Mistakes, 1, "%v", started)
			require.ErrorContains(t, started, want)
			var refused *work.EnqueueError
			enqueued := enqueue()
			require.ErrorAs(t, enqueued, &refused)
			assert.Equal(t, []int{0}, refused.NotStored)
			require.ErrorContains(t, enqueued, want)
			for _, err := range []error{started, enqueued} {
				var invalid *work.InvalidError
				var limit *work.LimitError
				assert.True(t, errors.As(err, &invalid) || errors.As(err, &limit), "%v", err)
				if !strings.Contains(name, "nobody made") {
					require.ErrorContains(t, err, "kind_mistakes_test.go:")
				}
			}
		})
	}
	check("name", "job name is empty", startOf(work.Define[plain]("")), enqueueOf(enq, work.Define[plain](""), plain{}))
	negative := work.Define[plain]("a", work.JobOptions{Timeout: -1})
	check("option", "JobOptions.Timeout is -1ns", startOf(negative), enqueueOf(enq, negative, plain{}))
	two := work.Define[plain]("a", work.JobOptions{}, work.JobOptions{})
	check("two options", "given 2 JobOptions", startOf(two), enqueueOf(enq, two, plain{}))
	tag := work.Define[misspelt]("a")
	check("tag", `tagged work:"uniqe"`, startOf(tag), enqueueOf(enq, tag, misspelt{}))
	limit := work.Define[plain]("a", work.JobOptions{Limit: work.Limit{Concurrent: -1}})
	check("limit", "Concurrent is -1", startOf(limit), enqueueOf(enq, limit, plain{}))
	job := work.Define[*work.Job]("a")
	check("a job as its args", "JobFromContext", startOf(job), enqueueOf(enq, job, &work.Job{}))
	check("one that nobody made", "make it with Define", startOf(&work.Kind[plain, work.NoResult]{}),
		enqueueOf(enq, &work.Kind[plain, work.NoResult]{}, plain{}))
	check("nil that nobody made", "make it with Define", startOf[plain](nil), enqueueOf(enq, nil, plain{}))
	position := work.Define[plain]("a", work.JobOptions{Unique: &work.UniqueOptions{Args: []int{1}}})
	check("a position", "use positions below that", startOf(position), enqueueOf(enq, position, plain{}))
}

func startOf[A any](kind *work.Kind[A, work.NoResult]) func() error {
	return func() error {
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://127.0.0.1:1/0"}).
			Job("another", func() error { return nil })
		return work.HandleFunc(pool, kind, func(context.Context, A) error { return nil }).Start(context.Background())
	}
}

func enqueueOf[A any](enq *work.Enqueuer, kind *work.Kind[A, work.NoResult], args A) func() error {
	return func() error {
		_, err := kind.Enqueue(context.Background(), enq, args)
		return err
	}
}

// TestTheContextOfAKindsHandler is that of the pool; C is not known to the compiler, so Start says it.
func TestTheContextOfAKindsHandler(t *testing.T) {
	t.Parallel()
	watch := work.Define[watchArgs]("watch")
	pool := work.NewWorkerPool(struct{}{}, 1, work.WorkerOptions{Redis: "redis://127.0.0.1:1/0"})
	err := work.Handle(pool, watch, (*watching).Watch).Start(t.Context())
	var signature *work.SignatureError
	require.ErrorAs(t, err, &signature)
	require.ErrorContains(t, err, `job "watch" (registered at kind_mistakes_test.go:`)
	require.ErrorContains(t, err, "enqueuing_test.(*watching).Watch (kind_test.go:")
}

// TestOtherMistakesWithKinds are those of the calls, and of the time.
func TestOtherMistakesWithKinds(t *testing.T) {
	t.Parallel()
	watch := work.Define[watchArgs]("watch")
	enq, err := work.NewEnqueuer("redis://127.0.0.1:1/0") // nothing is sent
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, enq.Close()) })
	_, err = watch.EnqueueAt(t.Context(), enq, time.Time{}, watchArgs{})
	require.ErrorContains(t, err, `time of job "watch" is the zero time`)
	_, err = watch.EnqueueIn(t.Context(), enq, -1, watchArgs{})
	require.ErrorContains(t, err, `delay of job "watch" is -1ns`)

	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://127.0.0.1:1/0"})
	watch.Periodic(pool, "@yearly", watchArgs{}, work.PeriodicOptions{}, work.PeriodicOptions{})
	err = pool.Start(t.Context())
	require.ErrorContains(t, err, "given 2 PeriodicOptions")
	require.ErrorContains(t, err, `schedule "watch" (added at kind_mistakes_test.go:`, "nobody handles it")
}
