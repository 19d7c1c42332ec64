package work

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

func TestLanesGatherCallersIntoOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		enq, driver := newStubEnqueuer(t, func(_ context.Context, call sentCall) (string, error) {
			if call.nth < laneCount {
				<-gate
			}
			return stubReply, nil
		})
		wait := occupy(t, enq)
		var callers sync.WaitGroup
		for range 128 {
			callers.Go(func() {
				receipt, err := enq.Enqueue(context.Background(), "a")
				assert.NoError(t, err)
				assert.Len(t, receipt.ID, 22)
			})
		}
		synctest.Wait()
		require.Len(t, driver.sent(), laneCount, "128 callers stand in line")
		close(gate)
		callers.Wait()
		wait()
		sent := driver.sent()
		require.Len(t, sent, laneCount+1, "the first lane that is free takes all of them")
		assert.Len(t, sent[laneCount].ids, 128)
		assert.Equal(t, int64(2), sent[laneCount].number)
	})
}

func TestLanesBoundACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		padding string
		callers int
		want    int // calls at the least
	}{
		"in jobs": {callers: 1200, want: 3},
		// each zero byte is written as \u0000
		"in bytes": {padding: string(make([]byte, 30<<10)), callers: 40, want: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				enq, driver := newStubEnqueuer(t, func(context.Context, sentCall) (string, error) {
					<-gate
					return stubReply, nil
				})
				wait := occupy(t, enq)
				var callers sync.WaitGroup
				for range c.callers {
					callers.Go(func() {
						_, err := enq.Enqueue(context.Background(), "a", c.padding)
						assert.NoError(t, err)
					})
				}
				synctest.Wait()
				close(gate)
				callers.Wait()
				wait()
				jobs := 0
				for _, call := range driver.sent() {
					jobs += len(call.ids)
					assert.LessOrEqual(t, len(call.ids), rdb.MaxBatch)
				}
				assert.Equal(t, c.callers+laneCount, jobs)
				assert.GreaterOrEqual(t, len(driver.sent()), laneCount+c.want)
			})
		})
	}
}

func TestLanesHaveOneCallUnderWayWithGrowingNumbers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		under := map[string]bool{}
		last := map[string]int64{}
		enq, _ := newStubEnqueuer(t, func(_ context.Context, call sentCall) (string, error) {
			mu.Lock()
			assert.False(t, under[call.lane], "two calls of one lane at a time")
			assert.Greater(t, call.number, last[call.lane])
			under[call.lane], last[call.lane] = true, call.number
			mu.Unlock()
			elapse(time.Duration(call.nth%5) * time.Millisecond)
			mu.Lock()
			under[call.lane] = false
			mu.Unlock()
			return stubReply, nil
		})
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				for range 20 {
					_, err := enq.Enqueue(context.Background(), "a")
					assert.NoError(t, err)
				}
			})
		}
		callers.Wait()
		assert.Len(t, last, laneCount)
	})
}

func TestLanesLeaveOneCallerInItsGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		enq, driver := newStubEnqueuer(t, func(ctx context.Context, _ sentCall) (string, error) {
			assert.Equal(t, "mine", ctx.Value(key{}), "the call has the ctx of its caller")
			return stubReply, nil
		})
		for range 3 {
			_, err := enq.Enqueue(context.WithValue(context.Background(), key{}, "mine"), "a")
			require.NoError(t, err)
		}
		for i, call := range driver.sent() {
			assert.Equal(t, driver.sent()[0].lane, call.lane, "one caller needs one lane")
			assert.Equal(t, int64(i+1), call.number)
		}
	})
}

func TestCallerInLineLeavesWithoutATrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		enq, driver := newStubEnqueuer(t, func(context.Context, sentCall) (string, error) {
			<-gate
			return stubReply, nil
		})
		wait := occupy(t, enq)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := enq.Enqueue(ctx, "a")
		var failed *EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0}, failed.NotStored)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, `job "a" is not stored: it waited behind calls that Redis has not answered: context deadline exceeded`)
		close(gate)
		wait()
		assert.Len(t, driver.sent(), laneCount, "it was never sent")
	})
}

func TestCallerLeavesACallThatOthersWaitFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, second := make(chan struct{}), make(chan struct{})
		enq, _ := newStubEnqueuer(t, func(ctx context.Context, call sentCall) (string, error) {
			if call.nth < laneCount {
				<-gate
				return stubReply, nil
			}
			select {
			case <-second:
				return stubReply, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		wait := occupy(t, enq)
		ctx, leave := context.WithCancel(context.Background())
		var callers sync.WaitGroup
		callers.Go(func() {
			_, err := enq.Enqueue(ctx, "leaves")
			assert.EqualError(t, err, `it is not known whether job "leaves" is stored (a reply was lost): no reply from Redis yet: context canceled`)
		})
		callers.Go(func() {
			_, err := enq.Enqueue(context.Background(), "stays")
			assert.NoError(t, err)
		})
		synctest.Wait()
		close(gate)
		wait()
		synctest.Wait()
		leave()
		synctest.Wait()
		close(second)
		callers.Wait()
	})
}

func TestCallIsAbandonedWhenEverybodyLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		enq, driver := newStubEnqueuer(t, func(ctx context.Context, call sentCall) (string, error) {
			switch {
			case call.nth < laneCount:
				<-gate
			case call.nth == laneCount:
				<-ctx.Done()
				return "", ctx.Err()
			}
			return stubReply, nil
		})
		wait := occupy(t, enq)
		ctx, leave := context.WithCancel(context.Background())
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				_, err := enq.Enqueue(ctx, "a")
				assert.ErrorIs(t, err, context.Canceled)
			})
		}
		synctest.Wait()
		close(gate)
		wait()
		synctest.Wait()
		leave()
		callers.Wait()
		synctest.Wait()
		abandoned := driver.sent()[laneCount]
		for range laneCount {
			_, err := enq.Enqueue(context.Background(), "a")
			require.NoError(t, err)
		}
		for _, call := range driver.sent()[laneCount+1:] {
			if call.lane == abandoned.lane {
				assert.Greater(t, call.number, abandoned.number, "the number of an abandoned call is used")
			}
		}
	})
}

func TestCallDropsThoseWhoLeftWhileNothingWasSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		enq, driver := newStubEnqueuer(t, func(_ context.Context, call sentCall) (string, error) {
			switch {
			case call.nth < laneCount:
				<-gate
			case call.nth < laneCount+3:
				return "", &rdb.DialError{Addr: "redis:6379", Err: errors.New("connection refused")}
			}
			return stubReply, nil
		})
		wait := occupy(t, enq)
		ctx, leave := context.WithCancel(context.Background())
		var callers sync.WaitGroup
		callers.Go(func() {
			_, err := enq.Enqueue(ctx, "leaves")
			assert.EqualError(t, err, `job "leaves" is not stored: context canceled: cannot connect to Redis at redis:6379: connection refused`)
		})
		callers.Go(func() {
			_, err := enq.Enqueue(context.Background(), "stays")
			assert.NoError(t, err)
		})
		synctest.Wait()
		close(gate)
		wait()
		synctest.Wait()
		leave() // it is paused between two attempts
		callers.Wait()
		sent := driver.sent()
		assert.Len(t, sent[laneCount].ids, 2)
		assert.Len(t, sent[len(sent)-1].ids, 1)
	})
}

func TestCallKeepsThoseWhoLeftOnceItMayCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		enq, driver := newStubEnqueuer(t, func(_ context.Context, call sentCall) (string, error) {
			switch call.nth {
			case laneCount:
				return "", errLost
			case laneCount + 1:
				return stubReply + " 2=duplicate", nil
			}
			<-gate
			return stubReply, nil
		})
		wait := occupy(t, enq)
		ctx, leave := context.WithCancel(context.Background())
		var callers sync.WaitGroup
		callers.Go(func() {
			_, err := enq.Enqueue(ctx, "leaves")
			var failed *EnqueueError
			if assert.ErrorAs(t, err, &failed) {
				assert.Equal(t, []int{0}, failed.Unknown)
			}
			assert.ErrorIs(t, err, errLost)
		})
		synctest.Wait() // it stands in line first
		callers.Go(func() {
			receipt, err := enq.With(ID("stays")).Enqueue(context.Background(), "stays")
			assert.NoError(t, err)
			assert.True(t, receipt.Duplicate, "the reply counts the jobs of the first attempt")
		})
		synctest.Wait()
		close(gate)
		wait()
		synctest.Wait()
		leave() // it is paused between two attempts
		callers.Wait()
		sent := driver.sent()
		require.Len(t, sent, laneCount+2)
		assert.Len(t, sent[laneCount].ids, 2)
		assert.Equal(t, sent[laneCount].ids, sent[laneCount+1].ids)
	})
}

func TestPanicOfADriverIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		enq, _ := newStubEnqueuer(t, func(_ context.Context, call sentCall) (string, error) {
			if call.nth < laneCount {
				<-gate
				return stubReply, nil
			}
			if call.nth < laneCount+2 {
				panic("of attempt " + strconv.Itoa(call.nth-laneCount))
			}
			return stubReply, nil
		})
		wait := occupy(t, enq)
		var callers sync.WaitGroup
		callers.Go(func() {
			_, err := enq.Enqueue(context.Background(), "a")
			var panicked *PanicError
			if assert.ErrorAs(t, err, &panicked) {
				assert.Equal(t, "of attempt 0", panicked.Value)
				assert.Contains(t, panicked.Stack, "Pipeline")
			}
		})
		synctest.Wait()
		close(gate)
		callers.Wait()
		wait()
		_, err := enq.Enqueue(context.Background(), "a")
		var panicked *PanicError
		require.ErrorAs(t, err, &panicked)
		_, err = enq.Enqueue(context.Background(), "a")
		assert.NoError(t, err, "its lane goes on")
	})
}
