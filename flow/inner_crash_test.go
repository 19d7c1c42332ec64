package flow_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// dying is a driver of a program that dies: after so many calls of scripts of flows it does none any more. The call at
// which it dies is done or not.
type dying struct {
	redisconn.Driver
	left int
	done bool
	dead bool
}

func (d *dying) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	dead := &redisconn.ServerError{Code: "WRONGPASS", Message: "WRONGPASS it is dead"}
	if d.dead {
		return nil, dead
	}
	if of := calls[0].Script; of != nil && strings.HasPrefix(of.Name, "flow/") {
		if d.left--; d.left < 0 {
			if d.dead = true; d.done {
				_, _ = d.Driver.Pipeline(ctx, calls...)
			}
			return nil, dead
		}
	}
	return d.Driver.Pipeline(ctx, calls...)
}

// deaths has a program die at each call of scripts that it makes, before and after Redis has done that: at each third
// one in the short run under the race detector. What it does tells whether it died.
func deaths(t *testing.T, s redistest.Server, do func(k *kit, d *dying) bool) {
	for _, done := range []bool{false, true} {
		for n, dies := 0, true; dies && !t.Failed(); n += redistest.Volume(1, 3) {
			t.Run(fmt.Sprint(n, done), func(t *testing.T) {
				k := newKit(t, s)
				dies = do(k, &dying{Driver: k.Raw().Driver(), left: n, done: done})
				assert.True(t, dies || n > 0, "it makes no call")
			})
		}
	}
}

// Whoever stores a flow with flows in it may die at any call: nothing of it runs, and the same call completes it.
func TestAFlowOfFlowsIsStoredAlthoughItsProgramDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		deaths(t, s, func(k *kit, d *dying) bool {
			_, err := flow.Enqueue(k.Ctx(), pooltest.EnqueuerOn(d, k.Namespace), tower(2, "ok").OnDone("ok"))
			r := &runs{}
			if d.dead && k.Number("EXISTS", "flow:f") == 1 && k.stateOf("f") == flow.Filling {
				require.Error(k.T, err)
				require.NoError(k.T, maintain.AdvanceFlows(k.Ctx(), pooltest.StoreOf(k.Enq)))
				assert.Zero(k.T, k.Number("EXISTS", "queue:ok"), "nothing of it runs")
			}
			k.stored(tower(2, "ok").OnDone("ok"))
			pool := k.pool(r)
			assert.Equal(k.T, flow.Done, k.ended("f").State)
			k.Drained(pool)
			assert.Equal(k.T, []string{"f/before", "f/in/before", "f/in/in/deep", "f/in/behind", "f/behind", "f/@done"},
				r.all())
			return d.dead
		})
	})
}

// Whoever goes on with flows may die at any call, or do it twice: each member runs once.
func TestAFlowOfFlowsEndsAlthoughWhoGoesOnDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		deaths(t, s, func(k *kit, d *dying) bool {
			store, doomed := pooltest.StoreOf(k.Enq), pooltest.StoreOf(pooltest.EnqueuerOn(d, k.Namespace))
			k.stored(tower(2, "ok").OnDone("ok"))
			steps := newByHand(k)
			for steps.stateOf("f") == flow.Running {
				_ = maintain.AdvanceFlows(k.Ctx(), doomed)
				if d.dead {
					require.NoError(k.T, maintain.AdvanceFlows(k.Ctx(), store))
					for _, id := range []string{"f/in", "f/in/in"} { // twice, and for no reason
						require.NoError(k.T, ending.FinishFlow(k.Ctx(), store, id))
					}
				}
				steps.runAll()
			}
			steps.runAll()
			assert.Equal(k.T, []string{"f/before", "f/in/before", "f/in/in/deep", "f/in/behind", "f/behind", "f/@done"},
				steps.ran)
			return d.dead
		})
	})
}

// Whoever cancels a flow may die at any call: it is cancelled, and so are those in it.
func TestAFlowOfFlowsIsCancelledAlthoughItsProgramDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		deaths(t, s, func(k *kit, d *dying) bool {
			store := pooltest.StoreOf(k.Enq)
			k.stored(tower(2, "ok").OnDone("ok").OnDeath("ok"))
			steps := newByHand(k)
			for range 2 { // f/in/in waits in the queue
				steps.runAll()
				require.NoError(k.T, maintain.AdvanceFlows(k.Ctx(), store))
			}
			_, _ = flow.Cancel(k.Ctx(), pooltest.EnqueuerOn(d, k.Namespace), "f")
			for k.Number("ZCARD", "flows:busy") > 0 {
				require.NoError(k.T, maintain.AdvanceFlows(k.Ctx(), store))
			}
			if k.stateOf("f") == flow.Running { // it died before Redis knew of it
				_, err := flow.Cancel(k.Ctx(), k.Enq, "f")
				require.NoError(k.T, err)
			}
			for _, id := range []string{"f", "f/in", "f/in/in"} {
				assert.Equal(k.T, flow.Cancelled, k.stateOf(id), id)
			}
			assert.Equal(k.T, []string{"f/before", "f/in/before"}, steps.ran)
			return d.dead
		})
	})
}

// Whoever retries a flow may die at any call: nothing runs before the last one, and the same call completes it.
func TestAFlowOfFlowsIsRetriedAlthoughItsProgramDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		deaths(t, s, func(k *kit, d *dying) bool {
			k.stored(tower(2, "bad").OnDone("ok"))
			r := &runs{}
			pool := k.pool(r)
			require.Equal(k.T, flow.DeadEnded, k.ended("f").State)
			k.Drained(pool)
			_, _ = flow.Retry(k.Ctx(), pooltest.EnqueuerOn(d, k.Namespace), "f")
			if d.dead && slices.Contains([]flow.State{flow.Reopening, flow.DeadEnded}, k.stateOf("f")) {
				k.Drained(pool)
				assert.Len(k.T, r.all(), 3, "nothing runs")
				_, err := flow.Retry(k.Ctx(), k.Enq, "f")
				require.NoError(k.T, err)
			}
			p := k.ended("f")
			k.Drained(pool)
			assert.Equal(k.T, []any{flow.DeadEnded, 2}, []any{p.State, p.Generation})
			assert.Equal(k.T, []string{"f/before", "f/in/before", "f/in/in/deep", "f/in/in/deep"}, r.all())
			return d.dead
		})
	})
}

// Whoever removes a flow may die at any call: the janitor goes on.
func TestAFlowOfFlowsIsRemovedAlthoughItsProgramDies(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		deaths(t, s, func(k *kit, d *dying) bool {
			k.stored(tower(3, "ok"))
			r := &runs{}
			pool := k.pool(r)
			k.ended("f")
			k.Drained(pool)
			_, _ = flowdb.Of(pooltest.StoreOf(pooltest.EnqueuerOn(d, k.Namespace))).Forget(k.Ctx(), "f")
			flows := flowdb.Of(pooltest.StoreOf(k.Enq))
			if d.dead {
				over, _, err := flows.ToRemove(k.Ctx(), time.Hour)
				require.NoError(k.T, err)
				for _, id := range over {
					_, err := flows.Remove(k.Ctx(), id, 0)
					require.NoError(k.T, err)
				}
			}
			if d.dead && k.Number("EXISTS", "flow:f") == 1 { // it died before Redis knew of it
				done, err := flows.Forget(k.Ctx(), "f")
				require.NoError(k.T, err)
				assert.True(k.T, done)
			}
			assert.Empty(k.T, k.Remains("flow"))
			assert.False(k.T, k.stored(tower(1, "ok")).Duplicate)
			return d.dead
		})
	})
}

// byHand runs what stands in the queue "ok" by the scripts, as a worker would that has no daemons.
type byHand struct {
	*kit
	worker  *rdb.Worker
	fetches int64
	ran     []string
}

func newByHand(k *kit) *byHand {
	b := &byHand{kit: k, worker: pooltest.StoreOf(k.Enq).Worker("w")}
	_, _, err := b.worker.Register(k.Ctx(), rdb.Registration{Life: time.Hour, Epoch: "e", Queues: []string{"ok"}})
	require.NoError(k.T, err)
	return b
}

// take fetches what stands in the queue, at most three.
func (b *byHand) take() []rdb.FetchedJob {
	b.T.Helper()
	b.fetches++
	fetched, err := b.worker.Fetch(b.Ctx(), b.fetches, 3, true, []rdb.Share{{Queue: "ok", Jobs: 3}})
	require.NoError(b.T, err)
	return fetched.Jobs
}

// settle makes one call that ends jobs.
func (b *byHand) settle(call redisconn.Call) {
	b.T.Helper()
	settled, err := b.worker.Settle(b.Ctx(), []redisconn.Call{call})
	require.NoError(b.T, err)
	require.NoError(b.T, settled[0].Err)
	require.Empty(b.T, settled[0].Gone)
}

func (b *byHand) runAll() {
	b.T.Helper()
	for _, job := range b.take() {
		b.ran = append(b.ran, job.ID)
		b.settle(b.worker.End(job.Claim, rdb.Ending{ID: job.ID, Queue: job.Queue, State: "done",
			Belongings: ending.BelongingsIn(job.Record, nil)}))
	}
}

// bury has a job die.
func (b *byHand) bury(job rdb.FetchedJob) {
	b.T.Helper()
	b.settle(b.worker.Shelve(rdb.Shelved{Claim: job.Claim, Shelf: rdb.ShelfMorgue,
		Flow: ending.BelongingsIn(job.Record, nil).Flow}))
}
