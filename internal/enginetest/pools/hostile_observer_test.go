package pools_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// endsOn is an observer that ends the goroutine of whatever event of that type it is told, as t.FailNow does.
func endsOn[E event.Event]() work.Observer {
	return work.ObserverFunc(func(e event.Event) {
		if _, is := e.(E); is {
			runtime.Goexit()
		}
	})
}

func TestAFetcherIsAnsweredThoughAnObserverEndsTheHeartbeater(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.Observers = append(options.Observers, endsOn[event.WorkerFenced]())
		ran := make(chan string, 10)
		pool := k.Start(work.NewWorkerPool(nil, 2, options).
			Job("any", func(job *work.Job) error { ran <- job.ID; return nil }))
		for range 2 {
			k.Enqueue("any")
			pooltest.Receive(t, ran)
			k.Do("SREM", "workers", pooltest.WorkerID(pool))
			k.Enqueue("any") // its fetch is refused, so the fetcher asks for a heartbeat and waits for it
			pooltest.Receive(t, ran)
		}
	})
}

func TestASettlementIsBookedOnceThoughAnObserverEndsTheSettler(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.Observers = append(options.Observers, endsOn[event.ClaimGone]())
		begun, goOn := make(chan struct{}, 1), make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, 2, options).
			Job("taken", func() error { begun <- struct{}{}; <-goOn; return nil }).
			Job("any", func() error { return nil }))
		k.Enqueue("taken")
		pooltest.Receive(t, begun)
		k.Do("UNLINK", "worker:"+pooltest.WorkerID(pool)+":inprocess:taken")
		close(goOn)
		pooltest.Await[event.ClaimGone](t, k.Spy, nil)
		for range 40 {
			k.Enqueue("any")
		}
		require.Eventually(t, func() bool { return pooltest.Parts(pool).Slots.Held() == 0 }, pooltest.Patience,
			10*time.Millisecond)
		assert.Equal(t, 1, pooltest.Count[event.ClaimGone](k.Spy))
	})
}

func TestABrokenKeyThatManyOutcomesNeedKeepsNoOtherQueueWaiting(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		kept, ran := make(chan struct{}, 200), make(chan string, 1)
		pool := work.NewWorkerPool(nil, 2, k.Options()).
			JobWithOptions("kept", work.JobOptions{Retention: time.Hour},
				func() (int, error) { kept <- struct{}{}; return 1, nil }).
			Job("innocent", func(job *work.Job) error { ran <- job.ID; return nil })
		k.Do("SET", "outcomes", "something else")
		k.Start(pool)
		for range 100 { // more than a worker of this size may hold
			k.Enqueue("kept")
		}
		k.Enqueue("innocent")
		pooltest.Receive(t, ran)
		for range 100 {
			pooltest.Receive(t, kept)
		}
		k.Do("UNLINK", "outcomes")
		require.NoError(t, pool.Drain(k.Ctx()))
		k.Empty("kept", "innocent")
	})
}

func TestAJobWhoseNameIsEmptyOnItsShelfIsMoved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("HSET", "jobs", "odd", `{"jid":"odd","name":"any","args":[]}`)
		k.Do("HSET", "names", "odd", "")
		k.Do("ZADD", "scheduled", 1, "odd")
		ran := make(chan *work.Job, 1)
		k.Start(work.NewWorkerPool(nil, 2, k.Options()).
			Job("any", func(job *work.Job) error { ran <- job; return nil }))
		job := pooltest.Receive(t, ran)
		assert.Equal(t, "odd", job.ID)
		assert.Zero(t, job.EnqueuedAt, "its record says no time")
		assert.Zero(t, pooltest.Await[event.JobStarted](t, k.Spy, nil).Waited)
	})
}

func TestEachJobRunsOnceThoughAnObserverEndsFetcherAndSettler(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.Observers = append(options.Observers, endsOn[event.JobsFetched](), endsOn[event.JobsSettled]())
		ran := make(chan string, 100)
		pool := k.Start(work.NewWorkerPool(nil, 5, options).
			Job("any", func(job *work.Job) error { ran <- job.ID; return nil }))
		const jobs = 40
		for range jobs {
			k.Enqueue("any")
		}
		seen := map[string]bool{}
		for range jobs {
			id := pooltest.Receive(t, ran)
			assert.False(t, seen[id], "job %s ran twice", id)
			seen[id] = true
		}
		k.Drained(pool)
		assert.Equal(t, jobs, pooltest.Count[event.JobDone](k.Spy))
		assert.Empty(t, ran)
		assert.Positive(t, pooltest.Count[event.JobsFetched](k.Spy))
		assert.Positive(t, pooltest.Count[event.JobsSettled](k.Spy))
	})
}

// askedGate is a place where a processor asks whether a job may begin, and what is told there.
type askedGate struct {
	ends   work.Observer // ends the goroutine that tells it
	entry  work.Entry
	script string // of the gate's request
	// answer is what becomes of the n-th request of the gate; pass sends it on
	answer func(k *kit, id string, n int, pass func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error)
	then   func(k *kit, id string) // what the job waits for; nil where it runs by itself
	never  bool                    // it does not run
}

// failsOnce loses the first request of a gate.
func failsOnce(_ *kit, _ string, n int, pass func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error) {
	if n == 1 {
		return nil, pooltest.ErrLuck
	}
	return pass()
}

func gates() map[string]askedGate {
	unique := pooltest.Only(work.UniqueOptions{Until: work.UntilStarted})
	deferred := func(k *kit, _ string) {
		k.Until("it was put off", func() bool { return k.Number("ZCARD", "scheduled") == 1 })
		k.DueNow("scheduled")
	}
	endsOnce := func(end func()) func(*kit, string, int, func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error) {
		return func(_ *kit, _ string, n int, pass func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error) {
			if n == 1 {
				end()
			}
			return pass()
		}
	}
	return map[string]askedGate{
		"trouble": {ends: endsOn[event.Trouble](), entry: unique, script: "begin", answer: failsOnce},
		"the end of trouble": {ends: endsOn[event.TroubleOver](), entry: unique, script: "begin",
			answer: failsOnce},
		"released": {ends: endsOn[event.JobReleased](), entry: unique, script: "begin",
			answer: func(_ *kit, _ string, n int, pass func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error) {
				if n == 1 {
					return []redisconn.Reply{{Value: int64(0)}}, nil // its claim is gone
				}
				return pass()
			}},
		"cancelled": {ends: endsOn[event.JobCancelled](), entry: unique, script: "begin", never: true,
			answer: func(k *kit, id string, n int, _ func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error) {
				if n == 1 {
					_, err := k.Enq.Cancel(context.Background(), id)
					assert.NoError(k.T, err)
				}
				return nil, pooltest.ErrLuck // until the worker has heard of it
			}},
		"snoozed": {ends: endsOn[event.JobSnoozed](), entry: work.Entry{Name: "report"}, script: "mark_suspect",
			answer: failsOnce, then: deferred},
		"its connection ends the goroutine": {ends: pooltest.NewSpy(), entry: unique, script: "begin",
			answer: endsOnce(runtime.Goexit), then: deferred},
		"its connection panics": {ends: pooltest.NewSpy(), entry: unique, script: "begin",
			answer: endsOnce(func() { panic("no line") }), then: deferred},
	}
}

// TestAnObserverThatEndsAProcessorAtAGateTakesNothingWithIt: the only processor and the only place of the quota are
// free again, the job goes where it belongs, and a stop that has all the time comes to its end.
func TestAnObserverThatEndsAProcessorAtAGateTakesNothingWithIt(t *testing.T) {
	t.Parallel()
	for name, g := range gates() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				options := k.Options()
				options.Observers = append(options.Observers, g.ends)
				ran, requests := make(chan string, 10), atomic.Int64{}
				pool := work.NewWorkerPool(nil, 1, options).JobWithOptions("report", work.JobOptions{MaxRunning: 1},
					func(job *work.Job) error { ran <- job.ID; return nil })
				receipt, err := k.EnqueueEntry(g.entry)
				require.NoError(t, err)
				if g.script == "mark_suspect" {
					k.Do("HSET", "crashes", receipt.ID, "w1 w2")
				}
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					if pooltest.NameOf(calls[0]) != g.script {
						return pass(ctx, calls...)
					}
					return g.answer(k, receipt.ID, int(requests.Add(1)),
						func() ([]redisconn.Reply, error) { return pass(ctx, calls...) })
				}})
				require.NoError(t, pool.Start(k.Ctx()))
				if g.then != nil {
					g.then(k, receipt.ID)
				}
				if !g.never {
					assert.Equal(t, receipt.ID, pooltest.Receive(t, ran))
				}
				other := k.Enqueue("report").ID
				assert.Equal(t, other, pooltest.Receive(t, ran), "the pool goes on")
				k.Drained(pool)
				k.stopsInPeace(t, pool)
				assert.Positive(t, requests.Load(), "the gate was asked")
				assert.Empty(t, ran)
				k.Empty("report")
			})
		})
	}
}

// stopsInPeace stops a pool without a deadline, and checks that nothing of it is left.
func (k *kit) stopsInPeace(t *testing.T, pool *work.WorkerPool) {
	t.Helper()
	stopped := make(chan error, 1)
	go func() { stopped <- pool.Stop(context.Background()) }()
	require.NoError(t, pooltest.Receive(t, stopped))
	assert.Zero(t, pooltest.Parts(pool).Slots.Busy())
	assert.Zero(t, pooltest.Parts(pool).Slots.Queued())
	k.NoWorker()
}

// TestAnObserverThatEndsAProcessorAtALateJobTakesNothingWithIt is the same for jobs whose time passes while they wait
// for a processor.
func TestAnObserverThatEndsAProcessorAtALateJobTakesNothingWithIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ends   work.Observer
		late   func(at time.Time) work.EnqueueOption
		morgue int
	}{
		"expired": {endsOn[event.JobExpired](), work.ExpireAt, 0},
		"buried":  {endsOn[event.JobBuried](), work.Deadline, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				options := k.Options()
				options.Observers, options.Prefetch = append(options.Observers, tt.ends), 1
				begun, goOn, ran := make(chan struct{}, 1), make(chan struct{}), make(chan string, 10)
				pool := work.NewWorkerPool(nil, 1, options).
					Job("long", func() error { begun <- struct{}{}; <-goOn; return nil }).
					JobWithOptions("late", work.JobOptions{MaxRunning: 1},
						func(job *work.Job) error { ran <- job.ID; return nil })
				require.NoError(t, pool.Start(k.Ctx()))
				k.Enqueue("long")
				pooltest.Receive(t, begun)
				at := pooltest.Parts(pool).Clock.Now().Add(time.Second)
				_, err := k.Enq.With(tt.late(at)).Enqueue(k.Ctx(), "late")
				require.NoError(t, err)
				k.Until("it waits for the processor", func() bool { return k.Number("HLEN", "claimed") == 2 })
				k.Until("it is late",
					func() bool { return pooltest.Parts(pool).Clock.Now().After(at.Add(time.Millisecond)) })
				close(goOn)
				other := k.Enqueue("late").ID
				assert.Equal(t, other, pooltest.Receive(t, ran), "the pool goes on")
				k.Drained(pool)
				k.stopsInPeace(t, pool)
				assert.Equal(t, tt.morgue, k.Number("ZCARD", "morgue"))
				assert.Equal(t, tt.morgue, k.Number("HLEN", "jobs"), "nothing else is left")
			})
		})
	}
}

// TestAJobBeginsThoughAnObserverEndsItsGoroutine: that is not the job's failure, and costs it no attempt.
func TestAJobBeginsThoughAnObserverEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]work.Observer{
		"started": endsOn[event.JobStarted](), "checked in": endsOn[event.JobCheckedIn](),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				options := k.Options()
				options.Observers = append(options.Observers, ends)
				ran := make(chan string, 10)
				pool := work.NewWorkerPool(nil, 1, options).
					Job("any", func(ctx context.Context, job *work.Job) error {
						job.Checkin("half way")
						ran <- job.ID
						return ctx.Err()
					})
				require.NoError(t, pool.Start(k.Ctx()))
				for range 3 {
					id := k.Enqueue("any").ID
					assert.Equal(t, id, pooltest.Receive(t, ran))
				}
				k.Drained(pool)
				k.stopsInPeace(t, pool)
				assert.Equal(t, 3, pooltest.Count[event.JobDone](k.Spy))
				assert.Zero(t, pooltest.Count[event.JobFailed](k.Spy))
				assert.Empty(t, ran)
				k.Empty("any")
			})
		})
	}
}

// TestAStopEndsInGoodOrderThoughAnObserverEndsItsGoroutine: what is told in the midst of a stop keeps nothing of it
// from being done, so the worker is gone from Redis, with all that it ran.
func TestAStopEndsInGoodOrderThoughAnObserverEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]work.Observer{
		"a job is given back": endsOn[event.JobReleased](), "a handler is stuck": endsOn[event.JobStuck](),
		"the worker has stopped": endsOn[event.WorkerStopped](),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				options := k.Options()
				options.Observers = append(options.Observers, ends)
				options.Prefetch, options.ShutdownTimeout, options.FenceAfter = 3, -1, 8*time.Second
				begun, leave := make(chan string, 2), make(chan struct{})
				ids := pooltest.IdsOf(k.EnqueueNumbers("n", 0, 5))
				pool := work.NewWorkerPool(nil, 2, options).Job("n", func(job *work.Job, _ int) error {
					begun <- job.ID
					<-leave
					return nil
				})
				require.NoError(t, pool.Start(k.Ctx()))
				pooltest.Receive(t, begun)
				pooltest.Receive(t, begun)
				k.Until("all are held", func() bool { return k.Number("HLEN", "claimed") == len(ids) })
				stopped := make(chan error, 1)
				go func() { stopped <- pool.Stop(context.Background()) }()
				err := pooltest.Receive(t, stopped)
				close(leave)
				var stop *work.StopError
				require.ErrorAs(t, err, &stop)
				require.NoError(t, stop.Err)
				assert.Len(t, stop.Stuck, 2)
				assert.Equal(t, ids, k.InLine("n"), "all are back, in their order")
				assert.Equal(t, len(ids), pooltest.Count[event.JobReleased](k.Spy))
				assert.Equal(t, 2, pooltest.Count[event.JobStuck](k.Spy))
				assert.Equal(t, 1, pooltest.Count[event.WorkerStopped](k.Spy))
				k.NoWorker()
			})
		})
	}
}

// TestAnObserverThatEndsAFetcherLosesNoRoomOfAQuota: what a fetch has brought is handed on whatever is told of it.
func TestAnObserverThatEndsAFetcherLosesNoRoomOfAQuota(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.Observers = append(options.Observers, endsOn[event.TroubleOver]())
		ran, fetches := make(chan string, 10), atomic.Int64{}
		pool := work.NewWorkerPool(nil, 1, options).JobWithOptions("scarce", work.JobOptions{MaxRunning: 1},
			func(job *work.Job) error { ran <- job.ID; return nil })
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == "fetch" && fetches.Add(1) == 1 {
				return nil, pooltest.ErrLuck
			}
			return pass(ctx, calls...)
		}})
		first := k.Enqueue("scarce").ID
		require.NoError(t, pool.Start(k.Ctx()))
		assert.Equal(t, first, pooltest.Receive(t, ran))
		second := k.Enqueue("scarce").ID
		assert.Equal(t, second, pooltest.Receive(t, ran))
		pooltest.Await(t, k.Spy, func(e event.TroubleOver) bool { return e.Component == "fetcher" })
		k.Drained(pool)
		k.stopsInPeace(t, pool)
		assert.Empty(t, ran)
		k.Empty("scarce")
	})
}
