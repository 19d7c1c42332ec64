package work_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
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
			k.Do("SREM", "workers", pool.ID())
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
		k.Do("UNLINK", "worker:"+pool.ID()+":inprocess:taken")
		close(goOn)
		pooltest.Await[event.ClaimGone](t, k.Spy, nil)
		for range 40 {
			k.Enqueue("any")
		}
		require.Eventually(t, func() bool { return pool.Slots().Held() == 0 }, pooltest.Patience,
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
