package loss_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// In the tests of this file jobs that are taken together are lost.

// five takes that many jobs together, as long as that takes.
var five = work.JobOptions{Together: work.Together{Most: 5, Wait: time.Hour}}

// batches is a handler of batches that waits with each of them.
type batches struct {
	began chan []int
	leave chan struct{}
}

func newBatches() batches { return batches{make(chan []int, 100), make(chan struct{}, 100)} }

func (b batches) handle(ctx context.Context, batch work.Batch[int]) error {
	b.began <- batch.Args()
	select {
	case <-b.leave:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// numbered are the numbers of this range.
func numbered(from, to int) (all []int) {
	for n := from; n < to; n++ {
		all = append(all, n)
	}
	return all
}

// eachOfBatches runs a test on each Redis with a pool that takes jobs together.
func eachOfBatches(t *testing.T, test func(t *testing.T, th *theater, pool *work.WorkerPool, b batches)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th, b := newTheater(t, s), newBatches()
		pool := work.NewWorkerPool(nil, 2, th.options()).JobWithOptions("index", five, b.handle)
		pooltest.Times(pool).Survey = time.Hour
		th.Start(pool)
		test(t, th, pool, b)
	})
}

// seven has five jobs run as a batch, and two collected.
func (th *theater) seven(t *testing.T, pool *work.WorkerPool, b batches) {
	t.Helper()
	th.EnqueueNumbers("index", 0, 7)
	require.Equal(t, numbered(0, 5), pooltest.Receive(t, b.began))
	th.Until("the others are collected", func() bool { return pooltest.Parts(pool).Slots.Held() == 7 })
}

// ended checks that the two that were collected run with three more, and that nothing is left.
func (th *theater) ended(t *testing.T, pool *work.WorkerPool, b batches) {
	t.Helper()
	th.EnqueueNumbers("index", 7, 10)
	assert.Equal(t, numbered(5, 10), pooltest.Receive(t, b.began))
	b.leave <- struct{}{}
	th.Drained(pool)
	assert.Empty(t, b.began, "nothing ran twice")
	th.Empty("index")
	assert.Zero(t, pooltest.Count[event.ClaimGone](th.Spy)+pooltest.Count[event.OutcomeUnknown](th.Spy))
	assert.Equal(t, 1, pooltest.Count[event.DataLost](th.Spy))
}

func TestMembersThatAFailoverForgotAreStoredAgain(t *testing.T) {
	eachOfBatches(t, func(t *testing.T, th *theater, pool *work.WorkerPool, b batches) {
		th.fallBehind()
		th.seven(t, pool, b)
		th.failOver(nil)
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Held: 7, Restored: 7})
		assert.Equal(t, 7, th.Number("HLEN", "jobs"))
		assert.Equal(t, 7, th.Number("HLEN", "claimed"))
		b.leave <- struct{}{}
		th.ended(t, pool, b)
	})
}

// The outcomes of a batch come to a Redis that knows none of its claims.
func TestOutcomesOfMembersThatWaitDuringAFailoverCount(t *testing.T) {
	eachOfBatches(t, func(t *testing.T, th *theater, pool *work.WorkerPool, b batches) {
		th.fallBehind()
		th.seven(t, pool, b)
		th.failOver(func() { b.leave <- struct{}{} })
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Held: 7, Restored: 7})
		th.untilAcknowledged(5)
		th.ended(t, pool, b)
	})
}

// The end of a batch was acknowledged and is forgotten: all of its members run again, and what was collected meanwhile
// runs once.
func TestMembersWhoseEndAFailoverForgotRunAgain(t *testing.T) {
	eachOfBatches(t, func(t *testing.T, th *theater, pool *work.WorkerPool, b batches) {
		th.seven(t, pool, b)
		th.fallBehind()
		b.leave <- struct{}{}
		th.untilAcknowledged(5)
		th.failOver(nil)
		var again []int
		for len(again) < 7 {
			ran := pooltest.Receive(t, b.began)
			again = append(again, ran...)
			b.leave <- struct{}{}
			if len(again) == 5 { // the last two wait for others
				th.EnqueueNumbers("index", 7, 10)
			}
		}
		slices.Sort(again)
		assert.Equal(t, numbered(0, 10), again)
		lost := pooltest.Await[event.DataLost](t, th.Spy, nil)
		assert.Equal(t, 5, lost.Outcomes)
		th.Drained(pool)
		assert.Empty(t, b.began)
		th.Empty("index")
	})
}

// What a batch has ended with counts once replicas have it. Where a failover loses that, it is sent again, of each
// member what became of it.
func TestOutcomesOfMembersThatAFailoverLostAreSentAgainRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		p, spy, b := newPair(t), pooltest.NewSpy(), newBatches()
		pool := work.NewWorkerPool(nil, 2, work.WorkerOptions{Redis: p.lead.DSN(), Logger: pooltest.Silent(),
			Observers: []work.Observer{spy}, WaitReplicas: 1, WaitTimeout: 30 * time.Second})
		pool.JobWithOptions("index", five, func(ctx context.Context, batch work.Batch[int]) error {
			for _, item := range batch {
				if item.Args == 3 {
					item.Fail(work.Bury(errors.New("no")))
				}
			}
			return b.handle(ctx, batch)
		})
		require.NoError(t, pool.Start(t.Context()))
		defer func() { assert.NoError(t, pool.Stop(t.Context())) }()
		var entries []work.Entry
		for n := range 5 {
			entries = append(entries, work.Entry{Name: "index", Args: []any{n}})
		}
		_, err := pool.Enqueuer().EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		assert.Equal(t, numbered(0, 5), pooltest.Receive(t, b.began))
		p.part()
		b.leave <- struct{}{}
		p.stored("work", 1)
		p.waits()
		assert.Zero(t, pooltest.Count[event.JobsSettled](spy), "no replica has it")
		assert.Equal(t, int64(5), do(t, p.replica, "HLEN", "{work}:claimed"))
		p.failOver()
		require.Eventually(t, func() bool { return do(t, p.replica, "HLEN", "{work}:claimed") == int64(0) },
			pooltest.Patience, 10*time.Millisecond)
		assert.Equal(t, int64(1), do(t, p.replica, "HLEN", "{work}:jobs"))
		assert.Equal(t, int64(1), do(t, p.replica, "ZCARD", "{work}:morgue"))
		host, port, err := net.SplitHostPort(p.replica.Addr())
		require.NoError(t, err)
		do(t, p.primary, "REPLICAOF", host, port)
		pooltest.Await[event.JobsSettled](t, spy, nil)
		require.NoError(t, pool.Drain(t.Context()))
		assert.Empty(t, b.began, "none ran again")
		assert.Zero(t, pooltest.Count[event.ClaimGone](spy))
	})
}
