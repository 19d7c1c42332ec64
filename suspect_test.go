package work

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/rdb"
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
			_, err := k.enq.With(ID(id)).Enqueue(k.ctx(), "quiet")
			require.NoError(t, err)
			k.do("HSET", "crashes", id, "w1 w2")
		}
		pool := NewWorkerPool(nil, 3, k.options()).Job("quiet", func(job *Job) error {
			if n := together.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer together.Add(-1)
			begun <- job.ID
			<-release
			return nil
		})
		k.start(pool)
		first := receive(t, begun)
		await(t, k.spy, func(e event.JobSnoozed) bool { return e.For >= time.Second && e.ID != first })
		worker := pool.workers[0].claimant()
		assert.Contains(t, k.text("HGET", "crashes", first), " +"+worker.rdb.ID+":")
		assert.Eventually(t, func() bool { return k.number("ZCARD", "scheduled") == 2 }, patience, 10*time.Millisecond)
		assert.Equal(t, 3, k.number("HLEN", "crashes"), "what was put off is not acquitted")
		close(release)
		for left := 2; left > 0; left-- {
			k.until("the next is put off, or has begun", func() bool {
				return k.number("ZCARD", "scheduled") == left ||
					len(begun) > 0
			})
			k.dueNow("scheduled")
			receive(t, begun)
		}
		assert.Eventually(t, func() bool { return k.number("HLEN", "jobs") == 0 }, patience, 10*time.Millisecond)
		assert.EqualValues(t, 1, most.Load())
		k.empty("quiet")
	})
}

// diedWith are the workers whose deaths count against a job.
func (k *kit) diedWith(id string) []string {
	record := crash.Read(k.text("HGET", "crashes", id))
	return record.Workers()
}

// dueNow makes everything on a shelf due, as if its time had come.
func (k *kit) dueNow(shelf string) {
	k.t.Helper()
	ids, _ := k.do("ZRANGE", shelf, 0, -1).([]any)
	for _, id := range ids {
		k.do("ZADD", shelf, 1, id)
	}
	k.do("PUBLISH", "control", "due")
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
				pool := NewWorkerPool(nil, 1, k.options()).Job("quiet", func() error { began.Add(1); return nil })
				k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
					error) {
					if nameOf(calls[0]) != "suspect" {
						return pass(ctx, calls...)
					}
					if !gone {
						return nil, errors.New("Redis is away")
					}
					if _, err := pass(ctx, rdb.Call{Command: "DEL", Args: []any{calls[0].Keys[1]}}); err != nil {
						return nil, err
					}
					return pass(ctx, calls...)
				}})
				k.enqueueAs("poison", "quiet")
				k.do("HSET", "crashes", "poison", "w1 w2")
				k.start(pool)
				await[event.JobSnoozed](t, k.spy, nil)
				if gone {
					await[event.ClaimGone](t, k.spy, nil)
				}
				require.NoError(t, pool.Drain(k.ctx()))
				assert.Zero(t, began.Load())
				assert.Equal(t, 1, k.number("HLEN", "crashes"))
			})
		})
	}
}
