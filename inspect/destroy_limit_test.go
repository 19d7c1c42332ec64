package inspect_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/destroy"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// limited is a pool that runs one doomed job at once.
func (k *kit) limited() *work.WorkerPool {
	return work.NewWorkerPool(nil, 5, k.Options()).JobWithOptions("doomed",
		work.JobOptions{Limit: work.Limit{Concurrent: 1}}, func() error { return nil })
}

// requireLimited has the limit be what the pool declares.
func (k *kit) requireLimited() {
	k.T.Helper()
	limits, err := k.hands().Limits(k.Ctx())
	require.NoError(k.T, err)
	require.Len(k.T, limits, 1)
	assert.Equal(k.T, work.Limit{Concurrent: 1}, limits[0].Limit)
	assert.Equal(k.T, work.Limit{Concurrent: 1}, limits[0].Declared)
	assert.NotContains(k.T, limits[0].Service, "leaving")
	assert.False(k.T, limits[0].Paused)
}

// A worker that is cut off goes on where Redis still knows it: its limit must hold then.
func TestTheLimitOfAWorkerWithoutHeartbeatOutlivesItsQueue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		require.NoError(t, k.Stop(k.Start(k.limited())))
		k.Do("SADD", "workers", "silent")
		k.Do("SADD", "worker:silent:queues", "doomed")
		for range 2 {
			_, err := k.hands().DestroyQueue(k.Ctx(), "doomed", inspect.DestroyOptions{})
			require.NoError(t, err)
			k.requireLimited()
		}
		k.Do("DEL", "workers", "worker:silent:queues")
		_, err := k.hands().DestroyQueue(k.Ctx(), "doomed", inspect.DestroyOptions{})
		require.NoError(t, err)
		assert.Zero(t, k.Number("EXISTS", "limits"), "nobody can come back")
	})
}

// One that was taken for dead while its queue was destroyed comes back with its limit.
func TestAFencedWorkerBringsItsLimitBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(k.limited())
		k.Do("DEL", "limits")
		require.Equal(t, 1, k.Number("SREM", "workers", k.ID(pool)))
		pooltest.Await[event.WorkerFenced](t, k.Spy, nil)
		k.requireLimited()
	})
}

// before does something before the first call of a script.
type before struct {
	redisconn.Driver
	script string
	do     func()
}

func (b *before) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	asks := func(c redisconn.Call) bool { return c.Script != nil && c.Script.Name == b.script }
	if do := b.do; do != nil && slices.ContainsFunc(calls, asks) {
		b.do = nil
		do()
	}
	return b.Driver.Pipeline(ctx, calls...)
}

// A worker that comes when the destroyer has just looked for workers serves with its limit, and no job is held up.
func TestTheLimitOfAWorkerThatJoinsDuringADestruction(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		require.NoError(t, k.Stop(k.Start(k.limited())))
		plain, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { _ = plain.Close() })
		driver := &before{Driver: plain, script: "inspect/forget_queue", do: func() { k.Start(k.limited()) }}
		q := destroy.Queue{Store: rdb.NewStore(driver, k.Namespace), Name: "doomed"}
		_, _, err = q.Run(k.Ctx())
		require.NoError(t, err)
		assert.Nil(t, driver.do, "it has joined")
		k.requireLimited()
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](k.Enqueue("doomed").ID))
	})
}
