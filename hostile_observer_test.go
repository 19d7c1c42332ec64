package work

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// endsOn is an observer that ends the goroutine of whatever event of that type it is told, as t.FailNow does.
func endsOn[E event.Event]() Observer {
	return ObserverFunc(func(e event.Event) {
		if _, is := e.(E); is {
			runtime.Goexit()
		}
	})
}

func TestAFetcherIsAnsweredThoughAnObserverEndsTheHeartbeater(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.Observers = append(options.Observers, endsOn[event.WorkerFenced]())
		ran := make(chan string, 10)
		pool := k.start(NewWorkerPool(nil, 2, options).Job("any", func(job *Job) error { ran <- job.ID; return nil }))
		for range 2 {
			k.enqueue("any")
			receive(t, ran)
			k.do("SREM", "workers", pool.workers[0].claimant().rdb.ID)
			k.enqueue("any") // its fetch is refused, so the fetcher asks for a heartbeat and waits for it
			receive(t, ran)
		}
	})
}

func TestASettlementIsBookedOnceThoughAnObserverEndsTheSettler(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.Observers = append(options.Observers, endsOn[event.ClaimGone]())
		begun, goOn := make(chan struct{}, 1), make(chan struct{})
		pool := k.start(NewWorkerPool(nil, 2, options).
			Job("taken", func() error { begun <- struct{}{}; <-goOn; return nil }).
			Job("any", func() error { return nil }))
		k.enqueue("taken")
		receive(t, begun)
		k.do("UNLINK", "worker:"+pool.workers[0].claimant().rdb.ID+":inprocess:taken")
		close(goOn)
		await[event.ClaimGone](t, k.spy, nil)
		for range 40 {
			k.enqueue("any")
		}
		require.Eventually(t, func() bool { return pool.workers[0].slots.held.Load() == 0 }, patience,
			10*time.Millisecond)
		assert.Equal(t, 1, count[event.ClaimGone](k.spy))
	})
}

func TestABrokenKeyThatManyOutcomesNeedKeepsNoOtherQueueWaiting(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		kept, ran := make(chan struct{}, 200), make(chan string, 1)
		pool := NewWorkerPool(nil, 2, k.options()).
			JobWithOptions("kept", JobOptions{Retention: time.Hour},
				func() (int, error) { kept <- struct{}{}; return 1, nil }).
			Job("innocent", func(job *Job) error { ran <- job.ID; return nil })
		k.do("SET", "outcomes", "something else")
		k.start(pool)
		for range 100 { // more than a worker of this size may hold
			k.enqueue("kept")
		}
		k.enqueue("innocent")
		receive(t, ran)
		for range 100 {
			receive(t, kept)
		}
		k.do("UNLINK", "outcomes")
		require.NoError(t, pool.Drain(k.ctx()))
		k.empty("kept", "innocent")
	})
}

func TestAJobWhoseNameIsEmptyOnItsShelfIsMoved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("HSET", "jobs", "odd", `{"jid":"odd","name":"any","args":[]}`)
		k.do("HSET", "names", "odd", "")
		k.do("ZADD", "scheduled", 1, "odd")
		ran := make(chan *Job, 1)
		k.start(NewWorkerPool(nil, 2, k.options()).Job("any", func(job *Job) error { ran <- job; return nil }))
		job := receive(t, ran)
		assert.Equal(t, "odd", job.ID)
		assert.Zero(t, job.EnqueuedAt, "its record says no time")
		assert.Zero(t, await[event.JobStarted](t, k.spy, nil).Waited)
	})
}

func TestEachJobRunsOnceThoughAnObserverEndsFetcherAndSettler(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.options()
		options.Observers = append(options.Observers, endsOn[event.JobsFetched](), endsOn[event.JobsSettled]())
		ran := make(chan string, 100)
		pool := k.start(NewWorkerPool(nil, 5, options).Job("any", func(job *Job) error { ran <- job.ID; return nil }))
		const jobs = 40
		for range jobs {
			k.enqueue("any")
		}
		seen := map[string]bool{}
		for range jobs {
			id := receive(t, ran)
			assert.False(t, seen[id], "job %s ran twice", id)
			seen[id] = true
		}
		k.drained(pool)
		assert.Equal(t, jobs, count[event.JobDone](k.spy))
		assert.Empty(t, ran)
		assert.Positive(t, count[event.JobsFetched](k.spy))
		assert.Positive(t, count[event.JobsSettled](k.spy))
	})
}
