package webui

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// With one of three partitions down each page shows what the others say, and what is missing.
func TestPagesShowTheRestWhileAPartitionIsDown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueue("mail-0", "mail", 1)
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { _ = driver.Close() })
		partitiontest.WriteMap(t, driver, k.namespace, partitiontest.Divided(1, 3))
		outages := partitiontest.NewOutages(driver, k.namespace)
		i, err := inspect.New("", work.WithConnection(pooltest.Connection{Of: outages}), work.Namespace(k.namespace))
		require.NoError(t, err)
		t.Cleanup(func() { _ = i.Close() })
		k.handler = Handler(i, k.options)
		const missing = "nly 2 of 3 partitions have answered"
		pages := []string{"", "queues", "queue?name=mail", "keys?name=mail", "jobs?state=queued&name=mail",
			"jobs?state=dead", "errors",
			"workers", "schedules", "history", "redis", "nodes", "partitions", "keys"}
		for _, page := range pages {
			got := k.get(page)
			require.Equal(t, 200, got.StatusCode, "/%s", page)
			assert.NotContains(t, got.Text, missing, "/%s", page)
		}
		assert.Contains(t, k.get("").Text, "<h2>Partitions</h2>")
		got := k.get("api/counts")
		require.Equal(t, 200, got.StatusCode, got.Text)
		assert.Empty(t, got.Header.Get("Work-Missing-Partitions"))

		outages.Set(1, partitiontest.Down)
		k.handler = Handler(i, k.options) // one that has read nothing yet
		for _, page := range pages {
			got := k.get(page)
			require.Equal(t, 200, got.StatusCode, "/%s: %s", page, got.Text)
			assert.Contains(t, got.Text, missing, "/%s", page)
		}
		assert.Contains(t, k.get("").Text, "unreachable")
		assert.Contains(t, k.get("jobs?state=queued&name=mail").Text, "mail-0")
		assert.Equal(t, 200, k.get("job?id=mail-0").StatusCode)
		assert.Equal(t, 502, k.get("job?id=nobody").StatusCode, "nobody knows whether there is one")
		got = k.get("api/counts")
		require.Equal(t, 200, got.StatusCode, got.Text)
		assert.Equal(t, "[1]", got.Header.Get("Work-Missing-Partitions"))
	})
}

// A pool has a worker in each partition, and one set of processors.
func TestProcessorsOfSeveralPartitionsAreCountedOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { _ = driver.Close() })
		partitiontest.WriteMap(t, driver, k.namespace, partitiontest.Divided(1, 3))
		pool := work.NewWorkerPool(nil, 10, work.WorkerOptions{Redis: s.DSN(), Namespace: k.namespace})
		require.NoError(t, pool.Job("mail", pooltest.Nothing).Start(t.Context()))
		i := inspect.Of(pool)
		k.handler = Handler(i, k.options)
		assert.Contains(t, k.get("api/workers").Text, `"processors":{"busy":0,"total":10}`)
		assert.Contains(t, k.get("workers").Text, "0 of 10 processors hold a job.")
		require.NoError(t, pool.Stop(t.Context()))
	})
}
