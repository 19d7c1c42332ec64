package loss_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// forget empties what Redis knows of the namespace and of a worker, at once, as if it had restarted without its data.
func (k *kit) forget(worker, queue string) {
	k.T.Helper()
	k.Unlink(append(keysOf(worker, queue), "trail")...)
}

// keysOf are those that forget takes away, but for the trail.
func keysOf(worker, queue string) []string {
	return []string{"jobs", "queues", "claimed", "workers", "epoch", "crashes", "lease", "lanes", "names", "scheduled",
		"retry", "worker:" + worker + ":info", "worker:" + worker + ":inprocess:" + queue}
}

func TestRunningJobsAreRestoredAfterALossOfData(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, release := make(chan string, 2), make(chan struct{})
		options := k.Options()
		options.RestoreRunning = true
		pool := k.Start(work.NewWorkerPool(nil, 2, options).Job("long", func(job *work.Job) error {
			begun <- job.ID
			<-release
			return nil
		}))
		id := k.Enqueue("long").ID
		pooltest.Receive(t, begun)
		record := k.Do("HGET", "jobs", id)
		worker := pooltest.WorkerID(pool)
		k.forget(worker, "long")

		lost := pooltest.Await[event.DataLost](t, k.Spy, nil)
		assert.Equal(t, event.DataLost{Worker: worker, Held: 1, Restored: 1}, lost)
		assert.Equal(t, record, k.Do("HGET", "jobs", id), "byte for byte")
		assert.Equal(t, 1, k.Number("LLEN", "worker:"+worker+":inprocess:long"))
		close(release)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy), "its outcome counts")
		k.Empty("long")
	})
}

// A job that is stored again owns its lock again, and takes its place under the limit of its name.
func TestWhatIsRestoredIsStillUniqueAndLimited(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		options := k.Options()
		options.RestoreRunning = true
		pool := k.Start(work.NewWorkerPool(nil, 4, options).
			JobWithOptions("export", work.JobOptions{Limit: work.Limit{Concurrent: 1}},
				func() error { return g.Handle() }))
		t.Cleanup(g.Release)
		unique := work.Entry{Name: "export", Options: []work.EnqueueOption{work.Unique(work.UniqueOptions{Key: "k"})}}
		require.False(t, k.Duplicate(unique))
		g.Began(t, 1)
		worker := pooltest.WorkerID(pool)
		k.Unlink(append(keysOf(worker, "export"), "trail", "limits", "unique", "running:export")...)
		assert.Equal(t, 1, pooltest.Await[event.DataLost](t, k.Spy, nil).Restored)

		assert.True(t, k.Duplicate(unique), "its lock is back")
		require.Eventually(t, func() bool {
			return k.Number("HLEN", "limits") == 1 &&
				k.Number("SCARD", "running:export") == 1
		},
			pooltest.Patience, time.Millisecond, "its limit is declared again, and counts it")
		k.Enqueue("export")
		g.Pass(t, 1)
		g.Began(t, 1)
		g.Pass(t, 1)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.EqualValues(t, 1, g.Most.Load())
		assert.False(t, k.Duplicate(unique))
		g.Began(t, 1)
	})
}

func TestWithoutRestoreAnOutcomeAfterALossOfDataIsUnaccounted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, release := make(chan string, 2), make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("long", func(job *work.Job) error {
			begun <- job.ID
			<-release
			return nil
		}))
		k.Enqueue("long")
		pooltest.Receive(t, begun)
		worker := pooltest.WorkerID(pool)
		k.forget(worker, "long")
		pooltest.Await[event.DataLost](t, k.Spy, nil)
		close(release)
		assert.True(t, pooltest.Await[event.ClaimGone](t, k.Spy, nil).Unaccounted)
	})
}

// TestWhatRedisStillKnowsIsNotRestored: it seems to have lost its data, and has lost only the sign of it.
func TestWhatRedisStillKnowsIsNotRestored(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, release := make(chan string, 2), make(chan struct{})
		options := k.Options()
		options.RestoreRunning = true
		pool := k.Start(work.NewWorkerPool(nil, 2, options).Job("long", func(job *work.Job) error {
			begun <- job.ID
			<-release
			return nil
		}))
		k.Enqueue("long")
		pooltest.Receive(t, begun)
		worker := pooltest.WorkerID(pool)
		k.Do("SET", "epoch", "another")
		assert.Equal(t, event.DataLost{Worker: worker, Held: 1}, pooltest.Await[event.DataLost](t, k.Spy, nil))
		assert.Equal(t, 1, k.Number("LLEN", "worker:"+worker+":inprocess:long"))
		close(release)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
		assert.Empty(t, begun, "it ran once")
		k.Empty("long")
	})
}

func TestARestoreThatIsRefusedIsTriedAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, release := make(chan string, 2), make(chan struct{})
		options := k.Options()
		options.RestoreRunning = true
		pool := k.Start(work.NewWorkerPool(nil, 2, options).Job("long", func(job *work.Job) error {
			begun <- job.ID
			<-release
			return nil
		}))
		k.Enqueue("long")
		pooltest.Receive(t, begun)
		k.Do("SET", "trail", "something else") // only who restores needs it until the job ends
		k.Unlink(keysOf(pooltest.WorkerID(pool), "long")...)
		assert.Error(t, pooltest.Await[event.DataLost](t, k.Spy, nil).Err)
		k.Do("UNLINK", "trail")
		pooltest.Await(t, k.Spy, func(e event.TroubleOver) bool { return e.Component == "restorer" })
		close(release)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
		k.Empty("long")
	})
}

// backup keeps all keys of the namespace; the function that it returns puts them back, and nothing else.
func (k *kit) backup() (restore func()) {
	k.T.Helper()
	conn, err := redis.Dial("tcp", k.Server.Addr())
	require.NoError(k.T, err)
	keys, err := redis.Strings(conn.Do("KEYS", "{"+k.Namespace+"}:*"))
	require.NoError(k.T, err)
	dumps, ttls := map[string]any{}, map[string]int{}
	for _, key := range keys {
		dumps[key], err = conn.Do("DUMP", key)
		require.NoError(k.T, err)
		ttl, err := redis.Int(conn.Do("PTTL", key))
		require.NoError(k.T, err)
		ttls[key] = max(0, ttl)
	}
	return func() {
		defer conn.Close()
		present, err := redis.Strings(conn.Do("KEYS", "{"+k.Namespace+"}:*"))
		require.NoError(k.T, err)
		require.NoError(k.T, conn.Send("MULTI"))
		for _, key := range present {
			require.NoError(k.T, conn.Send("UNLINK", key))
		}
		for key, dump := range dumps {
			require.NoError(k.T, conn.Send("RESTORE", key, ttls[key], dump))
		}
		_, err = conn.Do("EXEC")
		require.NoError(k.T, err)
	}
}

// TestARestoredBackupWedgesNothing: Redis goes back to a moment at which a job ran that has ended since. The worker
// finds that it does not hold what Redis thinks it holds, and gives it back; what ran once before the backup runs
// again.
func TestARestoredBackupWedgesNothing(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		k := newKit(t, redistest.Real(t))
		begun, release := make(chan string, 10), make(chan struct{}, 10)
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("step", func(job *work.Job) error {
			begun <- job.ID
			<-release
			return nil
		}))
		first := k.Enqueue("step").ID
		require.Equal(t, first, pooltest.Receive(t, begun))
		restore := k.backup()
		release <- struct{}{}
		require.NoError(t, pool.Drain(k.Ctx()))
		second := k.Enqueue("step").ID
		require.Equal(t, second, pooltest.Receive(t, begun))
		release <- struct{}{}
		require.NoError(t, pool.Drain(k.Ctx()))

		restore()
		third := k.Enqueue("step").ID
		again := []string{pooltest.Receive(t, begun), pooltest.Receive(t, begun)}
		assert.ElementsMatch(t, []string{first, third}, again)
		release <- struct{}{}
		release <- struct{}{}
		require.NoError(t, pool.Drain(k.Ctx()))
		k.Empty("step")
	})
}

func TestWaitReplicasRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		master := redistest.Dedicated(t)
		host, port, err := net.SplitHostPort(master.Addr())
		require.NoError(t, err)
		replica := redistest.Dedicated(t, "--replicaof", host, port)
		awaitReplica(t, replica.Addr())
		enq, err := work.NewEnqueuer(master.DSN())
		require.NoError(t, err)
		defer enq.Close()

		_, err = enq.With(work.WaitReplicas(1, time.Minute)).Enqueue(t.Context(), "safe")
		require.NoError(t, err)

		// time for the one there is
		receipt, err := enq.With(work.WaitReplicas(2, 3*time.Second)).Enqueue(t.Context(), "safe")
		var few *work.ReplicasError
		require.ErrorAs(t, err, &few)
		assert.Equal(t, work.ReplicasError{Wanted: 2, Confirmed: 1}, *few)
		var enqueued *work.EnqueueError
		require.ErrorAs(t, err, &enqueued)
		assert.Equal(t, []int{0}, enqueued.Stored)
		assert.NotEmpty(t, receipt.ID)
		assert.ErrorContains(t, err, `job "safe" is stored, but: 1 of 2 replicas have confirmed it in time`)

		require.NoError(t, replica.Pause())
		receipts, err := enq.EnqueueMany(t.Context(), []work.Entry{
			{Name: "any"}, {Name: "safe", Options: []work.EnqueueOption{work.WaitReplicas(1, 50*time.Millisecond)}},
		})
		require.ErrorAs(t, err, &enqueued)
		assert.Equal(t, []int{0, 1}, enqueued.Stored)
		assert.Len(t, receipts, 2)

		require.NoError(t, replica.Resume())
		_, err = enq.With(work.WaitReplicas(1, time.Minute)).Enqueue(t.Context(), "safe")
		require.NoError(t, err)
		conn, err := redis.Dial("tcp", master.Addr())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Do("SCRIPT", "FLUSH")
		require.NoError(t, err)
		require.NoError(t, replica.Pause()) // when it has all that there is
		_, err = enq.With(work.WaitReplicas(1, 50*time.Millisecond)).Enqueue(t.Context(), "safe")
		require.ErrorAs(t, err, &few, "a script that had to be sent in full is waited for as well")
		assert.Equal(t, work.ReplicasError{Wanted: 1, Confirmed: 0}, *few)
		require.NoError(t, replica.Resume())
	})
}

// awaitReplica waits until the replica has its master's data.
func awaitReplica(t *testing.T, addr string) {
	t.Helper()
	conn, err := redis.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.Eventually(t, func() bool {
		info, err := redis.String(conn.Do("INFO", "replication"))
		return err == nil && strings.Contains(info, "master_link_status:up")
	}, pooltest.Patience, 20*time.Millisecond)
}

func TestWaitReplicasOptions(t *testing.T) {
	t.Parallel()
	enq, err := work.NewEnqueuer("redis://127.0.0.1:1")
	require.NoError(t, err)
	t.Cleanup(func() { _ = enq.Close() })
	for name, option := range map[string]work.EnqueueOption{
		"no replicas":  work.WaitReplicas(0, time.Second),
		"no time":      work.WaitReplicas(1, 0),
		"too much":     work.WaitReplicas(1, time.Hour),
		"below zero":   work.WaitReplicas(-1, time.Second),
		"a past time?": work.WaitReplicas(1, -time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := enq.With(option).Enqueue(t.Context(), "safe")
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
		})
	}
}

func TestAServerThatMayEvictIsReportedAtStartRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		for policy, reported := range map[string]int{"allkeys-lru": 1, "noeviction": 0} {
			t.Run(policy, func(t *testing.T) {
				t.Parallel()
				server := redistest.Dedicated(t, "--maxmemory-policy", policy)
				spy := pooltest.NewSpy()
				pool := work.NewWorkerPool(nil, 1,
					work.WorkerOptions{Redis: server.DSN(), Observers: []work.Observer{spy},
						Logger: pooltest.Silent()}).
					Job("any", func() error { return nil })
				require.NoError(t, pool.Start(t.Context()))
				require.Equal(t, reported, pooltest.Count[event.ServerUnfit](spy))
				if reported == 1 {
					assert.Contains(t, pooltest.Await[event.ServerUnfit](t, spy, nil).Problem, policy)
				}
				require.NoError(t, pool.Stop(t.Context()))
			})
		}
	})
}

func TestTooOld(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{
		"5.0.0": true, "6.2.14": true, "6.99.9": true, "7.0.0": false, "7.0.15": false, "10.1": false, "": false,
		"unknown": false,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, old, rdb.ServerFacts{Version: version}.TooOld())
		})
	}
}
