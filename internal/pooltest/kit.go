package pooltest

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Kit is what a test of a pool needs: a namespace of its own, an enqueuer, a spy, and raw access to Redis.
type Kit struct {
	T         *testing.T
	Server    redistest.Server
	Namespace string
	Spy       *Spy
	Enq       *work.Enqueuer
	Prefetch  int // of its pools; work.NoPrefetch for tests that count how many jobs run

	raw     *rdb.Store
	workers map[*work.WorkerPool]string
	crashed []*work.WorkerPool
}

// NewKit makes the kit of one test.
func NewKit(t *testing.T, s redistest.Server) *Kit {
	k := &Kit{T: t, Server: s, Namespace: redistest.Namespace(t), Spy: NewSpy()}
	var err error
	k.Enq, err = work.NewEnqueuer(s.DSN(), work.Namespace(k.Namespace), work.EnqueueTimeout(Patience))
	require.NoError(t, err)
	enq := k.Enq // a test may go on with another one
	t.Cleanup(func() { _ = enq.Close() })
	return k
}

// Part is the kit of one partition of the namespace, as if it were a namespace by itself: it must not have a map yet.
func (k *Kit) Part(i int) *Kit {
	part := &Kit{T: k.T, Server: k.Server, Namespace: partition.Namespace(k.Namespace, i), Spy: NewSpy()}
	part.Enq = EnqueuerOn(k.Raw().Driver(), part.Namespace, work.EnqueueTimeout(Patience))
	return part
}

// Options are those of a pool on the kit's Redis, which the spy observes.
func (k *Kit) Options() work.WorkerOptions {
	return work.WorkerOptions{
		Connection: k.Via(k.Server.DSN()), Namespace: k.Namespace, Observers: []work.Observer{k.Spy}, Logger: Silent(),
		ShutdownTimeout: Patience, Prefetch: k.Prefetch,
	}
}

// Another returns the options of one more pool, with an observer of its own.
func (k *Kit) Another(s *Spy) work.WorkerOptions {
	o := k.Options()
	o.Observers = []work.Observer{s}
	return o
}

// Silent is a logger that nobody reads.
func Silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// Start starts a pool and stops it at the end of the test, in good order.
func (k *Kit) Start(p *work.WorkerPool) *work.WorkerPool {
	k.T.Helper()
	before := k.Strings("SMEMBERS", "workers")
	require.NoError(k.T, p.Start(context.Background()))
	k.note(p, before)
	k.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if err := p.Stop(ctx); !slices.Contains(k.crashed, p) {
			require.NoError(k.T, err)
		}
	})
	return p
}

// note notes which worker a start has brought.
func (k *Kit) note(p *work.WorkerPool, before []string) {
	for _, id := range k.Strings("SMEMBERS", "workers") {
		if !slices.Contains(before, id) {
			if k.workers == nil {
				k.workers = map[*work.WorkerPool]string{}
			}
			k.workers[p] = id
		}
	}
}

// ID is the name in Redis of the worker of a pool that Start has started.
func (k *Kit) ID(p *work.WorkerPool) string {
	k.T.Helper()
	require.NotEmpty(k.T, k.workers[p])
	return k.workers[p]
}

// Stop stops a pool that Start is not to stop.
func (k *Kit) Stop(p *work.WorkerPool) error { return p.Stop(k.Ctx()) }

// Drained waits until all outcomes are in Redis.
func (k *Kit) Drained(p *work.WorkerPool) {
	k.T.Helper()
	require.NoError(k.T, p.Drain(k.Ctx()))
}

// Ctx ends when a test has waited for too long.
func (k *Kit) Ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	k.T.Cleanup(cancel)
	return ctx
}

// LongCtx is for what the embedded Redis is slow at under the race detector.
func (k *Kit) LongCtx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 6*Patience)
	k.T.Cleanup(cancel)
	return ctx
}

// Enqueue enqueues a job that must be stored.
func (k *Kit) Enqueue(name string, args ...any) work.Receipt {
	k.T.Helper()
	receipt, err := k.Enq.Enqueue(k.Ctx(), name, args...)
	require.NoError(k.T, err)
	return receipt
}

// Later enqueues a job that is due then.
func (k *Kit) Later(name string, in time.Duration, args ...any) work.Receipt {
	k.T.Helper()
	receipt, err := k.Enq.EnqueueIn(k.Ctx(), name, in, args...)
	require.NoError(k.T, err)
	return receipt
}

// EnqueueNumbers enqueues jobs with the args from to to-1, in one call.
func (k *Kit) EnqueueNumbers(name string, from, to int) []work.Receipt {
	k.T.Helper()
	var entries []work.Entry
	for i := from; i < to; i++ {
		entries = append(entries, work.Entry{Name: name, Args: []any{i}})
	}
	receipts, err := k.Enq.EnqueueMany(k.LongCtx(), entries)
	require.NoError(k.T, err)
	return receipts
}

// EnqueueEntry enqueues one Entry.
func (k *Kit) EnqueueEntry(e work.Entry) (work.Receipt, error) {
	k.T.Helper()
	receipts, err := k.Enq.EnqueueMany(k.Ctx(), []work.Entry{e})
	return receipts[0], err
}

// Only is an Entry of a job that is the only one of its kind.
func Only(o work.UniqueOptions, args ...any) work.Entry {
	return work.Entry{Name: "report", Args: args, Options: []work.EnqueueOption{work.Unique(o)}}
}

// Duplicate enqueues an Entry and tells whether it was one too many.
func (k *Kit) Duplicate(e work.Entry) bool {
	k.T.Helper()
	receipt, err := k.EnqueueEntry(e)
	require.NoError(k.T, err)
	return receipt.Duplicate
}

// Cancel cancels one job.
func (k *Kit) Cancel(id string) work.CancelResult {
	k.T.Helper()
	results, err := k.Enq.Cancel(k.Ctx(), id)
	require.NoError(k.T, err)
	require.Len(k.T, results, 1)
	return results[0]
}

// What the root bounds, which its own tests compare.
const (
	MaxPerWorker   = 256     // jobs at a time
	MaxResultBytes = 1 << 20 // of a result that is no object
)

// Hourly is a Backoff that keeps a retry out of the way of the test.
func Hourly(*work.Job, error) time.Duration { return time.Hour }

// Raw is the store of the namespace, for what no program can do.
func (k *Kit) Raw() *rdb.Store {
	k.T.Helper()
	if k.raw == nil {
		driver, err := redisconn.Open(k.Server.DSN())
		require.NoError(k.T, err)
		k.T.Cleanup(func() { _ = driver.Close() })
		k.raw = rdb.NewStore(driver, k.Namespace)
	}
	return k.raw
}
