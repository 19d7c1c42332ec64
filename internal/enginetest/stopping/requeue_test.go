package stopping_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
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
	processors := workers * pooltest.MaxPerWorker
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
		assert.ElementsMatch(t, ids, k.InLine("n"))
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
		assert.Equal(t, ids, k.InLine("n"), "in the order in which they were fetched")
		k.NoWorker()
	})
}

// untilCut is a handler that returns when its ctx ends.
func untilCut(began chan<- struct{}) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		began <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
}

// A worker whose connection hangs while it requeues holds up what others requeue to that queue for a while, and what
// they end otherwise no longer.
func TestATurnThatIsNotEndedHoldsNoOutcomeUp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		released := make(chan struct{})
		options := k.Options()
		options.ShutdownTimeout = -1
		options.Observers = append(options.Observers, work.ObserverFunc(func(e event.Event) {
			if _, is := e.(event.JobReleased); is {
				close(released)
			}
		}))
		began := make(chan struct{}, 1)
		done := make(chan struct{}, 1)
		pool := work.NewWorkerPool(nil, 2, options).Job("back", untilCut(began)).Job("done", func() error {
			done <- struct{}{}
			<-released
			return nil
		})
		require.NoError(t, pool.Start(k.Ctx()))
		end, err := pooltest.Parts(pool).Requeued.Begin(k.Ctx(), "back")
		require.NoError(t, err)
		defer end()
		back := k.Enqueue("back")
		pooltest.Receive(t, began)
		k.Enqueue("done")
		pooltest.Receive(t, done)
		var stopped *work.StopError
		require.ErrorAs(t, k.Stop(pool), &stopped)
		require.NoError(t, stopped.Err, "all outcomes are acknowledged in time")
		assert.Equal(t, []string{back.ID}, k.InLine("back"))
		assert.Equal(t, 1, k.Number("HLEN", "jobs"), "the other one has ended")
		k.NoWorker()
	})
}

// Redis may refuse a script to a user: that concerns the outcomes that need it.
func TestARefusedOutcomeDoesNotKeepOthersFromBeingRequeued(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.ShutdownTimeout = -1
		began := make(chan struct{}, 1)
		pool := work.NewWorkerPool(nil, 2, options).Job("back", untilCut(began)).
			Job("fails", func() error { return pooltest.ErrLuck })
		var allowed atomic.Bool
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			for i, call := range calls {
				if pooltest.NameOf(call) != "shelve" || allowed.Load() {
					continue
				}
				replies, err := pass(ctx, slices.Concat(calls[:i], calls[i+1:])...)
				refused := redisconn.Reply{Err: &redisconn.ServerError{Code: "NOPERM", Message: "no permissions"}}
				return slices.Insert(replies, i, refused), err
			}
			return pass(ctx, calls...)
		}})
		require.NoError(t, pool.Start(k.Ctx()))
		back := k.Enqueue("back")
		pooltest.Receive(t, began)
		k.Enqueue("fails")
		pooltest.Await(t, k.Spy, func(e event.Trouble) bool { return e.Component == "settler" })
		stopping := make(chan error, 1)
		go func() { stopping <- k.Stop(pool) }()
		k.Until("its job is back", func() bool { return k.Number("LLEN", "queue:back") == 1 })
		allowed.Store(true)
		var stopped *work.StopError
		require.ErrorAs(t, <-stopping, &stopped)
		require.NoError(t, stopped.Err)
		assert.Equal(t, []string{back.ID}, k.InLine("back"))
		assert.Equal(t, 1, k.Number("ZCARD", "retry"))
		k.NoWorker()
	})
}

// A gate that asks Redis may get its answer when a stop has given up waiting for it and requeued its job.
func TestAGateThatIsAnsweredTooLateBeginsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.ShutdownTimeout = -1
		began := make(chan struct{}, 1)
		pool := work.NewWorkerPool(nil, 1, options).Job("n", func() error { began <- struct{}{}; return nil })
		asked, answer := make(chan struct{}, 1), make(chan struct{})
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			if pooltest.NameOf(calls[0]) == "begin" {
				asked <- struct{}{}
				<-answer
			}
			return replies, err
		}})
		k.Start(pool)
		slots := pooltest.Parts(pool).Slots
		_, err := k.EnqueueEntry(work.Entry{Name: "n",
			Options: []work.EnqueueOption{work.Unique(work.UniqueOptions{Until: work.UntilStarted})}})
		require.NoError(t, err)
		pooltest.Receive(t, asked)
		stopped := make(chan error, 1)
		go func() { stopped <- k.Stop(pool) }()
		k.Until("its job is back", func() bool { return k.Number("LLEN", "queue:n") == 1 })
		close(answer)
		require.NoError(t, <-stopped)
		k.Until("its processor has left", func() bool { return slots.Busy() == 0 })
		assert.Empty(t, began, "it runs elsewhere")
	})
}
