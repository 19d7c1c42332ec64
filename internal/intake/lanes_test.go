package intake_test

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

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

func TestLanesGatherCallersIntoOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		in, store := newPlayed(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			if call.nth < intake.Lanes {
				<-gate
			}
			return stored, nil
		})
		wait := occupy(t, in)
		var callers sync.WaitGroup
		for range 128 {
			callers.Go(func() {
				assert.Equal(t, intake.Result{Outcome: intake.Stored, At: storedAt}, put(context.Background(), in, "a"))
			})
		}
		synctest.Wait()
		require.Len(t, store.sent(), intake.Lanes, "128 callers stand in line")
		close(gate)
		callers.Wait()
		wait()
		sent := store.sent()
		require.Len(t, sent, intake.Lanes+1, "the first lane that is free takes all of them")
		assert.Len(t, sent[intake.Lanes].ids, 128)
		assert.Equal(t, int64(2), sent[intake.Lanes].number)
	})
}

func TestLanesBoundACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		padding int // bytes of a record
		callers int
		want    int // calls at the least
	}{
		"in jobs":  {callers: 1200, want: 3},
		"in bytes": {padding: 180 << 10, callers: 40, want: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				in, store := newPlayed(t, func(context.Context, sentCall) (rdb.Enqueued, error) {
					<-gate
					return stored, nil
				})
				wait := occupy(t, in)
				var callers sync.WaitGroup
				for range c.callers {
					callers.Go(func() {
						large := job("a")
						large.Record = make([]byte, c.padding)
						assert.NoError(t, in.Put(context.Background(), large).Err)
					})
				}
				synctest.Wait()
				close(gate)
				callers.Wait()
				wait()
				jobs := 0
				for _, call := range store.sent() {
					jobs += len(call.ids)
					assert.LessOrEqual(t, len(call.ids), rdb.MaxBatch)
				}
				assert.Equal(t, c.callers+intake.Lanes, jobs)
				assert.GreaterOrEqual(t, len(store.sent()), intake.Lanes+c.want)
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
		in, _ := newPlayed(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			mu.Lock()
			assert.False(t, under[call.lane], "two calls of one lane at a time")
			assert.Greater(t, call.number, last[call.lane])
			under[call.lane], last[call.lane] = true, call.number
			mu.Unlock()
			elapse(time.Duration(call.nth%5) * time.Millisecond)
			mu.Lock()
			under[call.lane] = false
			mu.Unlock()
			return stored, nil
		})
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				for range 20 {
					assert.NoError(t, put(context.Background(), in, "a").Err)
				}
			})
		}
		callers.Wait()
		assert.Len(t, last, intake.Lanes)
	})
}

func TestLanesLeaveOneCallerInItsGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		in, store := newPlayed(t, func(ctx context.Context, _ sentCall) (rdb.Enqueued, error) {
			assert.Equal(t, "mine", ctx.Value(key{}), "the call has the ctx of its caller")
			return stored, nil
		})
		for range 3 {
			require.NoError(t, put(context.WithValue(context.Background(), key{}, "mine"), in, "a").Err)
		}
		for i, call := range store.sent() {
			assert.Equal(t, store.sent()[0].lane, call.lane, "one caller needs one lane")
			assert.Equal(t, int64(i+1), call.number)
		}
	})
}

func TestCallerInLineLeavesWithoutATrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		in, store := newPlayed(t, func(context.Context, sentCall) (rdb.Enqueued, error) {
			<-gate
			return stored, nil
		})
		wait := occupy(t, in)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		result := put(ctx, in, "a")
		assert.Equal(t, intake.NotStored, result.Outcome)
		require.ErrorIs(t, result.Err, context.DeadlineExceeded)
		assert.EqualError(t, result.Err,
			"it waited behind calls that Redis has not answered: context deadline exceeded")
		close(gate)
		wait()
		assert.Len(t, store.sent(), intake.Lanes, "it was never sent")
	})
}

func TestCallerLeavesACallThatOthersWaitFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, second := make(chan struct{}), make(chan struct{})
		in, _ := newPlayed(t, func(ctx context.Context, call sentCall) (rdb.Enqueued, error) {
			if call.nth < intake.Lanes {
				<-gate
				return stored, nil
			}
			select {
			case <-second:
				return stored, nil
			case <-ctx.Done():
				return rdb.Enqueued{}, ctx.Err()
			}
		})
		wait := occupy(t, in)
		ctx, leave := context.WithCancel(context.Background())
		var callers sync.WaitGroup
		callers.Go(func() {
			result := put(ctx, in, "leaves")
			assert.Equal(t, intake.Unknown, result.Outcome)
			assert.EqualError(t, result.Err, "no reply from Redis yet: context canceled")
		})
		callers.Go(func() {
			assert.NoError(t, put(context.Background(), in, "stays").Err)
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
		in, store := newPlayed(t, func(ctx context.Context, call sentCall) (rdb.Enqueued, error) {
			switch {
			case call.nth < intake.Lanes:
				<-gate
			case call.nth == intake.Lanes:
				<-ctx.Done()
				return rdb.Enqueued{}, ctx.Err()
			}
			return stored, nil
		})
		wait := occupy(t, in)
		ctx, leave := context.WithCancel(context.Background())
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				assert.ErrorIs(t, put(ctx, in, "a").Err, context.Canceled)
			})
		}
		synctest.Wait()
		close(gate)
		wait()
		synctest.Wait()
		leave()
		callers.Wait()
		synctest.Wait()
		abandoned := store.sent()[intake.Lanes]
		for range intake.Lanes {
			require.NoError(t, put(context.Background(), in, "a").Err)
		}
		for _, call := range store.sent()[intake.Lanes+1:] {
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
		in, store := newPlayed(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			switch {
			case call.nth < intake.Lanes:
				<-gate
			case call.nth < intake.Lanes+3:
				return rdb.Enqueued{}, &redisconn.DialError{Addr: "redis:6379", Err: errors.New("connection refused")}
			}
			return stored, nil
		})
		wait := occupy(t, in)
		ctx, leave := context.WithCancel(context.Background())
		var callers sync.WaitGroup
		callers.Go(func() {
			result := put(ctx, in, "leaves")
			assert.Equal(t, intake.NotStored, result.Outcome)
			assert.EqualError(t, result.Err,
				"context canceled: cannot connect to Redis at redis:6379: connection refused")
		})
		callers.Go(func() {
			assert.NoError(t, put(context.Background(), in, "stays").Err)
		})
		synctest.Wait()
		close(gate)
		wait()
		synctest.Wait()
		leave() // it is paused between two attempts
		callers.Wait()
		sent := store.sent()
		assert.Len(t, sent[intake.Lanes].ids, 2)
		assert.Len(t, sent[len(sent)-1].ids, 1)
	})
}

func TestCallKeepsThoseWhoLeftOnceItMayCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		in, store := newPlayed(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			switch call.nth {
			case intake.Lanes:
				return rdb.Enqueued{}, errLost
			case intake.Lanes + 1:
				return rdb.Enqueued{Time: storedAt, Problems: map[int]rdb.Problem{1: rdb.Duplicate}}, nil
			}
			<-gate
			return stored, nil
		})
		wait := occupy(t, in)
		ctx, leave := context.WithCancel(context.Background())
		var callers sync.WaitGroup
		callers.Go(func() {
			result := put(ctx, in, "leaves")
			assert.Equal(t, intake.Unknown, result.Outcome)
			assert.ErrorIs(t, result.Err, errLost)
		})
		synctest.Wait() // it stands in line first
		callers.Go(func() {
			assert.Equal(t, intake.Result{Outcome: intake.Stored, Duplicate: true, Owner: "stays"},
				put(context.Background(), in, "stays"), "the reply counts the jobs of the first attempt")
		})
		synctest.Wait()
		close(gate)
		wait()
		synctest.Wait()
		leave() // it is paused between two attempts
		callers.Wait()
		sent := store.sent()
		require.Len(t, sent, intake.Lanes+2)
		assert.Len(t, sent[intake.Lanes].ids, 2)
		assert.Equal(t, sent[intake.Lanes].ids, sent[intake.Lanes+1].ids)
	})
}

func TestPanicOfAStoreIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		in, _ := newPlayed(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
			if call.nth < intake.Lanes {
				<-gate
				return stored, nil
			}
			if call.nth < intake.Lanes+2 {
				panic("of attempt " + strconv.Itoa(call.nth-intake.Lanes))
			}
			return stored, nil
		})
		wait := occupy(t, in)
		var callers sync.WaitGroup
		callers.Go(func() {
			result := put(context.Background(), in, "a")
			assert.Equal(t, intake.Unknown, result.Outcome)
			var panicked *panicError
			if assert.ErrorAs(t, result.Err, &panicked) {
				assert.Equal(t, "of attempt 0", panicked.value)
				assert.Contains(t, panicked.stack, "Enqueue")
			}
		})
		synctest.Wait()
		close(gate)
		callers.Wait()
		wait()
		var panicked *panicError
		require.ErrorAs(t, put(context.Background(), in, "a").Err, &panicked)
		assert.NoError(t, put(context.Background(), in, "a").Err, "its lane goes on")
	})
}
