package work

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// However jobs are cut short by a stop, and whatever was prefetched, the queue is in its order afterwards.
func TestAStopKeepsTheOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ concurrency, prefetch, jobs, rounds int }{
		{1, 0, 5, 3}, {1, 5, 20, 20}, {4, 5, 20, 20}, {4, 60, 50, 5}, {300, 10, 400, 2},
	} {
		t.Run(fmt.Sprintf("%d and %d", c.concurrency, c.prefetch), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				ids := idsOf(k.enqueueNumbers("n", 0, c.jobs))
				for round := range c.rounds {
					k.stopAmid(c.concurrency, c.prefetch, round)
					require.Equal(t, ids, k.inLine("n"), "round %d", round)
				}
				assert.Zero(t, count[event.JobDone](k.spy))
				k.noWorker()
			})
		})
	}
}

// stopAmid starts a pool and stops it once all of its processors are busy. A third of the jobs returns when it hears of
// the stop, the others when their ctx ends.
func (k *kit) stopAmid(concurrency, prefetch, round int) {
	k.t.Helper()
	options := k.options()
	options.Prefetch, options.ShutdownTimeout = prefetch, -1
	pool := NewWorkerPool(nil, concurrency, options)
	began, stopping := make(chan struct{}, concurrency), make(chan struct{})
	pool.Job("n", func(ctx context.Context, n int) error {
		began <- struct{}{}
		if (n+round)%3 == 0 {
			<-stopping
			return Release(nil)
		}
		<-ctx.Done()
		return ctx.Err()
	})
	require.NoError(k.t, pool.Start(k.ctx()))
	for range concurrency {
		receive(k.t, began)
	}
	go func() {
		<-untilStopping(pool)
		close(stopping)
	}()
	_ = k.stop(pool) // it names what it cut short
}
