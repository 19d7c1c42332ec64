package work_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// meeting lets those who come go on when so many different ones are there.
type meeting struct {
	mu     sync.Mutex
	wanted int
	came   map[string]bool
	all    chan struct{}
}

func newMeeting(wanted int) *meeting {
	return &meeting{wanted: wanted, came: map[string]bool{}, all: make(chan struct{})}
}

// come is true if all have come before ctx ends.
func (m *meeting) come(ctx context.Context, who string) bool {
	m.mu.Lock()
	if !m.came[who] {
		if m.came[who] = true; len(m.came) == m.wanted {
			close(m.all)
		}
	}
	m.mu.Unlock()
	select {
	case <-m.all:
		return true
	case <-ctx.Done():
		return false
	}
}

// manyHolding is a pool of so many workers all of which run jobs of one name until their ctx ends.
func (k *kit) manyHolding(o work.WorkerOptions, workers int, tampered *pooltest.Tampered) (pool *work.WorkerPool,
	ids []string) {
	processors := workers * work.MaxPerWorker
	ids = pooltest.IdsOf(k.EnqueueNumbers("n", 0, processors))
	began := make(chan struct{}, processors)
	pool = work.NewWorkerPool(nil, processors, o).Job("n", func(ctx context.Context, _ int) error {
		began <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	k.TamperWith(pool, tampered)
	require.NoError(k.T, pool.Start(k.Ctx()))
	for range processors {
		pooltest.Receive(k.T, began)
	}
	require.Len(k.T, pooltest.WorkerIDs(pool), workers)
	return pool, ids
}

// The workers of a pool requeue in turn. Over a slow connection that takes longer than a stop has that must hurry: then
// they wait for each other no more.
func TestAHurriedStopRequeuesWithoutTurns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const workers = 3
		slow := newMeeting(workers) // no call is answered before all have sent one
		options := k.Options()
		options.ShutdownTimeout = -1
		pool, ids := k.manyHolding(options, workers, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			for _, call := range calls {
				if pooltest.NameOf(call) == "release" && !slow.come(ctx, call.Keys[3]) {
					return nil, context.Cause(ctx)
				}
			}
			return pass(ctx, calls...)
		}})
		hurry, cancel := context.WithCancel(k.Ctx())
		cancel()
		require.Error(t, pool.Stop(hurry), "nobody waits for it")
		var stopped *work.StopError
		require.ErrorAs(t, k.Stop(pool), &stopped)
		require.NoError(t, stopped.Err, "all is acknowledged in time")
		assert.Len(t, stopped.Released, len(ids))
		assert.Zero(t, k.Number("HLEN", "claimed"))
		assert.ElementsMatch(t, ids, k.queued("n"))
		k.NoWorker()
	})
}

// What a worker tells of its settlements keeps no other from requeueing.
func TestAnObserverDoesNotHoldUpWhatOthersRequeue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const workers = 3
		told := newMeeting(workers) // no observer returns before all workers have told
		options := k.Options()
		options.ShutdownTimeout = -1
		options.Observers = append(options.Observers, work.ObserverFunc(func(e event.Event) {
			if settled, ok := e.(event.JobsSettled); ok {
				assert.True(t, told.come(k.Ctx(), settled.Worker))
			}
		}))
		pool, ids := k.manyHolding(options, workers, &pooltest.Tampered{})
		var stopped *work.StopError
		require.ErrorAs(t, k.Stop(pool), &stopped)
		require.NoError(t, stopped.Err)
		assert.Equal(t, ids, k.queued("n"), "in the order in which they were fetched")
		k.NoWorker()
	})
}
