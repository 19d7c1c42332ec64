package work

import (
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func TestAGivenPoolSmallerThanTheConcurrency(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, row := range map[string]*redis.Pool{
			"one connection, no Wait": {MaxActive: 1, MaxIdle: 1},
			"two, no Wait":            {MaxActive: 2, MaxIdle: 2},
			"one, with Wait":          {MaxActive: 1, MaxIdle: 1, Wait: true},
			"two, none kept":          {MaxActive: 2},
		} {
			t.Run(name, func(t *testing.T) {
				k := newKit(t, s)
				given := row
				given.Dial = func() (redis.Conn, error) { return redis.Dial("tcp", s.Addr()) }
				defer given.Close() //lint:ignore errcheck a test's
				options := k.options()
				options.Redis, options.Connection = "", Redigo(given)
				pool := NewWorkerPool(nil, 20, options)
				pool.Job("first", func() error {
					_, err := pool.Enqueuer().Enqueue(k.ctx(), "second")
					return err
				}).Job("second", nothing)
				require.NoError(t, pool.Start(k.ctx()))
				_, err := k.enq.EnqueueMany(k.ctx(), make40("first"))
				require.NoError(t, err)
				require.NoError(t, pool.Drain(k.ctx()))
				require.NoError(t, pool.Stop(k.ctx()))
				assert.Equal(t, 80, count[event.JobDone](k.spy))
				assert.Empty(t, k.allTroubles())
				k.empty("first", "second")
				k.noWorker()
			})
		}
	})
}

func make40(name string) []Entry {
	entries := make([]Entry, 40)
	for i := range entries {
		entries[i].Name = name
	}
	return entries
}

func TestAConnectionSharedByPoolsAndAnEnqueuerIsNotClosed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		shared := redisPool(t, s)
		enq, err := NewEnqueuer("", WithConnection(shared), Namespace(k.namespace))
		require.NoError(t, err)
		options := k.options()
		options.Redis, options.Connection = "", shared
		ran := make(chan string, 4)
		first := NewWorkerPool(nil, 1, options).Job("a", func(job *Job) error { ran <- job.ID; return nil })
		second := NewWorkerPool(nil, 1, options).Job("b", func(job *Job) error { ran <- job.ID; return nil })
		require.NoError(t, first.Start(k.ctx()))
		require.NoError(t, second.Start(k.ctx()))
		require.NoError(t, first.Stop(k.ctx()))

		receipt, err := enq.Enqueue(k.ctx(), "b")
		require.NoError(t, err)
		assert.Equal(t, receipt.ID, receive(t, ran), "the other pool and the enqueuer go on")
		require.NoError(t, second.Stop(k.ctx()))
		require.NoError(t, enq.Close())

		third := NewWorkerPool(nil, 1, options).Job("c", func(job *Job) error { ran <- job.ID; return nil })
		k.start(third)
		receipt, err = third.Enqueuer().Enqueue(k.ctx(), "c")
		require.NoError(t, err, "the connection serves whoever comes next")
		assert.Equal(t, receipt.ID, receive(t, ran))
	})
}

func TestAllProcessorsOfALargePoolWorkAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const all = 600
		k := newKit(t, s)
		var arrived sync.WaitGroup
		arrived.Add(all)
		leave := make(chan struct{})
		pool := k.start(NewWorkerPool(nil, all, k.options()).
			Job("a", func() error { arrived.Done(); <-leave; return nil }))
		assert.Equal(t, 1, count[event.WorkerStarted](k.spy))
		var entries []Entry
		for range all {
			entries = append(entries, Entry{Name: "a"})
		}
		_, err := k.enq.EnqueueMany(k.ctx(), entries)
		require.NoError(t, err)
		together := make(chan struct{})
		go func() { arrived.Wait(); close(together) }()
		receive(t, together)
		assert.Equal(t, 3, count[event.WorkerStarted](k.spy))
		close(leave)
		require.NoError(t, pool.Drain(k.ctx()))
		require.NoError(t, pool.Stop(k.ctx()))
		assert.Equal(t, 3, count[event.WorkerStopped](k.spy))
		k.noWorker()
	})
}

// allTroubles are the reports of background work that failed.
func (k *kit) allTroubles() (found []event.Trouble) {
	events, _ := k.spy.all()
	for _, e := range events {
		if trouble, ok := e.(event.Trouble); ok {
			found = append(found, trouble)
		}
	}
	return found
}
