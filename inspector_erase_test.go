package work

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// inspect returns an Inspector that is closed with the test.
func inspect(t *testing.T, s redistest.Server, namespace string) *Inspector {
	t.Helper()
	inspector, err := NewInspector(s.DSN(), Namespace(namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	return inspector
}

// keysOf are the names of all keys of the namespace.
func keysOf(t *testing.T, i *Inspector) []string {
	t.Helper()
	var names []string
	for cursor := "0"; ; {
		next, page, err := i.store.ScanKeys(t.Context(), cursor)
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
		odd, near := k.namespace+"-[ab]*", k.namespace+"-ab"
		for _, namespace := range []string{odd, near} {
			enq, err := NewEnqueuer(s.DSN(), Namespace(namespace))
			require.NoError(t, err)
			for n := range 3 {
				_, err = enq.Enqueue(t.Context(), fmt.Sprint("a", n))
				require.NoError(t, err)
			}
			_, err = enq.EnqueueIn(t.Context(), "a0", time.Hour)
			require.NoError(t, err)
			require.NoError(t, enq.Close())
		}
		erased, kept := inspect(t, s, odd), inspect(t, s, near)
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
		entries := make([]Entry, 2*rdb.MaxBatch)
		for n := range entries {
			entries[n] = Entry{Name: fmt.Sprint("name", n)}
		}
		_, err := k.enq.EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		i := inspect(t, s, k.namespace)
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
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", func() error { return nil })
		require.NoError(t, pool.Start(context.Background()))
		i := inspect(t, s, k.namespace)
		before := keysOf(t, i)
		_, err := i.Erase(t.Context())
		require.ErrorIs(t, err, ErrServed)
		assert.ErrorContains(t, err, "{"+k.namespace+"} was not erased: workers are registered")
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
	lost, err := NewInspector("redis://127.0.0.1:1")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, lost.Close()) })
	pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: "nonsense"})
	for name, row := range map[string]struct {
		inspector *Inspector
		want      string
	}{
		"nobody there": {lost, "cannot connect to Redis at 127.0.0.1:1"},
		"a wrong DSN":  {pool.Inspector(), "nonsense"},
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
		i := inspect(t, s, k.namespace)
		before, err := i.ServerCPU(t.Context())
		require.NoError(t, err)
		if s.Embedded() != nil {
			assert.Zero(t, before)
			return
		}
		require.Positive(t, before)
		_, err = k.enq.Enqueue(t.Context(), "a", strings.Repeat("x", 100_000))
		require.NoError(t, err)
		after, err := i.ServerCPU(t.Context())
		require.NoError(t, err)
		assert.GreaterOrEqual(t, after, before)
	})
}
