package work

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

func TestWholeArgsHaveTheObjectsInTheirPlaces(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		namespace := Namespace(redistest.Namespace(t))
		enq, err := NewEnqueuer(s.DSN(), namespace)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, enq.Close()) })
		i, err := NewInspector(s.DSN(), namespace)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, i.Close()) })
		long := strings.Repeat("long & winding ", 7000)
		_, err = enq.With(ID("a")).Enqueue(t.Context(), "mail", 12345678901234567, long, nil)
		require.NoError(t, err)
		job, err := i.Job(t.Context(), "a")
		require.NoError(t, err)
		require.Less(t, len(job.Args), 1000, "the long one is set apart")

		args, err := i.WholeArgs(t.Context(), "a")
		require.NoError(t, err)
		want, err := encodeArgs(nil, "a", []any{12345678901234567, long, nil}, defaultMaxArgsSize)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(args))

		_, err = i.WholeArgs(t.Context(), "b")
		require.ErrorIs(t, err, ErrNotFound)
		_, err = i.WholeArgs(t.Context(), strings.Repeat("x", 300))
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid)
	})
}

func TestWholeArgsSayWhichObjectIsElsewhere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		home, err := objects.Directory(t.TempDir())
		require.NoError(t, err)
		namespace := Namespace(redistest.Namespace(t))
		enq, err := NewEnqueuer(s.DSN(), namespace, ObjectHome(home))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, enq.Close()) })
		i, err := NewInspector(s.DSN(), namespace)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, i.Close()) })
		_, err = enq.With(ID("a")).Enqueue(t.Context(), "mail", strings.Repeat("x", 100_000))
		require.NoError(t, err)
		_, err = i.WholeArgs(t.Context(), "a")
		var missing *ObjectError
		require.ErrorAs(t, err, &missing)
		assert.Equal(t, 1, missing.Argument)
	})
}
