package inspect_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestAPurgeLeavesNothingOfWhatWaited(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		k.EnqueueNumbers("n", 0, 700)
		k.Store("n", "locked", `{"jid":"locked","name":"n","args":[],"t":1,"lock":"digest","lock_kind":"f"}`)
		k.Do("HSET", "unique", "digest", "locked 0 f")
		k.Store("n", "logged", `{"jid":"logged","name":"n","args":[],"t":1}`)
		k.Do("HSET", "trail", "logged", `{"log":true}`)
		k.Do("RPUSH", "log:logged", "a line")
		k.Store("n", "awaited", `{"jid":"awaited","name":"n","args":[],"t":1}`)
		k.Do("HSET", "waited", "awaited", time.Now().Add(time.Hour).UnixMilli())
		k.Store("n", "broken", `{`)
		k.Do("LPUSH", "queue:n", "without a record")
		later := k.Later("n", time.Hour)
		k.EnqueueNumbers("m", 0, 3)
		var steps []int
		removed, err := i.Purge(k.Ctx(), "n", inspect.PurgeOptions{Progress: func(n int) { steps = append(steps, n) }})
		require.NoError(t, err)
		assert.Equal(t, 704, removed, "all that had a record")
		assert.Greater(t, len(steps), 2)
		assert.IsIncreasing(t, steps)
		assert.Equal(t, removed, steps[len(steps)-1])
		for _, key := range []string{"queue:n", "wake:n", "log:logged", "unique", "waited", "trail"} {
			assert.Zero(t, k.Number("EXISTS", key), key)
		}
		assert.Equal(t, []string{"m"}, k.Strings("SMEMBERS", "ready"))
		assert.Equal(t, 4, k.Number("HLEN", "jobs"), "those of another name, and what is scheduled")
		k.Due("scheduled", later.ID)
		assert.Contains(t, k.Text("HGET", "outcomes", "awaited"), `"deleted"`, "who waits learns of it")
		diagnosis, err := doctor.Examine(k.Ctx(), i, doctor.Options{})
		require.NoError(t, err)
		for _, finding := range diagnosis.Findings {
			assert.Equal(t, doctor.CheckUnserved, finding.Check, "%+v", finding)
		}

		removed, err = i.Purge(k.Ctx(), "n", inspect.PurgeOptions{})
		require.NoError(t, err)
		assert.Zero(t, removed, "nothing waits")
	})
}

func TestAPurgeEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("n", 0, 100)
		ctx, cancel := context.WithCancel(k.Ctx())
		removed, err := k.inspector().Purge(ctx, "n", inspect.PurgeOptions{Progress: func(int) { cancel() }})
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, removed, 100-k.Number("LLEN", "queue:n"))
		assert.Equal(t, removed, 100-k.Number("HLEN", "jobs"))
		assert.Positive(t, removed)
	})
}

// Workers take from the very place that a purge empties. Each job is either run or purged, and never both.
func TestAPurgeBesideWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		g.Release()
		i, removed := k.inspector(), 0
		k.EnqueueNumbers("n", 0, 400)
		pool := k.Start(work.NewWorkerPool(nil, 3, k.Options()).
			JobWithOptions("n", work.JobOptions{Limit: work.Limit{Concurrent: 2}},
				func(int) error { return g.Handle() }))
		for round := range 10 {
			n, err := i.Purge(k.Ctx(), "n", inspect.PurgeOptions{})
			require.NoError(t, err)
			removed += n
			k.EnqueueNumbers("n", 0, 20*round)
		}
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.EqualValues(t, 400+20*45, int(g.Done.Load())+removed)
		assert.LessOrEqual(t, g.Most.Load(), int64(2))
		k.Empty("n")
		assert.Zero(t, k.Number("SCARD", "running:n"))
	})
}
