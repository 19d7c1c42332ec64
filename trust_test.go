package work

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// held is a job as Redis has it while a worker holds it: what a replica may bring back that has missed its end.
type held struct {
	id, list, element            string
	record, claim, digest, owner string
}

// snapshot is taken while the job runs, which is unique and has a place under a limit.
func (k *kit) snapshot(p *WorkerPool, job Receipt) held {
	k.t.Helper()
	h := held{id: job.ID, list: "worker:" + p.id() + ":inprocess:" + job.Name}
	h.element = k.strings("LRANGE", h.list, 0, 0)[0]
	h.record, h.claim = k.text("HGET", "jobs", h.id), k.text("HGET", "claimed", h.id)
	lock := k.strings("HGETALL", "unique")
	require.Len(k.t, lock, 2)
	h.digest, h.owner = lock[0], lock[1]
	return h
}

// rewind brings it back.
func (k *kit) rewind(h held) {
	k.t.Helper()
	k.do("HSET", "jobs", h.id, h.record)
	k.do("HSET", "unique", h.digest, h.owner)
	k.do("SADD", "running:quiet", h.id)
	k.do("HSET", "claimed", h.id, h.claim)
	k.do("LPUSH", h.list, h.element)
}

// quietPool has one processor for jobs named quiet, one of which may run at a time, and for some that block until they
// are let go.
func (k *kit) quietPool(options WorkerOptions, g *door) *WorkerPool {
	return NewWorkerPool(nil, 1, options).
		JobWithOptions("quiet", JobOptions{Limit: Limit{Concurrent: 1}}, g.pass).Job("busy", g.pass)
}

// door is a handler that tells of each run, and ends it when the test says so.
type door struct{ began, leave chan string }

func newDoor() *door { return &door{began: make(chan string, 100), leave: make(chan string)} }

func (g *door) pass(job *Job) error {
	g.began <- job.ID
	<-g.leave
	return nil
}

func quietEntry() Entry {
	return Entry{Name: "quiet", Options: []EnqueueOption{Unique(UniqueOptions{Key: "only"})}}
}

// unlocked checks that a job that came back has left nothing behind.
func (k *kit) unlocked() {
	k.t.Helper()
	k.empty("quiet", "busy")
	assert.Zero(k.t, k.number("HLEN", "unique"))
	assert.Zero(k.t, k.number("SCARD", "running:quiet"))
	next := quietEntry()
	next.In = time.Hour
	assert.False(k.t, k.duplicate(next), "the next one is no duplicate")
}

// Nothing calls for a look here: the connections last, and nobody enqueues into the queue.
func TestAClaimThatCameBackIsFoundInTurn(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"the worker is idle": false, "all of its processors are busy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) { testClaimThatCameBack(t, s, busy, false) })
		})
	}
	t.Run("the worker is paused", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, s redistest.Server) { testClaimThatCameBack(t, s, false, true) })
	})
}

func testClaimThatCameBack(t *testing.T, s redistest.Server, busy, paused bool) {
	k, g := newKit(t, s), newDoor()
	pool := k.quietPool(k.options(), g)
	pool.surveyRound = 300 * time.Millisecond
	k.start(pool)
	job, err := k.enqueueEntry(quietEntry())
	require.NoError(t, err)
	receive(t, g.began)
	seen := k.snapshot(pool, job)
	g.leave <- ""
	k.until("it has ended", func() bool { return k.number("HLEN", "claimed") == 0 })
	if busy {
		k.enqueue("busy")
		receive(t, g.began)
	}
	if paused {
		require.NoError(t, k.inspector().PauseWorker(k.ctx(), pool.id()))
		await(t, k.spy, func(e event.WorkerTold) bool { return e.Wanted == "pause" })
	}
	k.rewind(seen)
	assert.Equal(t, event.JobsReturned{Worker: pool.id(), Jobs: 1}, await[event.JobsReturned](t, k.spy, nil))
	if busy {
		g.leave <- ""
	}
	if paused {
		require.NoError(t, k.inspector().ResumeWorker(k.ctx(), pool.id()))
	}
	assert.Equal(t, job.ID, receive(t, g.began), "it runs again")
	g.leave <- ""
	k.drained(pool)
	k.unlocked()
}

// Whoever answers after a connection was lost may not know what was acknowledged before.
func TestAClaimThatCameBackIsFoundAfterALostConnection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, g := newKit(t, s), newDoor()
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.options()
		options.Redis = proxy.DSN()
		pool := k.quietPool(options, g)
		pool.surveyRound = time.Hour
		d := k.tamper(pool, &tampered{})
		k.start(pool)
		job, err := k.enqueueEntry(quietEntry())
		require.NoError(t, err)
		receive(t, g.began)
		seen := k.snapshot(pool, job)
		g.leave <- ""
		k.until("it has ended", func() bool { return k.number("HLEN", "claimed") == 0 })
		d.untilSent(t, "survey", 1) // so what it has touched was asked about
		k.rewind(seen)
		proxy.Cut()
		assert.Equal(t, job.ID, receive(t, g.began), "it runs again")
		g.leave <- ""
		k.drained(pool)
		k.unlocked()
	})
}

// A replica that has not heard of the end of a job takes over. Its queue is quiet: nobody enqueues into it.
func TestAReplicaThatTakesOverWedgesNothingRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		master := redistest.Dedicated(t)
		host, port, err := net.SplitHostPort(master.Addr())
		require.NoError(t, err)
		replica := redistest.Dedicated(t, "--replicaof", host, port)
		awaitReplica(t, replica.Addr())
		k, g := newKit(t, master.Server()), newDoor()
		proxy := redistest.NewProxy(t, master.Addr())
		options := k.options()
		options.Redis = proxy.DSN()
		pool := k.quietPool(options, g)
		pool.surveyRound = time.Hour
		d := k.tamper(pool, &tampered{})
		k.start(pool)
		job, err := k.enqueueEntry(quietEntry())
		require.NoError(t, err)
		receive(t, g.began)
		claimed := fmt.Sprintf("{%s}:claimed", k.namespace)
		conn, err := redis.Dial("tcp", replica.Addr())
		require.NoError(t, err)
		defer conn.Close()
		k.until("the replica knows that it runs", func() bool {
			n, err := redis.Int(conn.Do("HLEN", claimed))
			return err == nil && n == 1
		})
		_, err = conn.Do("REPLICAOF", "NO", "ONE")
		require.NoError(t, err)
		g.leave <- ""
		k.until("it has ended", func() bool { return k.number("HLEN", "claimed") == 0 })
		d.untilSent(t, "survey", 1) // so what it has touched was asked about
		k.server = replica.Server()
		proxy.Redirect(replica.Addr())
		proxy.Cut()
		k.enq, err = NewEnqueuer(replica.DSN(), Namespace(k.namespace))
		require.NoError(t, err)
		t.Cleanup(func() { _ = k.enq.Close() })
		assert.True(t, k.duplicate(quietEntry()), "until the job has run again")
		assert.Equal(t, job.ID, receive(t, g.began), "it runs again")
		g.leave <- ""
		k.drained(pool)
		k.unlocked()
	})
}

// A worker of many names asks about all of them in a round, in steps, and about no more.
func TestARoundAsksAboutEachNameOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const names = 1200
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 1, k.options())
		for i := range names {
			pool.Job(fmt.Sprint("n", i), nothing)
		}
		pool.surveyRound = time.Second
		var mu sync.Mutex
		var asked []int
		steps := make(chan struct{}, 100)
		k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			if n := len(calls[0].Keys) - 2; nameOf(calls[0]) == "survey" && n > 0 {
				mu.Lock()
				asked = append(asked, n)
				mu.Unlock()
				steps <- struct{}{}
			}
			return pass(ctx, calls...)
		}})
		k.start(pool)
		for range 6 {
			receive(t, steps)
		}
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, []int{500, 500, 200, 500, 500, 200}, slices.Clone(asked[:6]))
	})
}
