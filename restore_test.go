package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// forget empties what Redis knows of the namespace and of a worker, at once, as if it had restarted without its data.
func (k *kit) forget(worker, queue string) {
	k.t.Helper()
	var keys []any
	for _, key := range []string{
		"trail", "queues", "claimed", "workers", "epoch", "crashes", "lease", "lanes", "names", "scheduled", "retry",
		"worker:" + worker + ":info", "worker:" + worker + ":inprocess:" + queue,
	} {
		keys = append(keys, "{"+k.namespace+"}:"+key)
	}
	k.do("UNLINK", "jobs", keys...)
}

func TestRunningJobsAreRestoredAfterALossOfData(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, release := make(chan string, 2), make(chan struct{})
		options := k.options()
		options.RestoreRunning = true
		pool := k.start(NewWorkerPool(nil, 2, options).Job("long", func(job *Job) error {
			begun <- job.ID
			<-release
			return nil
		}))
		id := k.enqueue("long").ID
		receive(t, begun)
		record := k.do("HGET", "jobs", id)
		worker := pool.workers[0].claimant().rdb.ID
		k.forget(worker, "long")

		lost := await[event.DataLost](t, k.spy, nil)
		assert.Equal(t, event.DataLost{Worker: worker, Held: 1, Restored: 1}, lost)
		assert.Equal(t, record, k.do("HGET", "jobs", id), "byte for byte")
		assert.Equal(t, 1, k.number("LLEN", "worker:"+worker+":inprocess:long"))
		close(release)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Zero(t, count[event.ClaimGone](k.spy), "its outcome counts")
		k.empty("long")
	})
}

// A job that is stored again owns its lock again, and takes its place under the limit of its name.
func TestWhatIsRestoredIsStillUniqueAndLimited(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := newGauge()
		options := k.options()
		options.RestoreRunning = true
		pool := k.start(NewWorkerPool(nil, 4, options).
			JobWithOptions("export", JobOptions{Limit: Limit{Concurrent: 1}}, func() error { return g.handle() }))
		t.Cleanup(g.release)
		unique := Entry{Name: "export", Options: []EnqueueOption{Unique(UniqueOptions{Key: "k"})}}
		require.False(t, k.duplicate(unique))
		g.began(t, 1)
		worker := pool.workers[0].claimant().rdb.ID
		k.do("UNLINK", "limits", "{"+k.namespace+"}:unique", "{"+k.namespace+"}:running:export")
		k.forget(worker, "export")
		assert.Equal(t, 1, await[event.DataLost](t, k.spy, nil).Restored)

		assert.True(t, k.duplicate(unique), "its lock is back")
		require.Eventually(t, func() bool {
			return k.number("HLEN", "limits") == 1 &&
				k.number("SCARD", "running:export") == 1
		},
			patience, time.Millisecond, "its limit is declared again, and counts it")
		k.enqueue("export")
		g.pass(t, 1)
		g.began(t, 1)
		g.pass(t, 1)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.EqualValues(t, 1, g.most.Load())
		assert.False(t, k.duplicate(unique))
		g.began(t, 1)
	})
}

func TestWithoutRestoreAnOutcomeAfterALossOfDataIsUnaccounted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, release := make(chan string, 2), make(chan struct{})
		pool := k.start(NewWorkerPool(nil, 2, k.options()).Job("long", func(job *Job) error {
			begun <- job.ID
			<-release
			return nil
		}))
		k.enqueue("long")
		receive(t, begun)
		worker := pool.workers[0].claimant().rdb.ID
		k.forget(worker, "long")
		await[event.DataLost](t, k.spy, nil)
		close(release)
		assert.True(t, await[event.ClaimGone](t, k.spy, nil).Unaccounted)
	})
}

// TestWhatRedisStillKnowsIsNotRestored: it seems to have lost its data, and has lost only the sign of it.
func TestWhatRedisStillKnowsIsNotRestored(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, release := make(chan string, 2), make(chan struct{})
		options := k.options()
		options.RestoreRunning = true
		pool := k.start(NewWorkerPool(nil, 2, options).Job("long", func(job *Job) error {
			begun <- job.ID
			<-release
			return nil
		}))
		k.enqueue("long")
		receive(t, begun)
		worker := pool.workers[0].claimant().rdb.ID
		k.do("SET", "epoch", "another")
		assert.Equal(t, event.DataLost{Worker: worker, Held: 1}, await[event.DataLost](t, k.spy, nil))
		assert.Equal(t, 1, k.number("LLEN", "worker:"+worker+":inprocess:long"))
		close(release)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Zero(t, count[event.ClaimGone](k.spy))
		assert.Empty(t, begun, "it ran once")
		k.empty("long")
	})
}

func TestARestoreThatIsRefusedIsTriedAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, release := make(chan string, 2), make(chan struct{})
		options := k.options()
		options.RestoreRunning = true
		pool := k.start(NewWorkerPool(nil, 2, options).Job("long", func(job *Job) error {
			begun <- job.ID
			<-release
			return nil
		}))
		k.enqueue("long")
		receive(t, begun)
		k.forget(pool.workers[0].claimant().rdb.ID, "long")
		k.do("SET", "trail", "something else")
		assert.Error(t, await[event.DataLost](t, k.spy, nil).Err)
		k.do("UNLINK", "trail")
		await(t, k.spy, func(e event.TroubleOver) bool { return e.Component == "restorer" })
		close(release)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Zero(t, count[event.ClaimGone](k.spy))
		k.empty("long")
	})
}
