package inspect_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// inspectorOf returns an Inspector that is closed with the test.
func inspectorOf(t *testing.T, s redistest.Server, namespace string) *inspect.Inspector {
	t.Helper()
	inspector, err := inspect.New(s.DSN(), work.Namespace(namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	return inspector
}

// keysOf are the names of all keys of the namespace.
func keysOf(t *testing.T, i *inspect.Inspector) []string {
	t.Helper()
	var names []string
	for cursor := "0"; ; {
		next, page, err := inside.Inspector(i).Store.ScanKeys(t.Context(), cursor)
		require.NoError(t, err)
		for _, key := range page {
			names = append(names, key.Name)
		}
		if cursor = next; cursor == "0" {
			return names
		}
	}
}

func TestEraseRemovesANamespaceAndNoOther(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		// Where the name is taken for a pattern, those two are its keys as well.
		odd, near := k.Namespace+"-[ab]*", k.Namespace+"-ab"
		for _, namespace := range []string{odd, near} {
			enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(namespace))
			require.NoError(t, err)
			for n := range 3 {
				_, err = enq.Enqueue(t.Context(), fmt.Sprint("a", n))
				require.NoError(t, err)
			}
			_, err = enq.EnqueueIn(t.Context(), "a0", time.Hour)
			require.NoError(t, err)
			require.NoError(t, enq.Close())
		}
		erased, kept := inspectorOf(t, s, odd), inspectorOf(t, s, near)
		before, others := keysOf(t, erased), keysOf(t, kept)
		require.Contains(t, before, "queue:a2")

		n, err := erased.Erase(t.Context())
		require.NoError(t, err)
		assert.Equal(t, len(before), n)
		assert.Empty(t, keysOf(t, erased))
		assert.ElementsMatch(t, others, keysOf(t, kept))

		n, err = erased.Erase(t.Context())
		require.NoError(t, err)
		assert.Zero(t, n, "nothing is left to erase")
	})
}

func TestEraseOfMoreKeysThanOneCallTakes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		entries := make([]work.Entry, 2*rdb.MaxBatch)
		for n := range entries {
			entries[n] = work.Entry{Name: fmt.Sprint("name", n)}
		}
		_, err := k.Enq.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		i := inspectorOf(t, s, k.Namespace)
		n, err := i.Erase(t.Context())
		require.NoError(t, err)
		assert.Greater(t, n, len(entries))
		assert.Empty(t, keysOf(t, i))
	})
}

func TestEraseRefusesWhileThereAreWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() error { return nil })
		require.NoError(t, pool.Start(context.Background()))
		i := inspectorOf(t, s, k.Namespace)
		before := keysOf(t, i)
		_, err := i.Erase(t.Context())
		require.ErrorIs(t, err, inspect.ErrServed)
		assert.ErrorContains(t, err, "{"+k.Namespace+"} was not erased: workers are registered")
		assert.NotEmpty(t, before)
		assert.Subset(t, keysOf(t, i), before)

		require.NoError(t, pool.Stop(context.Background()))
		_, err = i.Erase(t.Context())
		require.NoError(t, err)
		assert.Empty(t, keysOf(t, i))
	})
}

func TestInspectorCallsWithoutRedis(t *testing.T) {
	t.Parallel()
	lost, err := inspect.New("redis://127.0.0.1:1")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, lost.Close()) })
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "nonsense"})
	for name, row := range map[string]struct {
		inspector *inspect.Inspector
		want      string
	}{
		"nobody there": {lost, "cannot connect to Redis at 127.0.0.1:1"},
		"a wrong DSN":  {inspect.Of(pool), "nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := row.inspector.Erase(t.Context())
			assert.ErrorContains(t, err, row.want)
			_, err = row.inspector.ServerCPU(t.Context())
			assert.ErrorContains(t, err, row.want)
		})
	}
}

func TestServerCPUGrowsWhereRedisTellsIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := inspectorOf(t, s, k.Namespace)
		before, err := i.ServerCPU(t.Context())
		require.NoError(t, err)
		if s.Embedded() != nil {
			assert.Zero(t, before)
			return
		}
		require.Positive(t, before)
		_, err = k.Enq.Enqueue(t.Context(), "a", strings.Repeat("x", 100_000))
		require.NoError(t, err)
		after, err := i.ServerCPU(t.Context())
		require.NoError(t, err)
		assert.GreaterOrEqual(t, after, before)
	})
}
