package loss_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestOneSuspectAtATimeIsNamedBeforeItBegins(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var together, most atomic.Int32
		begun, release := make(chan string, 10), make(chan struct{})
		for i := range 3 {
			id := fmt.Sprint("innocent-", i)
			_, err := k.Enq.With(work.ID(id)).Enqueue(k.Ctx(), "quiet")
			require.NoError(t, err)
			k.Do("HSET", "crashes", id, "w1 w2")
		}
		pool := work.NewWorkerPool(nil, 3, k.Options()).Job("quiet", func(job *work.Job) error {
			if n := together.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer together.Add(-1)
			begun <- job.ID
			<-release
			return nil
		})
		k.Start(pool)
		first := pooltest.Receive(t, begun)
		pooltest.Await(t, k.Spy, func(e event.JobSnoozed) bool { return e.For >= time.Second && e.ID != first })
		assert.Contains(t, k.Text("HGET", "crashes", first), " +"+pooltest.WorkerID(pool)+":")
		assert.Eventually(t, func() bool { return k.Number("ZCARD", "scheduled") == 2 }, pooltest.Patience,
			10*time.Millisecond)
		assert.Equal(t, 3, k.Number("HLEN", "crashes"), "what was put off is not acquitted")
		close(release)
		for left := 2; left > 0; left-- {
			k.Until("the next is put off, or has begun", func() bool {
				return k.Number("ZCARD", "scheduled") == left ||
					len(begun) > 0
			})
			k.DueNow("scheduled")
			pooltest.Receive(t, begun)
		}
		assert.Eventually(t, func() bool { return k.Number("HLEN", "jobs") == 0 }, pooltest.Patience,
			10*time.Millisecond)
		assert.EqualValues(t, 1, most.Load())
		k.Empty("quiet")
	})
}

// TestASuspectThatCannotBeNamedDoesNotBegin: were it to kill this worker too, nobody would know whom to blame.
func TestASuspectThatCannotBeNamedDoesNotBegin(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]bool{"its claim is gone": true, "Redis does not answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				var began atomic.Int32
				pool := work.NewWorkerPool(nil, 1, k.Options()).Job("quiet", func() error { began.Add(1); return nil })
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					if pooltest.NameOf(calls[0]) != "mark_suspect" {
						return pass(ctx, calls...)
					}
					if !gone {
						return nil, errors.New("Redis is away")
					}
					forgotten := redisconn.Call{Command: "DEL", Args: []any{calls[0].Keys[1]}}
					if _, err := pass(ctx, forgotten); err != nil {
						return nil, err
					}
					return pass(ctx, calls...)
				}})
				k.EnqueueAs("poison", "quiet")
				k.Do("HSET", "crashes", "poison", "w1 w2")
				k.Start(pool)
				pooltest.Await[event.JobSnoozed](t, k.Spy, nil)
				if gone {
					pooltest.Await[event.ClaimGone](t, k.Spy, nil)
				}
				require.NoError(t, pool.Drain(k.Ctx()))
				assert.Zero(t, began.Load())
				assert.Equal(t, 1, k.Number("HLEN", "crashes"))
			})
		})
	}
}
