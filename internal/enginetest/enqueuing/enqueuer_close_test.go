package enqueuing_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/265d0351/work/internal/enginetest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/pooltest"
)

func TestCloseRefusesNewCalls(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		derived := b.With(work.Retries(1))
		require.NoError(t, derived.Close())
		require.NoError(t, b.Close(), "a second time")
		_, err := b.Enqueue(t.Context(), "a")
		require.ErrorIs(t, err, work.ErrClosed)
		assert.EqualError(t, err, `job "a" is not stored: the enqueuer is closed: make a new one`)
		_, err = derived.EnqueueMany(t.Context(), []work.Entry{{Name: "a"}, {Name: "b"}})
		require.ErrorIs(t, err, work.ErrClosed)
		assert.EqualError(t, err, "none of 2 jobs is stored: the enqueuer is closed: make a new one")
		_, err = work.Result[int](t.Context(), b.Enqueuer, "1")
		assert.ErrorIs(t, err, work.ErrClosed)
	})
}

func TestCloseWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		enq, driver := pooltest.NewStubEnqueuer(t, func(context.Context, pooltest.SentCall) (string, error) {
			<-gate
			return pooltest.StubReply, nil
		})
		var callers, closers sync.WaitGroup
		for range 3 * intake.Lanes {
			callers.Go(func() {
				_, err := enq.Enqueue(context.Background(), "a")
				assert.NoError(t, err)
			})
		}
		callers.Go(func() {
			receipts, err := enq.EnqueueMany(context.Background(), make1001Entries())
			assert.NoError(t, err, "parts that are not sent yet are under way as well")
			assert.Len(t, receipts, 1001)
		})
		synctest.Wait()
		closeAndCount := func() {
			assert.NoError(t, enq.Close())
			jobs := 0
			for _, call := range driver.Sent() {
				jobs += len(call.Ids)
			}
			assert.Equal(t, 3*intake.Lanes+1001, jobs)
		}
		closers.Go(closeAndCount)
		synctest.Wait()
		_, err := enq.Enqueue(context.Background(), "late")
		require.ErrorIs(t, err, work.ErrClosed)
		for range 3 {
			closers.Go(closeAndCount)
		}
		close(gate)
		callers.Wait()
		closers.Wait()
	})
}

func make1001Entries() []work.Entry {
	entries := make([]work.Entry, 1001)
	for i := range entries {
		entries[i].Name = "many"
	}
	return entries
}

func TestCloseGivesUpAfterTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver := &pooltest.StubDriver{Play: func(ctx context.Context, call pooltest.SentCall) (string, error) {
			if call.Ids[0] == "first" {
				pooltest.Elapse(9 * time.Second)
				return pooltest.StubReply, nil
			}
			<-ctx.Done()
			return "", ctx.Err()
		}}
		enq := pooltest.EnqueuerOn(driver, "test")
		entries := make1001Entries()
		entries[0].Options = []work.EnqueueOption{work.ID("first")}
		var callers sync.WaitGroup
		callers.Go(func() {
			_, err := enq.EnqueueMany(context.Background(), entries)
			var failed *work.EnqueueError
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, work.ErrClosed)
			assert.Len(t, failed.Stored, 500)
			assert.Len(t, failed.Unknown, 500)
			assert.Len(t, failed.NotStored, 1)
		})
		synctest.Wait()
		begun := time.Now()
		assert.EqualError(t, enq.Close(),
			"calls of the enqueuer were still under way 10s after Close began: they were given up")
		assert.Equal(t, 10*time.Second, time.Since(begun))
		assert.Error(t, enq.Close(), "the second says the same")
		callers.Wait()
	})
}

func TestCloseWhileManyCall(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		var callers sync.WaitGroup
		begun := make(chan struct{}, 32)
		counts := make([]int, 32)
		for i := range counts {
			callers.Go(func() {
				for {
					_, err := b.Enqueue(t.Context(), "a")
					if err != nil {
						assert.ErrorIs(t, err, work.ErrClosed)
						var failed *work.EnqueueError
						assert.ErrorAs(t, err, &failed)
						assert.Empty(t, failed.Unknown)
						return
					}
					if counts[i]++; counts[i] == 1 {
						begun <- struct{}{}
					}
				}
			})
		}
		for range counts {
			<-begun
		}
		require.NoError(t, b.Close())
		callers.Wait()
		total := 0
		for _, n := range counts {
			total += n
		}
		assert.Len(t, b.Fetch(t, "a"), total)
	})
}
