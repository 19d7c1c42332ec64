package work

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

		lost := await[DataLost](t, k.spy, nil)
		assert.Equal(t, DataLost{Worker: worker, Held: 1, Restored: 1}, lost)
		assert.Equal(t, record, k.do("HGET", "jobs", id), "byte for byte")
		assert.Equal(t, 1, k.number("LLEN", "worker:"+worker+":inprocess:long"))
		close(release)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Zero(t, count[ClaimGone](k.spy), "its outcome counts")
		k.empty("long")
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
		await[DataLost](t, k.spy, nil)
		close(release)
		assert.True(t, await[ClaimGone](t, k.spy, nil).Unaccounted)
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
		assert.Equal(t, DataLost{Worker: worker, Held: 1}, await[DataLost](t, k.spy, nil))
		assert.Equal(t, 1, k.number("LLEN", "worker:"+worker+":inprocess:long"))
		close(release)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Zero(t, count[ClaimGone](k.spy))
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
		assert.Error(t, await[DataLost](t, k.spy, nil).Err)
		k.do("UNLINK", "trail")
		await(t, k.spy, func(e TroubleOver) bool { return e.Component == "restorer" })
		close(release)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Zero(t, count[ClaimGone](k.spy))
		k.empty("long")
	})
}
