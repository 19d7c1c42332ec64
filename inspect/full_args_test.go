package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

func TestFullArgsHaveTheObjectsInTheirPlaces(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		namespace := work.Namespace(redistest.Namespace(t))
		enq, err := work.NewEnqueuer(s.DSN(), namespace)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, enq.Close()) })
		i, err := inspect.New(s.DSN(), namespace)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, i.Close()) })
		long := strings.Repeat("long & winding ", 7000)
		_, err = enq.With(work.ID("a")).Enqueue(t.Context(), "mail", 12345678901234567, long, nil)
		require.NoError(t, err)
		job, err := i.Job(t.Context(), "a")
		require.NoError(t, err)
		require.Less(t, len(job.Args), 1000, "the long one is set apart")

		args, err := i.FullArgs(t.Context(), "a")
		require.NoError(t, err)
		want, err := jobargs.EncodeAll(nil, "a", []any{12345678901234567, long, nil}, jobargs.DefaultInRecord)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(args))

		_, err = i.FullArgs(t.Context(), "b")
		require.ErrorIs(t, err, work.ErrNotFound)
		_, err = i.FullArgs(t.Context(), strings.Repeat("x", 300))
		var invalid *work.InvalidError
		require.ErrorAs(t, err, &invalid)
	})
}

func TestFullArgsSayWhichObjectIsElsewhere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		home, err := objects.Directory(t.TempDir())
		require.NoError(t, err)
		namespace := work.Namespace(redistest.Namespace(t))
		enq, err := work.NewEnqueuer(s.DSN(), namespace, work.ObjectHome(home))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, enq.Close()) })
		i, err := inspect.New(s.DSN(), namespace)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, i.Close()) })
		_, err = enq.With(work.ID("a")).Enqueue(t.Context(), "mail", strings.Repeat("x", 100_000))
		require.NoError(t, err)
		_, err = i.FullArgs(t.Context(), "a")
		var missing *work.ObjectError
		require.ErrorAs(t, err, &missing)
		assert.Equal(t, 1, missing.Argument)
	})
}

// Of a job that has ended the objects are shown as long as they are there.
func TestFullArgsOfAJobThatHasEnded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		long := strings.Repeat("x", 100_000)
		enq := k.Enq.With(work.Retention(time.Hour))
		shared, err := enq.Enqueue(k.Ctx(), "n", 7, long)
		require.NoError(t, err)
		omitted, err := enq.With(work.OmitArgs()).Enqueue(k.Ctx(), "n", 7, long)
		require.NoError(t, err)
		forgotten, err := k.Enq.Enqueue(k.Ctx(), "n", 7, long)
		require.NoError(t, err)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(int, string) error { return nil }))
		k.Drained(pool)
		info := k.over(shared.ID)
		assert.Equal(t, "[7,null]", string(info.Args))
		assert.Equal(t, 1, info.Options.Objects)
		args, err := k.hands().FullArgs(k.Ctx(), shared.ID)
		require.NoError(t, err)
		assert.Equal(t, `[7,"`+long+`"]`, string(args), "nobody has removed it yet")
		for id, want := range map[string]string{omitted.ID: "unwanted", forgotten.ID: ""} {
			_, err = k.hands().FullArgs(k.Ctx(), id)
			require.ErrorIs(t, err, work.ErrNotFound)
			assert.ErrorContains(t, err, want)
		}

		for _, key := range k.Remains("object:") { // as the janitor does
			k.Do("UNLINK", strings.TrimPrefix(key, "{"+k.Namespace+"}:"))
		}
		_, err = k.hands().FullArgs(k.Ctx(), shared.ID)
		var missing *work.ObjectError
		require.ErrorAs(t, err, &missing)
		assert.Equal(t, 2, missing.Argument)
		info = k.over(shared.ID)
		assert.Equal(t, "[7,null]", string(info.Args))
	})
}
