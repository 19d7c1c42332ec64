package goredis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/redistest/topology"
	"github.com/265d0351/work/internal/resize"
)

// halves is a namespace of two partitions, each on a primary of its own. The first has a replica, the second has none.
type halves struct {
	t         *testing.T
	cluster   *topology.Cluster
	namespace string
	m         *partition.Map
	without   *topology.Server // the primary of the second
}

func startHalves(t *testing.T) *halves {
	t.Helper()
	h := &halves{t: t, cluster: topology.StartCluster(t, topology.ClusterOptions{Primaries: 2}),
		namespace: redistest.Namespace(t)}
	primaries := h.cluster.Primaries()
	for i, s := range primaries {
		slot := topology.Slot("{" + partition.Namespace(h.namespace, i) + "}")
		if h.cluster.Owner(slot) != s {
			h.cluster.MoveSlots(s, slot)
		}
	}
	h.cluster.AddReplica(primaries[0])
	h.without = primaries[1]
	driver, err := redisconn.Open(h.cluster.DSN())
	require.NoError(t, err)
	defer driver.Close() //lint:ignore errcheck the end of its use
	directory := partition.NewDirectory(driver, h.namespace)
	require.NoError(t, resize.To(t.Context(), directory, 2, nil))
	h.m = directory.Map()
	return h
}

// entries are so many jobs that live in a partition.
func (h *halves) entries(at, many int) (entries []work.Entry) {
	for n := 0; len(entries) < many; n++ {
		id := fmt.Sprintf("job-%d", n)
		if h.m.Home(partition.Job{Name: "load", Given: id}).Partition == at {
			entries = append(entries, work.Entry{Name: "load", Options: []work.EnqueueOption{work.ID(id)}})
		}
	}
	return entries
}

func (h *halves) enqueuer() *work.Enqueuer {
	h.t.Helper()
	enq, err := work.NewEnqueuer(h.cluster.DSN(), work.Namespace(h.namespace), work.WithLogger(pooltest.Silent()))
	require.NoError(h.t, err)
	h.t.Cleanup(func() { assert.NoError(h.t, enq.Close()) })
	return enq
}

// pool runs jobs named load, and tells which. Its outcomes are for one replica.
func (h *halves) pool(spy *pooltest.Spy, wait time.Duration, ran *sync.Map) *work.WorkerPool {
	h.t.Helper()
	pool := work.NewWorkerPool(nil, 4, work.WorkerOptions{Redis: h.cluster.DSN(), Namespace: h.namespace,
		Logger: pooltest.Silent(), Observers: []work.Observer{spy}, WaitReplicas: 1, WaitTimeout: wait}).
		Job("load", func(job *work.Job) error {
			if _, again := ran.LoadOrStore(job.ID, true); again {
				return work.Bury(fmt.Errorf("job %s ran twice", job.ID))
			}
			return nil
		})
	require.NoError(h.t, pool.Start(h.t.Context()))
	h.t.Cleanup(func() { assert.NoError(h.t, pool.Stop(context.Background())) })
	return pool
}

// settledIn is how many outcomes were told to be settled in a partition.
func settledIn(spy *pooltest.Spy, at int) (jobs int) {
	in := map[string]int{}
	events, _ := spy.All()
	for _, e := range events {
		switch e := e.(type) {
		case event.WorkerStarted:
			in[e.Worker] = e.Partition
		case event.JobsSettled:
			if in[e.Worker] == at {
				jobs += e.Jobs
			}
		}
	}
	return jobs
}

func awaitSettled(t *testing.T, spy *pooltest.Spy, at, jobs int) {
	t.Helper()
	require.Eventually(t, func() bool { return settledIn(spy, at) == jobs }, pooltest.Patience, 10*time.Millisecond,
		"settled in partition %d", at)
}

// TestReplicasArePartitionsOwn: what waits for a replica in one partition keeps nothing of another one, and what is
// told is about that one alone.
func TestReplicasArePartitionsOwn(t *testing.T) {
	t.Parallel()
	h := startHalves(t)
	const many = 6
	t.Run("enqueue", func(t *testing.T) {
		safe := h.enqueuer().With(work.WaitReplicas(1, 300*time.Millisecond))
		_, err := safe.EnqueueMany(t.Context(), h.entries(0, many))
		require.NoError(t, err)
		receipts, err := safe.EnqueueMany(t.Context(), append(h.entries(1, 1), h.entries(0, many+1)[many:]...))
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0, 1}, failed.Stored)
		assert.Empty(t, failed.Unknown)
		var few *work.ReplicasError
		require.ErrorAs(t, err, &few)
		assert.Equal(t, 0, few.Confirmed)
		var where *work.PartitionError
		require.ErrorAs(t, err, &where)
		assert.Equal(t, 1, where.Partition)
		assert.NotEmpty(t, receipts[0].ID)
	})
	t.Run("outcomes", func(t *testing.T) {
		var ran sync.Map
		spy := pooltest.NewSpy()
		_, err := h.enqueuer().EnqueueMany(t.Context(), h.entries(1, many)[1:])
		require.NoError(t, err)
		pool := h.pool(spy, time.Minute, &ran)
		awaitSettled(t, spy, 0, many+1)
		assert.Zero(t, settledIn(spy, 1), "no replica has them")
		h.cluster.AddReplica(h.without)
		awaitSettled(t, spy, 1, many)
		require.NoError(t, pool.Drain(t.Context()))
		assert.Zero(t, pooltest.Count[event.JobBuried](spy))
		assert.Zero(t, pooltest.Count[event.Trouble](spy))
	})
}

// TestOutcomesOfAPartitionWithoutReplicas count in the end, and are trouble that names the partition, until it has one.
func TestOutcomesOfAPartitionWithoutReplicas(t *testing.T) {
	t.Parallel()
	h := startHalves(t)
	var ran sync.Map
	spy := pooltest.NewSpy()
	enq := h.enqueuer()
	_, err := enq.EnqueueMany(t.Context(), append(h.entries(0, 5), h.entries(1, 5)...))
	require.NoError(t, err)
	pool := h.pool(spy, 50*time.Millisecond, &ran)
	trouble := pooltest.Await[event.Trouble](t, spy, nil)
	var few *work.ReplicasError
	require.ErrorAs(t, trouble.Err, &few)
	assert.Equal(t, work.ReplicasError{Wanted: 1}, *few)
	assert.ErrorContains(t, trouble.Err, "partition 1")
	awaitSettled(t, spy, 1, 5)
	awaitSettled(t, spy, 0, 5)
	assert.Equal(t, 1, pooltest.Count[event.Trouble](spy), "told once")
	h.cluster.AddReplica(h.without)
	enough := time.Now().Add(pooltest.Patience)
	over := func() bool { return pooltest.Count[event.TroubleOver](spy) > 0 }
	for jobs := 6; !over(); jobs++ { // a busy replica may be late for the first ones
		_, err = enq.EnqueueMany(t.Context(), h.entries(1, jobs)[jobs-1:])
		require.NoError(t, err)
		awaitSettled(t, spy, 1, jobs)
		require.True(t, time.Now().Before(enough), "it is never over")
	}
	assert.Equal(t, trouble.Component, pooltest.Seen[event.TroubleOver](spy)[0].Component)
	require.NoError(t, pool.Drain(t.Context()))
	assert.Zero(t, pooltest.Count[event.JobBuried](spy))
}
