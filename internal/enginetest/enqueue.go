package enginetest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Meddler is a driver whose enqueues a test may tamper with.
type Meddler struct {
	redisconn.Driver
	Meddle func(ctx context.Context, pass func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error)
	Sends  atomic.Int64
}

// Pipeline passes on what is no enqueue.
func (m *Meddler) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if calls[0].Script == nil || !strings.HasPrefix(pooltest.NameOf(calls[0]), "enqueue") {
		return m.Driver.Pipeline(ctx, calls...)
	}
	m.Sends.Add(1)
	return m.Meddle(ctx, func() ([]redisconn.Reply, error) {
		return m.Driver.Pipeline(context.WithoutCancel(ctx), calls...)
	})
}

// OnEachMeddled is onEachRedis with an Enqueuer whose calls go through a meddler.
func OnEachMeddled(t *testing.T, test func(t *testing.T, b *EnqueueBench, m *Meddler)) {
	OnEachRedis(t, func(t *testing.T, b *EnqueueBench) {
		m := &Meddler{Driver: b.Driver}
		b.Enqueuer = pooltest.EnqueuerOn(m, b.Namespace)
		t.Cleanup(func() { assert.NoError(t, b.Enqueuer.Close()) })
		test(t, b, m)
	})
}

// EnqueueBench is an Enqueuer and, beside it, what a worker sees of the same namespace.
type EnqueueBench struct {
	*work.Enqueuer
	server    redistest.Server
	Namespace string
	Driver    redisconn.Driver
	Store     *rdb.Store
	fetches   int64
}

// OnEachRedis runs a test on each kind of Redis.
func OnEachRedis(t *testing.T, test func(t *testing.T, b *EnqueueBench), opts ...work.EnqueuerOption) {
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		test(t, NewEnqueueBench(t, s, s.DSN(), opts...))
	})
}

// NewEnqueueBench makes an Enqueuer of dsn, which may lead to the server through a proxy.
func NewEnqueueBench(t testing.TB, s redistest.Server, dsn string, opts ...work.EnqueuerOption) *EnqueueBench {
	t.Helper()
	b := &EnqueueBench{server: s, Namespace: redistest.Namespace(t)}
	enq, err := work.NewEnqueuer(dsn, append([]work.EnqueuerOption{work.Namespace(b.Namespace)}, opts...)...)
	require.NoError(t, err)
	b.Enqueuer = enq
	b.Driver, err = redisconn.Open(s.DSN())
	require.NoError(t, err)
	b.Store = rdb.NewStore(b.Driver, b.Namespace)
	t.Cleanup(func() {
		assert.NoError(t, enq.Close())
		assert.NoError(t, b.Driver.Close())
	})
	return b
}

// Worker registers a worker for these names.
func (b *EnqueueBench) Worker(t *testing.T, names ...string) *rdb.Worker {
	t.Helper()
	w := b.Store.Worker(strings.Repeat("w", rdb.MinWorkerID))
	_, _, err := w.Register(t.Context(), rdb.Registration{Life: time.Minute, Epoch: "1", Queues: names})
	require.NoError(t, err)
	return w
}

// Fetch takes all waiting jobs of a name.
func (b *EnqueueBench) Fetch(t *testing.T, name string) []rdb.FetchedJob {
	t.Helper()
	w := b.Worker(t, name)
	var all []rdb.FetchedJob
	for {
		b.fetches++
		got, err := w.Fetch(t.Context(), b.fetches, rdb.MaxBatch, false, []rdb.Share{{Queue: name, Jobs: rdb.MaxBatch}})
		require.NoError(t, err)
		require.Equal(t, rdb.Registered, got.State)
		if len(got.Jobs) == 0 {
			return all
		}
		all = append(all, got.Jobs...)
	}
}

// Complete ends fetched jobs as done.
func (b *EnqueueBench) Complete(t *testing.T, jobs []rdb.FetchedJob) {
	t.Helper()
	ended := make([]rdb.Ended, len(jobs))
	for i, job := range jobs {
		ended[i] = rdb.Ended{Claim: job.Claim, ID: job.ID}
	}
	w := b.Worker(t)
	settled, err := w.Settle(t.Context(), []redisconn.Call{w.Complete(ended)})
	require.NoError(t, err)
	require.NoError(t, settled[0].Err)
	require.Empty(t, settled[0].Gone)
}

// Waiting are the records of a queue, oldest first.
func (b *EnqueueBench) Waiting(t *testing.T, name string) []record.Record {
	t.Helper()
	var records []record.Record
	for _, job := range b.Fetch(t, name) {
		r, err := record.Decode(job.Record)
		require.NoError(t, err)
		assert.Equal(t, job.ID, r.ID)
		records = append(records, r)
	}
	return records
}

// Scheduled is what waits for its time, soonest first.
func (b *EnqueueBench) Scheduled(t *testing.T) []rdb.Waiting {
	t.Helper()
	due, err := b.Store.Due(t.Context(), rdb.ShelfScheduled, rdb.DueCall{Ahead: 1000 * time.Hour})
	require.NoError(t, err)
	return due.Page
}

// Command runs a plain command.
func (b *EnqueueBench) Command(t *testing.T, command string, args ...any) any {
	t.Helper()
	replies, err := b.Driver.Pipeline(t.Context(), redisconn.Call{Command: command, Args: args})
	require.NoError(t, err)
	require.NoError(t, replies[0].Err)
	return replies[0].Value
}

// Key is a key of the namespace in full.
func (b *EnqueueBench) Key(name string) string { return "{" + b.Namespace + "}:" + name }

// End ends the only job of a queue with that outcome kept.
func (b *EnqueueBench) End(t *testing.T, name string, kept record.Outcome) {
	t.Helper()
	jobs := b.Fetch(t, name)
	require.Len(t, jobs, 1)
	w := b.Worker(t)
	ended := rdb.Ended{Claim: jobs[0].Claim, ID: jobs[0].ID, Keep: time.Hour, Outcome: kept.Encode()}
	settled, err := w.Settle(t.Context(), []redisconn.Call{w.Complete([]rdb.Ended{ended})})
	require.NoError(t, err)
	require.Empty(t, settled[0].Gone)
}

// Waited waits until Redis knows that somebody waits for the job.
func (b *EnqueueBench) Waited(t *testing.T, id string) {
	t.Helper()
	require.Eventually(t, func() bool { return b.Command(t, "HEXISTS", b.Key("waited"), id) == int64(1) },
		pooltest.Patience, time.Millisecond)
}
