package work_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestAStopWaitsForTheAcknowledgementOfOutcomes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
		var refusals atomic.Int64
		stopping := make(chan struct{})
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.Settles(calls) && refusals.Load() < 4 {
				<-stopping
				refusals.Add(1)
				return nil, errors.New("Redis is away")
			}
			return pass(ctx, calls...)
		}})
		require.NoError(t, pool.Start(k.Ctx()))
		k.Enqueue("a")
		pooltest.Await[event.JobDone](t, k.Spy, nil)
		stopped := make(chan error, 1)
		go func() { stopped <- pool.Stop(k.Ctx()) }()
		pooltest.Receive(t, pooltest.UntilStopping(pool))
		close(stopping)
		require.NoError(t, pooltest.Receive(t, stopped))
		assert.EqualValues(t, 4, refusals.Load())
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
		k.Empty("a")
		k.NoWorker()
	})
}

// lone makes the only worker of a pool known to Redis, without its goroutines.
func (k *kit) lone(p *work.WorkerPool, concurrency int) work.LoneWorker {
	k.T.Helper()
	w, err := p.LoneWorker(k.Ctx(), concurrency)
	require.NoError(k.T, err)
	k.T.Cleanup(p.CloseConnection)
	return w
}

// TestReleasesOfManyCallsKeepTheirOrder: jobs that began and jobs that did not go back in calls of their own, since the
// first are cleared of their crashes.
func TestReleasesOfManyCallsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 6))
		k.Do("HSET", "crashes", ids[1], "w1", ids[4], "w1")
		w := k.lone(work.NewWorkerPool(nil, 6, k.Options()).Job("n", func(int) error { return nil }), 6)
		left, err := w.FetchAndRelease(k.Ctx(), "n", 6, 3)
		require.NoError(t, err)
		assert.Zero(t, left)
		assert.Equal(t, ids, k.InLine("n"))
		assert.Equal(t, []string{ids[4], "w1"}, k.Strings("HGETALL", "crashes"), "it did not begin")
		require.NoError(t, w.Leave(k.Ctx()))
		k.NoWorker()
	})
}

func TestWhatDidNotBeginDoesNotWaitForWhatRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		began, gate := make(chan struct{}, 1), make(chan struct{})
		pool := work.NewWorkerPool(nil, 2, k.Options()).
			Job("long", func() error { began <- struct{}{}; <-gate; return nil }).Job("a", pooltest.Nothing)
		w := k.lone(pool, 2)
		w.Begin()
		k.Enqueue("long")
		pooltest.Receive(t, began)
		w.Halt() // the stop begins after the next fetch has claimed and before it has begun
		job := k.Enqueue("a")
		k.Until("it is fetched", func() bool { return w.Unbegun() == 1 })
		stopped := make(chan error, 1)
		go func() { stopped <- w.Stop(pooltest.Patience) }()
		k.Until("it is back in its queue", func() bool { return slices.Equal([]string{job.ID}, k.InLine("a")) })
		assert.Zero(t, pooltest.Count[event.JobDone](k.Spy), "the other one runs")
		close(gate)
		require.Nil(t, pooltest.Receive(t, stopped))
		assert.Equal(t, 1, pooltest.Count[event.JobDone](k.Spy))
		k.NoWorker()
	})
}

// However jobs are cut short by a stop, and whatever was prefetched, the queue is in its order afterwards.
func TestAStopKeepsTheOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ concurrency, prefetch, jobs, rounds int }{
		{1, 0, 5, 3}, {1, 5, 20, 20}, {4, 5, 20, 20}, {4, 60, 50, 5}, {300, 10, 400, 2},
	} {
		t.Run(fmt.Sprintf("%d and %d", c.concurrency, c.prefetch), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, c.jobs))
				for round := range c.rounds {
					k.stopAmid(c.concurrency, c.prefetch, round)
					require.Equal(t, ids, k.InLine("n"), "round %d", round)
				}
				assert.Zero(t, pooltest.Count[event.JobDone](k.Spy))
				k.NoWorker()
			})
		})
	}
}

// stopAmid starts a pool and stops it once all of its processors are busy. A third of the jobs returns when it hears of
// the stop, the others when their ctx ends.
func (k *kit) stopAmid(concurrency, prefetch, round int) {
	k.T.Helper()
	options := k.Options()
	options.Prefetch, options.ShutdownTimeout = prefetch, -1
	pool := work.NewWorkerPool(nil, concurrency, options)
	began, stopping := make(chan struct{}, concurrency), make(chan struct{})
	pool.Job("n", func(ctx context.Context, n int) error {
		began <- struct{}{}
		if (n+round)%3 == 0 {
			<-stopping
			return work.Release(nil)
		}
		<-ctx.Done()
		return ctx.Err()
	})
	require.NoError(k.T, pool.Start(k.Ctx()))
	for range concurrency {
		pooltest.Receive(k.T, began)
	}
	go func() {
		<-pooltest.UntilStopping(pool)
		close(stopping)
	}()
	_ = k.Stop(pool) // it names what it cut short
}

// TestAStopEndsThoughAProcessorNeverComes: it has no deadline, and still waits for no more than a while.
func TestAStopEndsThoughAProcessorNeverComes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		w := k.lone(work.NewWorkerPool(nil, 2, k.Options()).Job("a", pooltest.Nothing), 2)
		w.Begin()
		w.Strand()
		stopped := make(chan error, 1)
		go func() { stopped <- w.Stop(-1) }()
		require.Nil(t, pooltest.Receive(t, stopped))
		k.NoWorker()
	})
}

// TestNothingOfAWorkerOutlivesItsStop whatever a Connection of the program does to the goroutine that stops it.
func TestNothingOfAWorkerOutlivesItsStop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == "forget" {
				runtime.Goexit()
			}
			return pass(ctx, calls...)
		}})
		require.NoError(t, pool.Start(k.Ctx()))
		require.ErrorContains(t, pool.Stop(k.Ctx()), "runtime.Goexit")
		assert.Error(t, pool.Life().Err())
	})
}

func TestWhatDidNotBeginGoesBackInOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var want []string
		var entries []work.Entry
		for range 200 {
			entries = append(entries, work.Entry{Name: "a"})
		}
		receipts, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		for _, receipt := range receipts {
			want = append(want, receipt.ID)
		}
		pool := work.NewWorkerPool(nil, 200, k.Options()).Job("a", pooltest.Nothing)
		// The stop begins after the fetch has claimed and before a processor has taken anything up.
		w := k.lone(pool, 200)
		w.Halt()
		w.Begin()
		require.Eventually(t, func() bool { return w.Unbegun() == 200 }, pooltest.Patience, time.Millisecond)
		require.Nil(t, w.Stop(pooltest.Patience))
		assert.Equal(t, want, k.InLine("a"))
		assert.Equal(t, 200, pooltest.Count[event.JobReleased](k.Spy))
		assert.Zero(t, pooltest.Count[event.JobStarted](k.Spy))
		k.NoWorker()
	})
}

// A pool that has not moved what is due: it is named although nothing of it waits in its queue.
func TestADrainThatIsOverNamesWhatIsDue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for _, name := range []string{"a", "other"} {
			_, err := k.Enq.EnqueueIn(k.Ctx(), name, time.Hour)
			require.NoError(t, err)
		}
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
		assert.Empty(t, pool.WhatIsLeft(pooltest.StoreOf(k.Enq)), "it is not due yet")
		for _, id := range k.Strings("ZRANGE", "scheduled", 0, -1) {
			k.Do("ZADD", "scheduled", "XX", 1, id)
		}
		assert.Equal(t, ` (queue "a" has 0 waiting and 0 running, and more that is due)`,
			pool.WhatIsLeft(pooltest.StoreOf(k.Enq)))
	})
}

// TestAnOutcomeOfAFencedWorkerCountsWhileNobodyTookItsJob: the job was done, and doing it again would be worse.
func TestAnOutcomeOfAFencedWorkerCountsWhileNobodyTookItsJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		done := make(chan struct{})
		began := make(chan struct{}, 10)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(ctx context.Context) error {
			began <- struct{}{}
			<-ctx.Done()
			close(done)
			return nil
		}))
		pool.StopDaemons() // so that nobody takes the job, however long the handler needs on a busy machine
		k.Enqueue("n")
		pooltest.Receive(t, began)
		require.Equal(t, 1, k.Number("SREM", "workers", pooltest.WorkerID(pool)))
		pooltest.Receive(t, done)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Empty(t, began)
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
		k.Empty("n")
	})
}

// claim has a worker claim a job that waits, beside its fetcher.
func (k *kit) claim(worker, queue, id string) *rdb.FetchedJob {
	k.T.Helper()
	element := "9:" + id
	record := k.Text("HGET", "jobs", id)
	require.Equal(k.T, 1, k.Number("LREM", "queue:"+queue, 0, id))
	k.Do("LPUSH", "worker:"+worker+":inprocess:"+queue, element)
	k.Do("HSET", "claimed", id, fmt.Sprintf("%s 9 %d %s", worker, time.Now().UnixMilli(), queue))
	return &rdb.FetchedJob{Claim: rdb.Claim{Queue: queue, Element: element}, ID: id, Record: []byte(record)}
}

// A run that was fetched and has not begun when its job is cancelled does not begin.
func TestARunThatIsCalledOffBeforeItBeginsDoesNotBegin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		gate, ran := make(chan struct{}), make(chan string, 2)
		options := k.Options()
		options.Observers = append(options.Observers, work.ObserverFunc(func(e event.Event) {
			if started, is := e.(event.JobStarted); is && started.Name == "first" {
				<-gate // the processor goes no further
			}
		}))
		pool := k.Start(work.NewWorkerPool(nil, 1, options).
			Job("first", func() error { return nil }).
			Job("second", func(job *work.Job) error { ran <- job.ID; return nil }))
		k.Enqueue("first")
		pooltest.Await[event.JobStarted](t, k.Spy, nil)
		id := k.Enqueue("second").ID
		calledOff, process := pool.Fetched("second", *k.claim(pooltest.WorkerID(pool), "second", id))
		require.Equal(t, work.CancelFlagged, k.Cancel(id).Effect)
		pooltest.Receive(t, calledOff)
		process()
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobCancelled](id))
		close(gate)
		k.Drained(pool)
		assert.Empty(t, ran)
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
		k.Empty("first", "second")
		k.Unflagged()
	})
}
