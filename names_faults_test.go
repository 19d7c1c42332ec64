package work

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// halfWay are the ways in which a pipeline of one script breaks after some of its calls.
func halfWay(script string) map[string]func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
	type tamper = func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error)
	once := func(fault tamper) tamper {
		var met atomic.Bool
		return func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			if nameOf(calls[0]) == script && len(calls) > 1 && met.CompareAndSwap(false, true) {
				return fault(ctx, pass, calls)
			}
			return pass(ctx, calls...)
		}
	}
	return map[string]tamper{
		"only the first call arrives": once(func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
			error) {
			_, _ = pass(ctx, calls[0])
			return nil, errTampered
		}),
		"the answer is lost": once(func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			_, _ = pass(ctx, calls...)
			return nil, errTampered
		}),
		"all but the first are refused": once(func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
			error) {
			replies, err := pass(ctx, calls[0])
			for range calls[1:] {
				replies = append(replies, rdb.Reply{Err: &rdb.ServerError{Code: "LOADING", Message: "LOADING"}})
			}
			return replies, err
		}),
		"it is sent twice": once(func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			_, _ = pass(ctx, calls...)
			return pass(ctx, calls...)
		}),
	}
}

// TestAWorkerThatIsKnownWithSomeOfItsNamesGoesOn: a worker whose names did not all come to Redis serves what is
// registered, and the rest once they have; jobs of the first and of the last name run, and a stop leaves nothing.
func TestAWorkerThatIsKnownWithSomeOfItsNamesGoesOn(t *testing.T) {
	t.Parallel()
	const names = rdb.MaxBatch + 7
	name := func(n int) string { return fmt.Sprintf("n%04d", n) }
	for _, step := range []struct {
		script string
		// what makes the script come while the pool runs; nil: it comes with the start
		before func(k *kit, pool *WorkerPool)
	}{
		{"register", nil},
		{"rule", nil},
		{"register", func(k *kit, pool *WorkerPool) { k.do("SREM", "workers", pool.id()) }},
		{"register", func(k *kit, _ *WorkerPool) { k.do("DEL", "epoch"); k.do("DEL", "workers") }},
		{"serve", func(k *kit, pool *WorkerPool) {
			var all []string
			for n := range names {
				all = append(all, name(n))
			}
			_ = pool.Withdraw(k.ctx(), all...)
			require.NoError(k.t, pool.Serve(k.ctx(), all...))
		}},
	} {
		for how := range halfWay("") {
			when := "at the start"
			if step.before != nil {
				when = "later"
			}
			t.Run(fmt.Sprintf("%s %s, %s", step.script, when, how), func(t *testing.T) {
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					k := newKit(t, s)
					ran := make(chan string, names)
					pool := NewWorkerPool(nil, 4, k.options())
					for n := range names {
						opts := JobOptions{}
						if step.script == "rule" {
							opts.Limit = Limit{Concurrent: 2}
						}
						pool.JobWithOptions(name(n), opts, func(_ context.Context, job *Job) error {
							ran <- job.Name
							return nil
						})
					}
					var broken atomic.Bool
					broken.Store(step.before == nil)
					fault := halfWay(step.script)[how]
					k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send,
						calls []rdb.Call) ([]rdb.Reply, error) {
						if broken.Load() {
							return fault(ctx, pass, calls)
						}
						return pass(ctx, calls...)
					}})
					if err := pool.Start(k.ctx()); err != nil { // it may be started again
						assert.Less(t, len(err.Error()), longestError)
						assert.Zero(t, k.number("SCARD", "workers"), "nothing is left of the first start")
						require.NoError(t, pool.Start(k.ctx()))
					}
					if step.before != nil {
						broken.Store(true)
						step.before(k, pool)
					}
					k.enqueue(name(0))
					k.enqueue(name(names - 1))
					got := map[string]bool{receive(t, ran): true, receive(t, ran): true}
					assert.Equal(t, map[string]bool{name(0): true, name(names - 1): true}, got)
					k.until("Redis lists all names",
						func() bool { return k.number("SCARD", "worker:"+pool.id()+":queues") == names })
					ctx, cancel := context.WithTimeout(context.Background(), patience)
					defer cancel()
					require.NoError(t, pool.Stop(ctx))
					assert.Zero(t, k.number("SISMEMBER", "workers", pool.id()))
					assert.Zero(t, k.number("EXISTS", "worker:"+pool.id()+":queues"))
				})
			})
		}
	}
}

// TestADeadWorkerOfThousandsOfNamesIsTakenApart in few round trips, with all that it held, in order.
func TestADeadWorkerOfThousandsOfNamesIsTakenApart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const names, held, each = 2*rdb.MaxBatch + 7, 50, 3
		store := k.enq.core.store
		victim := store.Worker(newWorkerID())
		var queues []string
		for n := range names {
			queues = append(queues, fmt.Sprintf("n%04d", n))
		}
		_, _, err := victim.Register(k.ctx(), rdb.Registration{Life: time.Minute, Epoch: "x", Queues: queues})
		require.NoError(t, err)
		number, want := int64(0), map[string][]string{}
		for _, queue := range queues[names-held:] {
			for range each {
				want[queue] = append(want[queue], k.enqueue(queue).ID)
			}
			number++
			fetched, err := victim.Fetch(k.ctx(), number, each, false, []rdb.Share{{Queue: queue, Jobs: each}})
			require.NoError(t, err)
			require.Len(t, fetched.Jobs, each)
		}
		k.do("SREM", "workers", victim.ID)
		k.do("SADD", "dead", victim.ID)
		counting := &trips{Driver: store.Driver()}
		dead := &corpse{Worker: rdb.NewStore(counting, k.namespace).Worker(victim.ID)}
		takeApart(k.ctx(), []*corpse{dead}, map[string][]bequest{})
		require.NoError(t, dead.err)
		assert.Equal(t, held*each, dead.jobs)
		_, gone, err := dead.Forget(k.ctx(), dead.queues)
		require.NoError(t, err)
		assert.True(t, gone)
		assert.LessOrEqual(t, counting.made.Load(), int64(10))
		assert.Zero(t, k.number("SCARD", "dead"))
		assert.Zero(t, k.number("EXISTS", "worker:"+victim.ID+":queues"))
		for queue, ids := range want {
			assert.Equal(t, ids, k.inLine(queue))
		}
	})
}
