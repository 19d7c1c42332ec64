package goredis

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redisconn/drivertest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/redistest/topology"
)

// of is the driver on a client of a cluster, which ends with the test.
func of(t *testing.T, c *topology.Cluster) redisconn.Driver {
	t.Helper()
	d, err := owned(redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()}))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

// While a slot moves, each call runs where all of its keys are, once, and is refused where they are in two places.
func TestACallRunsWhereItsKeysAreWhileTheirSlotMoves(t *testing.T) {
	t.Parallel()
	c := topology.StartCluster(t, topology.ClusterOptions{Primaries: 2})
	d := of(t, c)
	const gone, here, none = "{shop}:gone", "{shop}:here", "{shop}:none"
	slot := topology.Slot(gone)
	drivertest.Do(t, d, "SET", gone, 1)
	from := c.Owner(slot)
	to := c.Primaries()[0]
	if to == from {
		to = c.Primaries()[1]
	}
	conn, err := d.Dial(t.Context())
	require.NoError(t, err)
	defer func() { conn.Close() }() //lint:ignore errcheck the end of the test
	move := c.Move(to, slot)
	require.Equal(t, 1, move.Keys(10))

	script := drivertest.Script(t, `return redis.call('INCR', KEYS[1])`) // of which no server knows the hash
	run := redisconn.Call{Script: script, Keys: []string{gone}}
	drivertest.Do(t, d, "PING")
	for i, on := range []interface {
		Pipeline(context.Context, ...redisconn.Call) ([]redisconn.Reply, error)
	}{d, conn} {
		at := int64(3 * i)
		replies, err := on.Pipeline(t.Context(), increment(gone), run,
			redisconn.Call{Command: "WAIT", Args: []any{0, 1}}, run)
		require.NoError(t, err)
		assert.Equal(t,
			[]redisconn.Reply{{Value: at + 2}, {Value: at + 3}, {Value: int64(0)}, {Value: at + 4}}, replies)
	}
	assert.True(t, conn.Broken(), "its owner dials again, to who has the slot then")
	require.NoError(t, conn.Close())
	conn, err = d.Dial(t.Context())
	require.NoError(t, err)
	value, err := to.Do("GET", gone)
	require.ErrorContains(t, err, "MOVED", value)
	value, err = from.Do("EXISTS", gone)
	require.ErrorContains(t, err, "ASK", value)

	assert.Equal(t, int64(1), drivertest.Do(t, d, "INCR", none), "what is nowhere begins at the new server")
	both := redisconn.Call{Command: "EXISTS", Keys: []string{none}, Args: []any{here}}
	replies, err := d.Pipeline(t.Context(), both)
	require.NoError(t, err)
	require.ErrorContains(t, replies[0].Err, "TRYAGAIN")
	assert.Equal(t, redisconn.ErrorClass{Again: true}, redisconn.Classify(replies[0].Err))

	popped := make(chan any, 1)
	go func() {
		value, err := redisconn.Do(context.WithoutCancel(t.Context()), conn, redisconn.Call{Command: "BLPOP",
			Keys: []string{"{shop}:list"}, Args: []any{"30"}, Block: 30 * time.Second})
		popped <- []any{value, err}
	}()
	require.Eventually(t, func() bool { return to.Info("blocked_clients") == "1" }, time.Minute, time.Millisecond)
	drivertest.Do(t, d, "RPUSH", "{shop}:list", "x")
	assert.Equal(t, []any{[]any{[]byte("{shop}:list"), []byte("x")}, nil}, <-popped)

	move.End()
	assert.Equal(t, []byte("7"), drivertest.Do(t, d, "GET", gone))
	value, err = to.Do("GET", gone)
	require.NoError(t, err)
	assert.Equal(t, []byte("7"), value)
}

// tally is what became of jobs, and what an observer was told that should not have been.
type tally struct {
	namespace string

	mu      sync.Mutex
	ran     map[string]int
	trouble []event.Event
}

func (y *tally) run(job *work.Job) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.ran[job.ID]++
	return nil
}

func (y *tally) observe(e event.Event) {
	switch e.(type) {
	case event.ClaimGone, event.JobBuried, event.WorkerFenced, event.WorkerReaped, event.JobFailed, event.DataLost:
		y.mu.Lock()
		defer y.mu.Unlock()
		y.trouble = append(y.trouble, e)
	}
}

func (y *tally) count() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return len(y.ran)
}

// producer enqueues one job after the other.
type producer struct {
	enq      *work.Enqueuer
	stop     chan struct{}
	stopped  sync.WaitGroup
	mu       sync.Mutex
	accepted []string
	failed   []error
}

func produce(ctx context.Context, enq *work.Enqueuer) *producer {
	p := &producer{enq: enq, stop: make(chan struct{})}
	p.stopped.Go(func() {
		for {
			select {
			case <-p.stop:
				return
			default:
			}
			receipt, err := enq.Enqueue(ctx, "note")
			p.mu.Lock()
			if err != nil {
				p.failed = append(p.failed, err)
			} else {
				p.accepted = append(p.accepted, receipt.ID)
			}
			p.mu.Unlock()
		}
	})
	return p
}

func (p *producer) many() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.accepted)
}

// reach waits until so many more jobs were accepted, and as many ran.
func (p *producer) reach(t *testing.T, y *tally, more int) {
	t.Helper()
	accepted, ran := p.many(), y.count()
	require.Eventually(t, func() bool { return p.many() >= accepted+more && y.count() >= ran+more }, time.Minute,
		time.Millisecond)
}

func (p *producer) end() { close(p.stop); p.stopped.Wait() }

// works starts a pool of jobs that are noted, and what enqueues them until its end is asked for.
func works(ctx context.Context, t *testing.T, dsn string) (*work.WorkerPool, *tally, *producer) {
	t.Helper()
	y := &tally{namespace: redistest.Namespace(t), ran: map[string]int{}}
	pool := work.NewWorkerPool(nil, 5, work.WorkerOptions{Redis: dsn, Namespace: y.namespace,
		Observers: []work.Observer{work.ObserverFunc(y.observe)}, Logger: slog.New(slog.DiscardHandler)}).
		Job("note", y.run)
	require.NoError(t, pool.Start(ctx))
	p := produce(ctx, pool.Enqueuer())
	p.reach(t, y, 20)
	return pool, y, p
}

// A slot moves with its keys, a few at a time, and back, under load: all jobs run, each once.
func TestJobsRunOnceWhileTheirSlotMoves(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := topology.StartCluster(t, topology.ClusterOptions{Primaries: 2})
	pool, y, p := works(ctx, t, c.DSN())
	slot := topology.Slot("{" + y.namespace + "}:")
	nodes := c.Primaries()
	for range 2 {
		to := nodes[0]
		if to == c.Owner(slot) {
			to = nodes[1]
		}
		move := c.Move(to, slot)
		for range 4 {
			move.Keys(2)
			<-time.After(50 * time.Millisecond) // so long the slot is half there
		}
		move.End()
		require.Equal(t, to, c.Owner(slot))
		p.reach(t, y, 20)
	}
	p.end()
	require.Eventually(t, func() bool { return y.count() == len(p.accepted) }, time.Minute, time.Millisecond)
	require.NoError(t, pool.Stop(ctx))
	assert.Empty(t, p.failed)
	assert.Empty(t, y.trouble)
	for _, id := range p.accepted {
		assert.Equal(t, 1, y.ran[id], id)
	}
}
