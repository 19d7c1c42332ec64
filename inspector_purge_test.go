package work

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func TestAPurgeLeavesNothingOfWhatWaited(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		k.enqueueNumbers("n", 0, 700)
		k.store("n", "locked", `{"jid":"locked","name":"n","args":[],"t":1,"lock":"digest","lock_kind":"f"}`)
		k.do("HSET", "unique", "digest", "locked 0 f")
		k.store("n", "logged", `{"jid":"logged","name":"n","args":[],"t":1}`)
		k.do("HSET", "trail", "logged", `{"log":true}`)
		k.do("RPUSH", "log:logged", "a line")
		k.store("n", "awaited", `{"jid":"awaited","name":"n","args":[],"t":1}`)
		k.do("HSET", "waited", "awaited", time.Now().Add(time.Hour).UnixMilli())
		k.store("n", "broken", `{`)
		k.do("LPUSH", "queue:n", "without a record")
		later := k.later("n", time.Hour)
		k.enqueueNumbers("m", 0, 3)
		var steps []int
		removed, err := i.Purge(k.ctx(), "n", PurgeOptions{Progress: func(n int) { steps = append(steps, n) }})
		require.NoError(t, err)
		assert.Equal(t, 704, removed, "all that had a record")
		assert.Greater(t, len(steps), 2)
		assert.IsIncreasing(t, steps)
		assert.Equal(t, removed, steps[len(steps)-1])
		for _, key := range []string{"queue:n", "wake:n", "log:logged", "unique", "waited", "trail"} {
			assert.Zero(t, k.number("EXISTS", key), key)
		}
		assert.Equal(t, []string{"m"}, k.strings("SMEMBERS", "ready"))
		assert.Equal(t, 4, k.number("HLEN", "jobs"), "those of another name, and what is scheduled")
		k.due("scheduled", later.ID)
		assert.Contains(t, k.text("HGET", "outcomes", "awaited"), `"deleted"`, "who waits learns of it")
		diagnosis, err := i.Doctor(k.ctx(), DoctorOptions{})
		require.NoError(t, err)
		for _, finding := range diagnosis.Findings {
			assert.Equal(t, CheckUnserved, finding.Check, "%+v", finding)
		}

		removed, err = i.Purge(k.ctx(), "n", PurgeOptions{})
		require.NoError(t, err)
		assert.Zero(t, removed, "nothing waits")
	})
}

func TestAPurgeEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueueNumbers("n", 0, 100)
		ctx, cancel := context.WithCancel(k.ctx())
		removed, err := k.inspector().Purge(ctx, "n", PurgeOptions{Progress: func(int) { cancel() }})
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, removed, 100-k.number("LLEN", "queue:n"))
		assert.Equal(t, removed, 100-k.number("HLEN", "jobs"))
		assert.Positive(t, removed)
	})
}

// Workers take from the very place that a purge empties. Each job is either run or purged, and never both.
func TestAPurgeBesideWorkers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := newGauge()
		g.release()
		i, removed := k.inspector(), 0
		k.enqueueNumbers("n", 0, 400)
		pool := k.start(NewWorkerPool(nil, 3, k.options()).
			JobWithOptions("n", JobOptions{Limit: Limit{Concurrent: 2}}, func(int) error { return g.handle() }))
		for round := range 10 {
			n, err := i.Purge(k.ctx(), "n", PurgeOptions{})
			require.NoError(t, err)
			removed += n
			k.enqueueNumbers("n", 0, 20*round)
		}
		require.NoError(t, pool.Drain(k.ctx()))
		assert.EqualValues(t, 400+20*45, int(g.done.Load())+removed)
		assert.LessOrEqual(t, g.most.Load(), int64(2))
		k.empty("n")
		assert.Zero(t, k.number("SCARD", "running:n"))
	})
}
