package work

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// patience is how long a test waits for a signal before it gives up; nothing depends on it while all is well.
const patience = time.Minute

// spy is an Observer that keeps all events and lets a test wait for one.
type spy struct {
	mu      sync.Mutex
	events  []event.Event
	changed chan struct{}
}

func newSpy() *spy { return &spy{changed: make(chan struct{})} }

func (s *spy) Observe(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *spy) all() ([]event.Event, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]event.Event(nil), s.events...), s.changed
}

// await returns the first event of that type that matches, waiting for it.
func await[E event.Event](t *testing.T, s *spy, matches func(E) bool) E {
	t.Helper()
	deadline := time.After(patience)
	for {
		events, changed := s.all()
		for _, e := range events {
			if found, ok := e.(E); ok && (matches == nil || matches(found)) {
				return found
			}
		}
		select {
		case <-changed:
		case <-deadline:
			var wanted E
			require.FailNowf(t, "the event never came", "%T; there were %+v", wanted, events)
		}
	}
}

// count is how many events of that type there were.
func count[E event.Event](s *spy) int { return len(seen[E](s)) }

// seen are the events of a type so far.
func seen[E event.Event](s *spy) (found []E) {
	events, _ := s.all()
	for _, e := range events {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// kit is what a test of a pool needs: a namespace of its own, an enqueuer, a spy, and raw access to Redis.
type kit struct {
	t         *testing.T
	server    redistest.Server
	namespace string
	spy       *spy
	enq       *Enqueuer
}

func newKit(t *testing.T, s redistest.Server) *kit {
	k := &kit{t: t, server: s, namespace: redistest.Namespace(t), spy: newSpy()}
	var err error
	k.enq, err = NewEnqueuer(s.DSN(), Namespace(k.namespace), EnqueueTimeout(patience))
	require.NoError(t, err)
	t.Cleanup(func() { _ = k.enq.Close() })
	return k
}

func (k *kit) options() WorkerOptions {
	return WorkerOptions{
		Redis: k.server.DSN(), Namespace: k.namespace, Observers: []Observer{k.spy}, Logger: silent(),
		ShutdownTimeout: patience,
	}
}

func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// start starts a pool and stops it at the end of the test, in good order.
func (k *kit) start(p *WorkerPool) *WorkerPool {
	k.t.Helper()
	require.NoError(k.t, p.Start(context.Background()))
	k.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(k.t, p.Stop(ctx))
	})
	return p
}

func (k *kit) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	k.t.Cleanup(cancel)
	return ctx
}

// longCtx is for what the embedded Redis is slow at under the race detector.
func (k *kit) longCtx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 6*patience)
	k.t.Cleanup(cancel)
	return ctx
}

func (k *kit) enqueue(name string, args ...any) Receipt {
	k.t.Helper()
	receipt, err := k.enq.Enqueue(k.ctx(), name, args...)
	require.NoError(k.t, err)
	return receipt
}

// do runs a plain command; the first argument is a key without its prefix.
func (k *kit) do(command, key string, args ...any) any {
	k.t.Helper()
	conn, err := redis.Dial("tcp", k.server.Addr())
	require.NoError(k.t, err)
	defer conn.Close()
	reply, err := conn.Do(command, append([]any{"{" + k.namespace + "}:" + key}, args...)...)
	require.NoError(k.t, err)
	return reply
}

func (k *kit) number(command, key string, args ...any) int {
	k.t.Helper()
	n, err := redis.Int(k.do(command, key, args...), nil)
	require.NoError(k.t, err)
	return n
}

// empty checks that no job is left anywhere and that nothing that belongs to jobs is.
func (k *kit) empty(queues ...string) {
	k.t.Helper()
	for _, hash := range []string{"jobs", "trail", "claimed", "crashes", "names"} {
		require.Zero(k.t, k.number("HLEN", hash), hash)
	}
	for _, set := range []string{"scheduled", "retry", "morgue"} {
		require.Zero(k.t, k.number("ZCARD", set), set)
	}
	for _, queue := range queues {
		require.Zero(k.t, k.number("LLEN", "queue:"+queue), queue)
	}
}

// receive waits for a value.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}
