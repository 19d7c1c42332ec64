package enqueuing_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

type watchArgs struct {
	User int64  `json:"user" work:"unique"`
	Area string `json:"area" work:"unique"`
	Note string `json:"note"`
}

// TestStrictArgsRefuseAFieldThatTheHandlerDoesNotHave: the pool's Enqueuer stores no such job; one that another program
// stores is buried with an error that names the field, and is ignored where the args are not strict.
func TestStrictArgsRefuseAFieldThatTheHandlerDoesNotHave(t *testing.T) {
	t.Parallel()
	type order struct{ Customer int64 }
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		handler := func(order) error { return nil }
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("lenient", handler).
			JobWithOptions("strict", work.JobOptions{StrictArgs: true}, handler)
		newer := map[string]int{"Customer": 7, "Tenant": 8}
		_, err := pool.Enqueuer().Enqueue(k.Ctx(), "strict", newer)
		var wrong *work.ArgumentError
		require.ErrorAs(t, err, &wrong)
		require.ErrorContains(t, err, `it has the field "Tenant", which is unknown there`)
		for _, name := range []string{"strict", "lenient"} {
			_, err := pool.Enqueuer().Enqueue(k.Ctx(), name, order{7})
			require.NoError(t, err)
		}
		_, err = pool.Enqueuer().Enqueue(k.Ctx(), "lenient", newer)
		require.NoError(t, err)
		bad := k.Enqueue("strict", newer)
		k.Start(pool)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, 3, pooltest.Count[event.JobDone](k.Spy))
		job, err := k.Inspector().Job(k.Ctx(), bad.ID)
		require.NoError(t, err)
		assert.Equal(t, work.StateDead, job.State)
		assert.Contains(t, job.Errors[0].Error, `it has the field "Tenant", which is unknown there`)
	})
}

// TestJobsAreUniqueByTheirTaggedFields: as their pool's Enqueuer stores them, whatever form the args have.
func TestJobsAreUniqueByTheirTaggedFields(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("watch", func(watchArgs) error { return nil }).
			JobWithOptions("all", work.JobOptions{Unique: &work.UniqueOptions{Args: []int{0}}},
				func(watchArgs) error { return nil })
		t.Cleanup(func() { assert.NoError(t, pool.Stop(context.Background())) })
		duplicate := func(name string, args any, opts ...work.EnqueueOption) bool {
			t.Helper()
			receipt, err := pool.Enqueuer().With(opts...).Enqueue(k.Ctx(), name, args)
			require.NoError(t, err)
			return receipt.Duplicate
		}
		assert.False(t, duplicate("watch", watchArgs{7, "a", "first"}))
		assert.True(t, duplicate("watch", watchArgs{7, "a", "another note"}))
		assert.True(t, duplicate("watch", json.RawMessage(`{"note":"x", "area":"a", "user":7}`)),
			"the order of the members is no matter")
		assert.False(t, duplicate("watch", watchArgs{8, "a", "first"}))
		assert.False(t, duplicate("watch", watchArgs{7, "b", "first"}))
		assert.True(t, duplicate("watch", watchArgs{7, "a", ""}, work.Unique(work.UniqueOptions{KeepInMorgue: true})),
			"options of the enqueue that do not say what counts leave it to the tags")
		assert.False(t, duplicate("watch", watchArgs{7, "a", ""}, work.Unique(work.UniqueOptions{Args: []int{0}})),
			"others say it")
		assert.False(t, duplicate("all", watchArgs{7, "a", "first"}))
		assert.False(t, duplicate("all", watchArgs{7, "a", "another note"}), "so do those of the job")
	})
}

// TestJobsAreUniqueByAFunction of their first arg.
func TestJobsAreUniqueByAFunction(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		by := work.KeyOf(func(args watchArgs) string { return args.Area })
		pool := work.NewWorkerPool(nil, 1, k.Options()).JobWithOptions("watch",
			work.JobOptions{Unique: &work.UniqueOptions{By: by, OnConflict: work.RefuseDuplicate}},
			func(watchArgs, int) error { return nil })
		t.Cleanup(func() { assert.NoError(t, pool.Stop(context.Background())) })
		first, err := pool.Enqueuer().Enqueue(k.Ctx(), "watch", watchArgs{7, "a", "x"}, 1)
		require.NoError(t, err)
		_, err = pool.Enqueuer().Enqueue(k.Ctx(), "watch", watchArgs{8, "a", "y"}, 2)
		var duplicate *work.DuplicateError
		require.ErrorAs(t, err, &duplicate)
		assert.Equal(t, first.ID, duplicate.ID)
		_, err = pool.Enqueuer().Enqueue(k.Ctx(), "watch", watchArgs{7, "b", "x"}, 1)
		require.NoError(t, err)
		_, err = pool.Enqueuer().Enqueue(k.Ctx(), "watch", watchArgs{7, "", "x"}, 1)
		require.ErrorContains(t, err, "key that UniqueOptions.By made is empty")
	})
}

// TestMistakesInWhatIsUnique are told by Start, each with where the job is registered.
func TestMistakesInWhatIsUnique(t *testing.T) {
	t.Parallel()
	misspelt := func(struct {
		ID int `work:"uniqe"`
	}) error {
		return nil
	}
	byNumber := work.KeyOf(func(int) string { return "" })
	by := func(by work.UniqueKey, more work.UniqueOptions) work.JobOptions {
		more.By = by
		return work.JobOptions{Unique: &more}
	}
	for name, row := range map[string]struct {
		options work.JobOptions
		handler any
		want    string
	}{
		"a tag": {work.JobOptions{}, misspelt, `tagged work:"uniqe": use work:"unique"`},
		"another type": {by(byNumber, work.UniqueOptions{}), func(watchArgs) error { return nil },
			"a function of int for a job that takes enqueuing_test.watchArgs"},
		"no function": {by(work.KeyOf[int](nil), work.UniqueOptions{}), func(int) error { return nil },
			"made of a nil function"},
		"two keys": {by(byNumber, work.UniqueOptions{Key: "k"}), func(int) error { return nil },
			"UniqueOptions.By is given beside Key or Args"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://127.0.0.1:1/0"}).
				JobWithOptions("watch", row.options, row.handler).Start(t.Context())
			var setup *work.SetupError
			require.ErrorAs(t, err, &setup)
			require.ErrorContains(t, err, row.want)
			require.ErrorContains(t, err, `job "watch" (registered at struct_args_test.go:`)
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
		})
	}
}
