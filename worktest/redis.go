package worktest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/embedded"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
)

// patience is how long anything here waits for a signal before it fails the test. Nothing depends on it while all is
// well.
const patience = 20 * time.Second

// namespace is that of every Redis here: each has a server of its own, so that one will do.
const namespace = "test"

// Redis is a Redis of one test, inside the test's process and empty at first. What goes through its Options and its
// Enqueuer is recorded. All methods may be called concurrently, except where they take a t: those that can fail the
// test belong into its goroutine.
type Redis struct {
	server    *embedded.Server
	log       *testLog
	spy       *Spy
	recorder  *Recorder
	inspector *inspect.Inspector // for ticks
	lines     jobLogs
	results   results

	mu        sync.Mutex
	held      time.Time // zero while the clock is the real one
	pools     []*work.WorkerPool
	enqueuers []*work.Enqueuer
}

// New starts a Redis for the test. It is closed at the end of the test, with what Enqueuer and Inspector have returned.
func New(t testing.TB) *Redis {
	t.Helper()
	server, err := embedded.Start()
	if err != nil {
		t.Fatalf("worktest: %v", err)
	}
	r := &Redis{server: server, log: newTestLog(t), spy: NewSpy(), recorder: NewRecorder()}
	if r.inspector, err = inspect.New(r.DSN(), work.Namespace(namespace)); err != nil {
		t.Fatalf("worktest: %v", err)
	}
	t.Cleanup(r.close)
	return r
}

func (r *Redis) close() {
	r.mu.Lock()
	enqueuers := r.enqueuers
	r.mu.Unlock()
	for _, enq := range enqueuers {
		_ = enq.Close() // every call that it could have failed has returned
	}
	_ = r.inspector.Close() // it only reads
	r.log.close()
	r.server.Close()
}

// DSN is what work.NewEnqueuer and the field Redis of work.WorkerOptions take.
func (r *Redis) DSN() string { return r.server.DSN() }

// Namespace is the namespace of Options and Enqueuer.
func (r *Redis) Namespace() string { return namespace }

// Options are those of a pool on this Redis: its events come to Spy, its enqueues and ticks to the recorder, and what
// it logs at [slog.LevelWarn] and above to the log of the test. The caller may change them; an EnqueueMiddleware of its
// own belongs before the one that is there.
func (r *Redis) Options() work.WorkerOptions {
	return work.WorkerOptions{
		Redis: r.DSN(), Namespace: namespace,
		Logger: slog.New(newRunLog(r.log.handler(), &r.lines)), MirrorJobLogs: true,
		Observers:         []work.Observer{r.spy, work.ObserverFunc(r.tick)},
		EnqueueMiddleware: []work.EnqueueMiddleware{r.recorder.Record}, ShutdownTimeout: 2 * time.Second,
	}
}

// Enqueuer returns an Enqueuer on this Redis whose jobs are recorded; opts beat what it has otherwise. It is closed at
// the end of the test.
func (r *Redis) Enqueuer(t testing.TB, opts ...work.EnqueuerOption) *work.Enqueuer {
	t.Helper()
	own := []work.EnqueuerOption{work.Namespace(namespace)}
	enq, err := work.NewEnqueuer(r.DSN(),
		slices.Concat(own, opts, []work.EnqueuerOption{work.WithEnqueueMiddleware(r.recorder.Record)})...)
	if err != nil {
		t.Fatalf("worktest: no Enqueuer can be made: %v", err)
	}
	r.mu.Lock()
	r.enqueuers = append(r.enqueuers, enq)
	held := !r.held.IsZero()
	r.mu.Unlock()
	if held {
		r.tell(t.Context(), nil, []*work.Enqueuer{enq})
	}
	return enq
}

// Inspector returns an Inspector on this Redis. It is closed at the end of the test.
func (r *Redis) Inspector(t testing.TB) *inspect.Inspector {
	t.Helper()
	i, err := inspect.New(r.DSN(), work.Namespace(namespace))
	if err != nil {
		t.Fatalf("worktest: no Inspector can be made: %v", err)
	}
	t.Cleanup(func() { _ = i.Close() }) // every call that it could have failed has returned
	return i
}

// Start starts a pool and stops it at the end of the test, which fails if one of them does. The pool is on this Redis:
// made with Options, or the pool of the program as p.Clone(r.Options()). It is returned, and is told when Advance moves
// the clock.
func (r *Redis) Start(t testing.TB, pool *work.WorkerPool) *work.WorkerPool {
	t.Helper()
	ctx, cancel := within(t)
	defer cancel()
	t.Cleanup(func() { // also after a start that fails: it closes the connection
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := pool.Stop(ctx); err != nil {
			t.Errorf("worktest: the pool did not stop in good order: %v", err)
		}
	})
	inside.Pool(pool).Times.Result = r.results.note
	if err := pool.Start(context.WithoutCancel(ctx)); err != nil { // its end would begin a stop
		t.Fatalf("worktest: the pool did not start: %v", err)
	}
	r.mu.Lock()
	r.pools = append(r.pools, pool)
	r.mu.Unlock()
	return pool
}

// Spy has seen every event of the pools with Options.
func (r *Redis) Spy() *Spy { return r.spy }

// Enqueued are the jobs that were enqueued through Options and Enqueuer, in that order, and those of ticks of
// schedules: each tick that has come when [Redis.Advance], [Drain] or [DrainFor] returns.
func (r *Redis) Enqueued() []Enqueued {
	r.lastTicks()
	return r.recorder.Enqueued()
}

// within ends with the test, or when nothing is worth waiting for any longer.
func within(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), patience)
}
