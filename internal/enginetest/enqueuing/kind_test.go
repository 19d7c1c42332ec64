package enqueuing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// watching is the context of the pools under test: it says what its handlers got.
type watching struct{ got chan string }

func (w *watching) Watch(ctx context.Context, args watchArgs) error {
	job := work.JobFromContext(ctx)
	w.got <- fmt.Sprintf("%s %d %s %d", job.Name, args.User, args.Area, job.SourceID)
	return nil
}

func (w *watching) Square(_ context.Context, n int) (int, error) {
	if n < 0 {
		return 0, work.Bury(errors.New("it is negative"))
	}
	return n * n, nil
}

// TestAKindAndItsPositionalFormAreTheSameJob: whoever enqueues, and whoever handles.
func TestAKindAndItsPositionalFormAreTheSameJob(t *testing.T) {
	t.Parallel()
	watch := work.Define[watchArgs]("watch")
	forms := map[string]func(pool *work.WorkerPool, got chan string) *work.WorkerPool{
		"a method of the context": func(pool *work.WorkerPool, _ chan string) *work.WorkerPool {
			return work.Handle(pool, watch, (*watching).Watch)
		},
		"a method of a value": func(pool *work.WorkerPool, got chan string) *work.WorkerPool {
			return work.HandleFunc(pool, watch, (&watching{got}).Watch)
		},
		"positional": func(pool *work.WorkerPool, _ chan string) *work.WorkerPool {
			return pool.Job("watch", (*watching).Watch)
		},
		"positional with the job": func(pool *work.WorkerPool, got chan string) *work.WorkerPool {
			return pool.Job("watch", func(w *watching, job *work.Job, args watchArgs) error {
				got <- fmt.Sprintf("%s %d %s %d", job.Name, args.User, args.Area, job.SourceID)
				return nil
			})
		},
	}
	for name, register := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				got := make(chan string, 8)
				pool := register(work.NewWorkerPool(watching{got}, 1, k.Options()), got)
				enq := pool.Enqueuer()
				typed, err := watch.Enqueue(k.Ctx(), enq, watchArgs{User: 7, Area: "a"}, work.Source(5))
				require.NoError(t, err)
				same, err := enq.Enqueue(k.Ctx(), "watch", watchArgs{User: 7, Area: "a", Note: "x"})
				require.NoError(t, err)
				assert.Equal(t, typed.ID, same.ID, "they are unique by the same fields")
				assert.True(t, same.Duplicate)
				_, err = k.Enq.Enqueue(k.Ctx(), "watch", map[string]any{"user": 8, "area": "b"})
				require.NoError(t, err)
				_, err = enq.EnqueueMany(k.Ctx(), []work.Entry{watch.Entry(watchArgs{User: 9, Area: "c"})})
				require.NoError(t, err)
				k.Start(pool)
				require.NoError(t, pool.Drain(k.Ctx()))
				assert.Equal(t, "watch 7 a 5", pooltest.Receive(t, got))
				assert.Equal(t, "watch 8 b 0", pooltest.Receive(t, got))
				assert.Equal(t, "watch 9 c 0", pooltest.Receive(t, got))
			})
		})
	}
}

// TestAKindIsUniqueWhoeverEnqueuesIt: an Enqueuer that knows no pool, and options of the enqueue that beat the kind's.
func TestAKindIsUniqueWhoeverEnqueuesIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		tagged := work.Define[watchArgs]("tagged",
			work.JobOptions{Unique: &work.UniqueOptions{OnConflict: work.RefuseDuplicate}})
		keyed := work.Define[watchArgs]("keyed", work.JobOptions{Unique: &work.UniqueOptions{
			By: work.KeyOf(func(args watchArgs) string { return args.Note })}})
		first, err := tagged.Enqueue(k.Ctx(), k.Enq, watchArgs{7, "a", "x"})
		require.NoError(t, err)
		var duplicate *work.DuplicateError
		_, err = tagged.Enqueue(k.Ctx(), k.Enq, watchArgs{7, "a", "y"})
		require.ErrorAs(t, err, &duplicate)
		_, err = tagged.EnqueueIn(k.Ctx(), k.Enq, time.Hour, watchArgs{7, "a", "y"})
		require.ErrorAs(t, err, &duplicate)
		_, err = tagged.EnqueueAt(k.Ctx(), k.Enq, time.Now().Add(time.Hour), watchArgs{7, "a", "y"})
		require.ErrorAs(t, err, &duplicate)
		_, err = k.EnqueueEntry(tagged.Entry(watchArgs{7, "a", "y"}))
		require.ErrorAs(t, err, &duplicate)
		assert.Equal(t, first.ID, duplicate.ID)
		other, err := tagged.Enqueue(k.Ctx(), k.Enq.With(work.Unique(work.UniqueOptions{})), watchArgs{7, "a", "y"})
		require.NoError(t, err, "With beats the options of the kind")
		assert.Equal(t, first.ID, other.ID)
		assert.True(t, other.Duplicate)
		_, err = tagged.Enqueue(k.Ctx(), k.Enq, watchArgs{7, "a", "y"}, work.Unique(work.UniqueOptions{Key: "k"}))
		require.NoError(t, err)

		_, err = keyed.Enqueue(k.Ctx(), k.Enq, watchArgs{7, "a", "x"})
		require.NoError(t, err)
		same, err := keyed.Enqueue(k.Ctx(), k.Enq, watchArgs{8, "b", "x"})
		require.NoError(t, err)
		assert.True(t, same.Duplicate)
	})
}

// TestAKindIsUniqueBehindMiddleware, which gets its entry and may change it.
func TestAKindIsUniqueBehindMiddleware(t *testing.T) {
	t.Parallel()
	watch := work.Define[watchArgs]("watch")
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(k.Namespace), work.WithEnqueueMiddleware(
			func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
				for i := range entries {
					assert.Equal(t, int64(5), entries[i].Source)
					entries[i].Options = append(entries[i].Options, work.Tags("seen"))
				}
				_, err := next(ctx, entries)
				return err
			}))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, enq.Close()) })
		first, err := watch.Enqueue(k.Ctx(), enq, watchArgs{7, "a", "x"}, work.Source(5))
		require.NoError(t, err)
		same, err := watch.Enqueue(k.Ctx(), enq.With(work.Source(5)), watchArgs{7, "a", "y"})
		require.NoError(t, err)
		assert.Equal(t, first.ID, same.ID)
		job, err := k.Inspector().Job(k.Ctx(), first.ID)
		require.NoError(t, err)
		assert.Equal(t, []string{"seen"}, job.Tags)
	})
}

// TestTheResultOfAKind, and the end of one that has none.
func TestTheResultOfAKind(t *testing.T) {
	t.Parallel()
	square := work.DefineResult[int, int]("square", work.JobOptions{Retention: time.Hour})
	watch := work.Define[watchArgs]("watch", work.JobOptions{Retention: time.Hour})
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		got := make(chan string, 8)
		pool := work.HandleResult(work.NewWorkerPool(watching{got}, 1, k.Options()), square, (*watching).Square)
		k.Start(work.Handle(pool, watch, (*watching).Watch))
		ids := make([]string, 3)
		for i, n := range []int{2, 3, -1} {
			receipt, err := square.Enqueue(k.Ctx(), k.Enq, n)
			require.NoError(t, err)
			ids[i] = receipt.ID
		}
		four, err := square.Wait(k.Ctx(), k.Enq, ids[0])
		require.NoError(t, err)
		assert.Equal(t, 4, four)
		both, err := square.WaitAll(k.Ctx(), k.Enq, ids[:2]...)
		require.NoError(t, err)
		assert.Equal(t, []int{4, 9}, both)
		nine, err := square.Result(k.Ctx(), k.Enq, ids[1])
		require.NoError(t, err)
		assert.Equal(t, 9, nine)
		_, err = square.Wait(k.Ctx(), k.Enq, ids[2])
		var failed *work.JobFailedError
		require.ErrorAs(t, err, &failed)

		receipt, err := watch.Enqueue(k.Ctx(), k.Enq, watchArgs{User: 7})
		require.NoError(t, err)
		_, err = watch.Wait(k.Ctx(), k.Enq, receipt.ID)
		require.NoError(t, err)
		_, err = watch.Result(k.Ctx(), k.Enq, receipt.ID)
		require.NoError(t, err)
		_, err = work.Result[work.NoResult](k.Ctx(), k.Enq, ids[0])
		require.NoError(t, err, "one that nobody asks for")
		_, err = work.Result[work.NoResult](k.Ctx(), k.Enq, ids[2])
		require.ErrorIs(t, err, work.ErrGone, "it is dead")
	})
}

// TestTheOptionsOfAKind hold where a pool handles it, and its schedule is that of the pool.
func TestTheOptionsOfAKind(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		strict := work.Define[watchArgs]("strict", work.JobOptions{Retries: -1, StrictArgs: true})
		pool := work.HandleFunc(work.NewWorkerPool(nil, 1, k.Options()), strict,
			func(context.Context, watchArgs) error { return errors.New("no luck") })
		strict.Periodic(pool, "@yearly", watchArgs{User: 9}, work.PeriodicOptions{ID: "new year"})
		_, err := pool.Enqueuer().Enqueue(k.Ctx(), "strict", map[string]int{"usr": 7})
		require.ErrorContains(t, err, `it has the field "usr", which is unknown there`)
		receipt, err := strict.Enqueue(k.Ctx(), k.Enq, watchArgs{User: 7})
		require.NoError(t, err)
		k.Start(pool)
		_, err = strict.Wait(k.Ctx(), k.Enq, receipt.ID)
		var failed *work.JobFailedError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, 1, failed.Attempts)
		schedules, err := k.Inspector().Schedules(k.Ctx())
		require.NoError(t, err)
		require.Len(t, schedules, 1)
		assert.Equal(t, "new year", schedules[0].ID)
		assert.JSONEq(t, `[{"user":9,"area":"","note":""}]`, string(schedules[0].Args))
	})
}
