package work

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// joined makes the only worker of a pool known to Redis, without its goroutines.
func (k *kit) joined(p *WorkerPool, concurrency int) *worker {
	k.t.Helper()
	require.NoError(k.t, p.prepare())
	k.t.Cleanup(p.closeConnection)
	w := newWorker(p, concurrency, true)
	require.NoError(k.t, w.join(k.ctx()))
	return w
}

// TestReleasesOfManyCallsKeepTheirOrder: jobs that began and jobs that did not go back in calls of their own, since the
// first are cleared of their crashes.
func TestReleasesOfManyCallsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := idsOf(k.enqueueNumbers("n", 0, 6))
		k.do("HSET", "crashes", ids[1], "w1", ids[4], "w1")
		w := k.joined(NewWorkerPool(nil, 6, k.options()).Job("n", func(int) error { return nil }), 6)
		w.crew.start = func() {} // nobody takes them
		f := newFetcher(w, map[string]int{"n": 1})
		require.NoError(t, f.fetch(6, []rdb.Share{{Queue: "n", Jobs: 6}}))
		settler := newSettler(w)
		for i := range ids {
			r := w.crew.take(false)
			if i < 3 {
				r.begun.Store(time.Now().UnixNano())
			}
			r.decision = decision{verb: verbRelease}
			settler.pending = append(settler.pending, r)
		}
		slices.Reverse(settler.pending)
		require.NoError(t, settler.send(k.ctx()))
		assert.Empty(t, settler.pending)
		assert.Equal(t, ids, k.inLine("n"))
		assert.Equal(t, []string{ids[4], "w1"}, k.strings("HGETALL", "crashes"), "it did not begin")
		require.NoError(t, w.leave(k.ctx()))
		k.noWorker()
	})
}

func TestWhatDidNotBeginDoesNotWaitForWhatRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		began, gate := make(chan struct{}, 1), make(chan struct{})
		pool := NewWorkerPool(nil, 2, k.options()).
			Job("long", func() error { began <- struct{}{}; <-gate; return nil }).Job("a", nothing)
		w := k.joined(pool, 2)
		w.begin()
		k.enqueue("long")
		receive(t, began)
		w.halting.Store(true) // the stop begins after the next fetch has claimed and before it has begun
		job := k.enqueue("a")
		k.until("it is fetched", func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.unbegun) == 1
		})
		stopped := make(chan error, 1)
		go func() { stopped <- w.stop(pool.hurried, patience).orNil() }()
		k.until("it is back in its queue", func() bool { return slices.Equal([]string{job.ID}, k.inLine("a")) })
		assert.Zero(t, count[event.JobDone](k.spy), "the other one runs")
		close(gate)
		require.Nil(t, receive(t, stopped))
		assert.Equal(t, 1, count[event.JobDone](k.spy))
		k.noWorker()
	})
}

func TestAStopWaitsForTheAcknowledgementOfOutcomes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options()).Job("a", nothing)
		var refusals atomic.Int64
		stopping := make(chan struct{})
		k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			if settles(calls) && refusals.Load() < 4 {
				<-stopping
				refusals.Add(1)
				return nil, errors.New("Redis is away")
			}
			return pass(ctx, calls...)
		}})
		require.NoError(t, pool.Start(k.ctx()))
		k.enqueue("a")
		await[event.JobDone](t, k.spy, nil)
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Stop(k.ctx()) }()
		receive(t, untilStopping(pool))
		close(stopping)
		require.NoError(t, receive(t, stopped))
		assert.EqualValues(t, 4, refusals.Load())
		assert.Zero(t, count[event.ClaimGone](k.spy))
		k.empty("a")
		k.noWorker()
	})
}
