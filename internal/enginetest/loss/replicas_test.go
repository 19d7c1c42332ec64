package loss_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// pair is a primary with a replica, and what leads programs to one of them.
type pair struct {
	t                *testing.T
	primary, replica *redistest.Process
	lead             *redistest.Proxy
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, primary: redistest.Dedicated(t)}
	host, port, err := net.SplitHostPort(p.primary.Addr())
	require.NoError(t, err)
	p.replica = redistest.Dedicated(t, "--replicaof", host, port)
	awaitReplica(t, p.replica.Addr())
	p.lead = redistest.NewProxy(t, p.primary.Addr())
	return p
}

func do(t *testing.T, at *redistest.Process, command string, args ...any) any {
	t.Helper()
	conn, err := redis.Dial("tcp", at.Addr())
	require.NoError(t, err)
	defer conn.Close()
	value, err := conn.Do(command, args...)
	require.NoError(t, err)
	return value
}

// catchUp waits until the replica has all that the primary has executed.
func (p *pair) catchUp() {
	p.t.Helper()
	conn, err := redis.Dial("tcp", p.primary.Addr())
	require.NoError(p.t, err)
	defer conn.Close()
	_, err = conn.Do("SET", "mark", time.Now().String())
	require.NoError(p.t, err)
	confirmed, err := redis.Int(redis.DoWithTimeout(conn, time.Minute, "WAIT", 1, 50_000))
	require.NoError(p.t, err)
	require.Equal(p.t, 1, confirmed)
}

// part lets the replica get nothing more: it is what a failover will promote.
func (p *pair) part() {
	p.t.Helper()
	p.catchUp()
	do(p.t, p.replica, "REPLICAOF", "NO", "ONE")
}

// failOver leads everybody to the former replica.
func (p *pair) failOver() {
	p.lead.Redirect(p.replica.Addr())
	p.lead.Cut()
}

// waits returns when somebody waits for replicas at the primary, blocked: a call whose answer is still on its way would
// be made again after a failover, and be stored then.
func (p *pair) waits() {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		clients, _ := redis.String(do(p.t, p.primary, "CLIENT", "LIST"), nil)
		for client := range strings.Lines(clients) {
			if strings.Contains(client, " cmd=wait ") && strings.Contains(client, " flags=b ") {
				return true
			}
		}
		return false
	}, pooltest.Patience, time.Millisecond)
}

func (p *pair) stored(namespace string, jobs int) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		return do(p.t, p.primary, "HLEN", "{"+namespace+"}:jobs") == int64(jobs)
	}, pooltest.Patience, time.Millisecond)
}

// What was acknowledged and is not there any more is told, by name, with the next call.
func TestAnEnqueuerTellsWhatAFailoverLostRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		p, spy := newPair(t), pooltest.NewSpy()
		enq, err := work.NewEnqueuer(p.lead.DSN(), work.WithObserver(spy), work.WithLogger(pooltest.Silent()))
		require.NoError(t, err)
		defer enq.Close()
		enqueue := func(id string) {
			_, err := enq.With(work.ID(id)).Enqueue(t.Context(), "a")
			require.NoError(t, err)
		}
		enqueue("kept")
		p.part()
		enqueue("lost 1")
		_, err = enq.EnqueueMany(t.Context(), []work.Entry{
			{Name: "a", Options: []work.EnqueueOption{work.ID("lost 2")}},
			{Name: "b", Options: []work.EnqueueOption{work.ID("lost 3")}}})
		require.NoError(t, err)
		p.failOver()
		enqueue("after")
		lost := pooltest.Await[event.DataLost](t, spy, nil)
		assert.Equal(t, event.DataLost{Failover: true, Enqueued: []string{"lost 1", "lost 2", "lost 3"}}, lost)
		enqueue("lost 1")
		assert.Equal(t, int64(3), do(t, p.replica, "HLEN", "{work}:jobs"), "it is stored again by who wants that")
		assert.Equal(t, 1, pooltest.Count[event.DataLost](spy), "told once")
	})
}

// A failover between the answer to an enqueue and the confirmation of replicas: the job is gone; its caller is told.
func TestAFailoverWhileReplicasAreWaitedForRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		enq, err := work.NewEnqueuer(p.lead.DSN(), work.WithLogger(pooltest.Silent()))
		require.NoError(t, err)
		defer enq.Close()
		safe := enq.With(work.WaitReplicas(1, 30*time.Second))
		_, err = safe.Enqueue(t.Context(), "a")
		require.NoError(t, err)
		p.part()
		ended := make(chan error, 1)
		go func() {
			_, err := safe.Enqueue(t.Context(), "a")
			ended <- err
		}()
		p.stored("work", 2)
		p.waits()
		p.failOver()
		err = pooltest.Receive(t, ended)
		require.ErrorIs(t, err, work.ErrLostInFailover)
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0}, failed.Unknown)
		assert.NotContains(t, err.Error(), "a reply was lost")
	})
}

// An outcome that a failover has lost is sent again, where its job would run again.
func TestAnOutcomeThatAFailoverLostIsSentAgainRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		p, spy := newPair(t), pooltest.NewSpy()
		begun, release := make(chan string, 10), make(chan struct{})
		var ran atomic.Int64
		pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: p.lead.DSN(), Logger: pooltest.Silent(),
			Observers: []work.Observer{spy}, WaitReplicas: 1, WaitTimeout: 30 * time.Second})
		pool.Job("long", func(job *work.Job) error {
			ran.Add(1)
			begun <- job.ID
			<-release
			return nil
		})
		require.NoError(t, pool.Start(t.Context()))
		defer func() { assert.NoError(t, pool.Stop(t.Context())) }()
		_, err := pool.Enqueuer().Enqueue(t.Context(), "long")
		require.NoError(t, err)
		pooltest.Receive(t, begun)
		p.part()
		close(release)
		p.stored("work", 0)
		p.waits()
		assert.Zero(t, pooltest.Count[event.JobsSettled](spy), "no replica has it")
		assert.Equal(t, int64(1), do(t, p.replica, "HLEN", "{work}:jobs"))
		p.failOver()
		// the promoted one has no replicas: the outcome waits for them until a replica is there
		require.Eventually(t, func() bool { return do(t, p.replica, "HLEN", "{work}:jobs") == int64(0) },
			pooltest.Patience, 10*time.Millisecond)
		host, port, err := net.SplitHostPort(p.replica.Addr())
		require.NoError(t, err)
		do(t, p.primary, "REPLICAOF", host, port)
		pooltest.Await[event.JobsSettled](t, spy, nil)
		require.NoError(t, pool.Drain(t.Context()))
		assert.Equal(t, int64(1), ran.Load())
		assert.Zero(t, pooltest.Count[event.ClaimGone](spy))
	})
}

// Replicas that do not confirm in time are trouble, which is told once, and hold nothing up for ever.
func TestOutcomesWithoutReplicasCountInTheEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.WaitReplicas, options.WaitTimeout = 1, 20*time.Millisecond
		pool := k.Start(work.NewWorkerPool(nil, 2, options).Job("a", func() error { return nil }))
		for range 20 {
			k.Enqueue("a")
		}
		trouble := pooltest.Await(t, k.Spy, func(e event.Trouble) bool { return e.Component == "settler, replicas" })
		var few *work.ReplicasError
		require.ErrorAs(t, trouble.Err, &few)
		assert.Equal(t, 0, few.Confirmed)
		require.NoError(t, pool.Drain(k.Ctx()))
		k.Empty("a")
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
	})
}
