package work

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// A worker that happens to look while another one was called must not fetch in vain; what is still there a moment later
// it takes.
func TestWhatOthersWereCalledForIsLeftToThem(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]bool{"others come": true, "nobody comes": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				ran := make(chan string, 1)
				pool := NewWorkerPool(nil, 2, k.options()).Job("n", func(job *Job) error { ran <- job.ID; return nil })
				var looks, fetches atomic.Int64
				var seen atomic.Bool
				driver := k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send,
					calls []rdb.Call) ([]rdb.Reply, error) {
					if nameOf(calls[0]) != "fetch" {
						return pass(ctx, calls...)
					}
					if calls[0].Args[2] != 0 {
						fetches.Add(1)
						return pass(ctx, calls...)
					}
					replies, err := pass(ctx, calls...)
					answer, _ := replies[0].Value.([]any)
					ready, _ := answer[2].([]any)
					if len(ready) > 0 {
						seen.Store(true)
					}
					if seen.Load() && looks.Add(1) == 1 && others { // another worker takes it now
						k.do("LPOP", "queue:n")
						k.do("SREM", "ready", "n")
					}
					return replies, err
				}})
				require.NoError(t, pool.Start(k.ctx()))
				driver.untilSentInAll(t, "BLPOP", 1) // it rests
				before := fetches.Load()
				k.store("n", "lost", `{"jid":"lost","name":"n","args":[],"t":1}`) // and no token: that was taken
				if others {
					require.Eventually(t, func() bool { return looks.Load() >= 2 }, patience, time.Millisecond)
					assert.Equal(t, before, fetches.Load(), "nothing was asked in vain")
				} else {
					assert.Equal(t, "lost", receive(t, ran))
					assert.GreaterOrEqual(t, looks.Load(), int64(2), "it looked twice")
				}
				require.NoError(t, k.stop(pool))
			})
		})
	}
}
