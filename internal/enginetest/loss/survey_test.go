package loss_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// held is a job as Redis has it while a worker holds it: what a replica may bring back that has missed its end.
type held struct {
	id, list, element            string
	record, claim, digest, owner string
}

// snapshot is taken while the job runs, which is unique and has a place under a limit.
func (k *kit) snapshot(p *work.WorkerPool, job work.Receipt) held {
	k.T.Helper()
	h := held{id: job.ID, list: "worker:" + pooltest.WorkerID(p) + ":inprocess:" + job.Name}
	h.element = k.Strings("LRANGE", h.list, 0, 0)[0]
	h.record, h.claim = k.Text("HGET", "jobs", h.id), k.Text("HGET", "claimed", h.id)
	lock := k.Strings("HGETALL", "unique")
	require.Len(k.T, lock, 2)
	h.digest, h.owner = lock[0], lock[1]
	return h
}

// rewind brings it back.
func (k *kit) rewind(h held) {
	k.T.Helper()
	k.Do("HSET", "jobs", h.id, h.record)
	k.Do("HSET", "unique", h.digest, h.owner)
	k.Do("SADD", "running:quiet", h.id)
	k.Do("HSET", "claimed", h.id, h.claim)
	k.Do("LPUSH", h.list, h.element)
}

// quietPool has one processor for jobs named quiet, one of which may run at a time, and for some that block until they
// are let go.
func (k *kit) quietPool(options work.WorkerOptions, g *pooltest.Door) *work.WorkerPool {
	return work.NewWorkerPool(nil, 1, options).
		JobWithOptions("quiet", work.JobOptions{Limit: work.Limit{Concurrent: 1}}, g.Pass).Job("busy", g.Pass)
}

func quietEntry() work.Entry {
	return work.Entry{Name: "quiet", Options: []work.EnqueueOption{work.Unique(work.UniqueOptions{Key: "only"})}}
}

// unlocked checks that a job that came back has left nothing behind.
func (k *kit) unlocked() {
	k.T.Helper()
	k.Empty("quiet", "busy")
	assert.Zero(k.T, k.Number("HLEN", "unique"))
	assert.Zero(k.T, k.Number("SCARD", "running:quiet"))
	next := quietEntry()
	next.In = time.Hour
	assert.False(k.T, k.Duplicate(next), "the next one is no duplicate")
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
	k, g := newKit(t, s), pooltest.NewDoor()
	pool := k.quietPool(k.Options(), g)
	pooltest.Times(pool).Survey = 300 * time.Millisecond
	k.Start(pool)
	job, err := k.EnqueueEntry(quietEntry())
	require.NoError(t, err)
	pooltest.Receive(t, g.Began)
	seen := k.snapshot(pool, job)
	g.Leave <- ""
	k.settled(1)
	if busy {
		k.Enqueue("busy")
		pooltest.Receive(t, g.Began)
	}
	if paused {
		require.NoError(t, k.ByHand().PauseWorker(k.Ctx(), pooltest.WorkerID(pool)))
		pooltest.Await(t, k.Spy, func(e event.WorkerTold) bool { return e.Wanted == "pause" })
	}
	k.rewind(seen)
	assert.Equal(t, event.JobsReturned{Worker: pooltest.WorkerID(pool), Jobs: 1},
		pooltest.Await[event.JobsReturned](t, k.Spy, nil))
	if busy {
		g.Leave <- ""
	}
	if paused {
		require.NoError(t, k.ByHand().ResumeWorker(k.Ctx(), pooltest.WorkerID(pool)))
	}
	assert.Equal(t, job.ID, pooltest.Receive(t, g.Began), "it runs again")
	g.Leave <- ""
	k.Drained(pool)
	k.unlocked()
}

// A claim that cannot go back, since the key of its queue is broken, keeps the others of its queue waiting, and nobody
// else.
func TestAClaimThatCannotGoBackHoldsUpNoOtherQueue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, g := newKit(t, s), pooltest.NewDoor()
		pool := k.quietPool(k.Options(), g)
		pooltest.Times(pool).Survey = 300 * time.Millisecond
		k.Start(pool)
		job, err := k.EnqueueEntry(quietEntry())
		require.NoError(t, err)
		pooltest.Receive(t, g.Began)
		seen := k.snapshot(pool, job)
		g.Leave <- ""
		k.settled(1)
		k.Do("SET", "queue:quiet", "something else")
		k.rewind(seen)
		refused := func(e event.Trouble) bool { return strings.Contains(e.Component, "fetcher") }
		trouble := pooltest.Await(t, k.Spy, refused)
		assert.ErrorContains(t, trouble.Err, "queue:quiet")

		other := k.Enqueue("busy")
		assert.Equal(t, other.ID, pooltest.Receive(t, g.Began), "another queue is served")
		g.Leave <- ""

		k.Do("UNLINK", "queue:quiet")
		assert.Equal(t, job.ID, pooltest.Receive(t, g.Began), "once the key is mended it runs again")
		pooltest.Await(t, k.Spy, func(e event.TroubleOver) bool { return e.Component == trouble.Component })
		g.Leave <- ""
		k.Drained(pool)
		k.unlocked()
	})
}

// begunSurveys is how many surveys a worker has made that has asked about the time before it began.
func begunSurveys(t *testing.T, d *pooltest.Tampered) int {
	t.Helper()
	d.UntilSentInAll(t, "survey", 1)
	surveys, _ := d.Sent("survey")
	return surveys
}

// Whoever answers after a connection was lost may not know what was acknowledged before.
func TestAClaimThatCameBackIsFoundAfterALostConnection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, g := newKit(t, s), pooltest.NewDoor()
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.Options()
		options.Connection = k.Via(proxy.DSN())
		pool := k.quietPool(options, g)
		pooltest.Times(pool).Survey = time.Hour
		d := k.TamperWith(pool, &pooltest.Tampered{})
		k.Start(pool)
		surveys := begunSurveys(t, d)
		job, err := k.EnqueueEntry(quietEntry())
		require.NoError(t, err)
		pooltest.Receive(t, g.Began)
		seen := k.snapshot(pool, job)
		g.Leave <- ""
		k.settled(1)
		d.UntilSentInAll(t, "survey", surveys+1) // what it has touched was asked about: here, or while the job ran
		k.rewind(seen)
		proxy.Cut()
		assert.Equal(t, job.ID, pooltest.Receive(t, g.Began), "it runs again")
		g.Leave <- ""
		k.Drained(pool)
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
		k, g := newKit(t, master.Server()), pooltest.NewDoor()
		proxy := redistest.NewProxy(t, master.Addr())
		options := k.Options()
		options.Connection = k.Via(proxy.DSN())
		pool := k.quietPool(options, g)
		pooltest.Times(pool).Survey = time.Hour
		d := k.TamperWith(pool, &pooltest.Tampered{})
		k.Start(pool)
		surveys := begunSurveys(t, d)
		job, err := k.EnqueueEntry(quietEntry())
		require.NoError(t, err)
		pooltest.Receive(t, g.Began)
		claimed := fmt.Sprintf("{%s}:claimed", k.Namespace)
		conn, err := redis.Dial("tcp", replica.Addr())
		require.NoError(t, err)
		defer conn.Close()
		k.Until("the replica knows that it runs", func() bool {
			n, err := redis.Int(conn.Do("HLEN", claimed))
			return err == nil && n == 1
		})
		_, err = conn.Do("REPLICAOF", "NO", "ONE")
		require.NoError(t, err)
		g.Leave <- ""
		k.settled(1)
		d.UntilSentInAll(t, "survey", surveys+1) // what it has touched was asked about: here, or while the job ran
		k.Server = replica.Server()
		proxy.Redirect(replica.Addr())
		proxy.Cut()
		k.Enq, err = work.NewEnqueuer(replica.DSN(), work.Namespace(k.Namespace))
		require.NoError(t, err)
		t.Cleanup(func() { _ = k.Enq.Close() })
		assert.True(t, k.Duplicate(quietEntry()), "until the job has run again")
		assert.Equal(t, job.ID, pooltest.Receive(t, g.Began), "it runs again")
		g.Leave <- ""
		k.Drained(pool)
		k.unlocked()
	})
}

// A worker of many names asks about all of them in a round, in steps, and about no more.
func TestARoundAsksAboutEachNameOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const names = 1200
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options())
		for i := range names {
			pool.Job(fmt.Sprint("n", i), pooltest.Nothing)
		}
		pooltest.Times(pool).Survey = time.Second
		var mu sync.Mutex
		var asked []int
		steps := make(chan struct{}, 100)
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if n := len(calls[0].Keys) - 2; pooltest.NameOf(calls[0]) == "survey" && n > 0 {
				mu.Lock()
				asked = append(asked, n)
				mu.Unlock()
				steps <- struct{}{}
			}
			return pass(ctx, calls...)
		}})
		k.Start(pool)
		for range 6 {
			pooltest.Receive(t, steps)
		}
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, []int{500, 500, 200, 500, 500, 200}, slices.Clone(asked[:6]))
	})
}

func TestJobsOfAFetchWhoseReplyIsLostRunOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := pooltest.NewTally()
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.Options()
		options.Connection = k.Via(proxy.DSN())
		pool := k.Start(work.NewWorkerPool(nil, 5, options).Job("n", ran.Handle))
		warm := k.EnqueueNumbers("n", 0, 1) // so that Redis knows the script, and answers a fetch with jobs
		pooltest.Await[event.JobDone](t, k.Spy, nil)
		slots := pooltest.Parts(pool).Slots
		k.Until("all its processors are free", func() bool { return slots.Busy() == 0 })
		// Only a fetch that names the queue has these keys in this order.
		worker := fmt.Sprintf("{%s}:worker:%s:inprocess:n", k.Namespace, pooltest.WorkerID(pool))
		swallowed := proxy.SwallowReply(fmt.Sprintf("rate:n\r\n$%d\r\n%s", len(worker), worker))
		receipts := append(warm, k.EnqueueNumbers("n", 1, 6)...)
		pooltest.Receive(t, swallowed)
		returned := pooltest.Await[event.JobsReturned](t, k.Spy, nil)
		assert.Equal(t, event.JobsReturned{Worker: pooltest.WorkerID(pool), Jobs: 5}, returned)
		require.NoError(t, pool.Drain(k.Ctx()))
		ran.Once(t, receipts)
		k.Empty("n")
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
	})
}

func TestAFetchThatComesLateClaimsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := pooltest.NewTally()
		pool := work.NewWorkerPool(nil, 5, k.Options()).Job("n", ran.Handle)
		var late []redisconn.Call
		answer := make(chan redisconn.Reply, 1)
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			// the fetcher alone comes here
			if pooltest.NameOf(calls[0]) == "fetch" && len(calls[0].Keys) > 8 && late == nil {
				late = calls
				return nil, errors.New("given up")
			}
			replies, err := pass(ctx, calls...)
			if pooltest.NameOf(calls[0]) == "survey" && late != nil && len(answer) == 0 {
				belated, err := pass(ctx, late...)
				if assert.NoError(t, err) {
					answer <- belated[0]
				}
			}
			return replies, err
		}})
		receipts := k.EnqueueNumbers("n", 0, 5)
		k.Start(pool)
		assert.Equal(t, []any{[]byte("stale")}, pooltest.Receive(t, answer).Value)
		require.NoError(t, pool.Drain(k.Ctx()))
		ran.Once(t, receipts)
		assert.Zero(t, pooltest.Count[event.JobsReturned](k.Spy))
		k.Empty("n")
	})
}

// aged is a claim as if it were older than those that the doctor leaves alone.
func aged(claim string) string {
	parts := strings.SplitN(claim, " ", 4)
	parts[2] = fmt.Sprint(time.Now().Add(-2 * rdb.ClaimSettled).UnixMilli())
	return strings.Join(parts, " ")
}

func TestDoctorAsksWorkersWhatTheyHold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, g := newKit(t, s), pooltest.NewDoor()
		pool := k.quietPool(k.Options(), g)
		pooltest.Times(pool).Survey = time.Hour
		k.Start(pool)
		examine := func(repair bool) (found []enginetest.SeenFinding) {
			look := k.ByHand().Findings
			if repair {
				look = k.ByHand().Repairs
			}
			findings, err := look(k.Ctx(), 0)
			require.NoError(t, err)
			for _, f := range findings {
				if f.Check != "server" {
					found = append(found, f)
				}
			}
			return found
		}
		job, err := k.EnqueueEntry(quietEntry())
		require.NoError(t, err)
		pooltest.Receive(t, g.Began)
		came := k.snapshot(pool, job)
		came.claim = aged(came.claim)
		k.Do("HSET", "claimed", job.ID, came.claim)
		for _, repair := range []bool{false, true} {
			assert.Empty(t, examine(repair), "it runs, for however long")
		}
		g.Leave <- ""
		k.settled(1)

		k.rewind(came)
		for _, repair := range []bool{false, true} {
			found := examine(repair)
			require.Len(t, found, 1, "%+v", found)
			assert.Equal(t, "forgotten-claim", found[0].Check)
			assert.Equal(t, job.ID, found[0].ID)
			assert.Equal(t, repair, found[0].Repaired)
		}
		assert.Equal(t, job.ID, pooltest.Receive(t, g.Began), "it runs again")
		g.Leave <- ""
		k.Drained(pool)
		k.unlocked()
	})
}

func TestDoctorNamesAWorkerThatDoesNotSayWhatItHolds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("n", 0, 1)
		pool := k.Holding(t, "n", 1)
		silent := pooltest.WorkerID(pool)
		claim := k.Strings("HVALS", "claimed")[0]
		k.Crash(pool) // its heartbeat lasts for seconds
		k.Do("PEXPIRE", "worker:"+silent, pooltest.Patience.Milliseconds())
		k.Do("HSET", "claimed", k.Strings("HKEYS", "claimed")[0], aged(claim))
		findings, err := k.ByHand().Repairs(k.Ctx(), 200*time.Millisecond)
		require.NoError(t, err)
		var found []string
		for _, f := range findings {
			if f.Check == "silent-worker" {
				found = append(found, f.ID)
			}
		}
		assert.Equal(t, []string{silent}, found)
		assert.Equal(t, 1, k.Number("HLEN", "claimed"), "it may hold it")
	})
}
