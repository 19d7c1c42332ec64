package together_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// A batch has no ctx before it begins, and one whose jobs have all left before never gets one. Whoever looks whether
// the handler of a cancelled job has returned must not ask for it.
func TestABatchIsCancelledBeforeItBegins(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		asked, goOn := make(chan struct{}, 1), make(chan struct{})
		options := k.Options()
		d := k.Tamper(&options, &pooltest.Tampered{Tamper: func(ctx context.Context, pass pooltest.Send,
			calls []redisconn.Call) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == "begin" { // the last gate before the batch
				asked <- struct{}{}
				<-goOn
			}
			return pass(ctx, calls...)
		}})
		pool := work.NewWorkerPool(nil, 1, options).JobWithOptions("index", of(1, 0),
			func(ctx context.Context, _ work.Batch[int]) error { return ctx.Err() })
		pooltest.Times(pool).Stuck = time.Microsecond
		k.Tidy(pool)
		receipt, err := k.Enq.With(work.Unique(work.UniqueOptions{Until: work.UntilStarted})).
			Enqueue(k.Ctx(), "index", 1)
		require.NoError(t, err)
		pooltest.Receive(t, asked)
		assert.Equal(t, work.CancelFlagged, k.Cancel(receipt.ID).Effect)
		k.Settles(d) // the worker has heard of it, and looked
		close(goOn)
		k.Drained(pool)
		assert.Equal(t, []string{"cancelled"}, endings(t, k.Spy, []work.Receipt{receipt}))
		k.clean(t)
	})
}
