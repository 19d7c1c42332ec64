package pools_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// TestAWorkerBeginsWithAFetch, whatever has called: what waits begins a round trip after the start.
func TestAWorkerBeginsWithAFetch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Enqueue("n")
		k.Do("DEL", "wake:n") // its call was lost
		var mu sync.Mutex
		var sent []string
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil }).
			Job("other", func() error { return nil })
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if name := pooltest.NameOf(calls[0]); name == "fetch" || name == "survey" {
				mu.Lock()
				sent = append(sent, name)
				mu.Unlock()
			}
			return pass(ctx, calls...)
		}})
		k.Start(pool)
		fetched := pooltest.Await[event.JobsFetched](t, k.Spy, nil)
		assert.Equal(t, 1, fetched.Jobs)
		k.Drained(pool)
		mu.Lock()
		defer mu.Unlock()
		require.NotEmpty(t, sent)
		assert.Equal(t, "fetch", sent[0])
	})
}

// TestAFirstFetchThatHangsHoldsUpNoHeartbeat, which waits for that fetch for a moment only.
func TestAFirstFetchThatHangsHoldsUpNoHeartbeat(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.Enqueue("n").ID
		beaten := make(chan struct{})
		beat := sync.OnceFunc(func() { close(beaten) })
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil })
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			switch pooltest.NameOf(calls[0]) {
			case "beat":
				beat()
			case "fetch":
				select {
				case <-beaten:
				case <-ctx.Done():
					t.Error("the fetch was over before a heartbeat")
				}
			}
			return pass(ctx, calls...)
		}})
		k.Start(pool)
		pooltest.Await(t, k.Spy, func(e event.JobDone) bool { return e.ID == id })
	})
}
