package work

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// stubDriver is a Redis that a test plays.
type stubDriver struct {
	rdb.Driver
	play func(ctx context.Context, call sentCall) (string, error)

	mu    sync.Mutex
	calls []sentCall
}

// sentCall is one attempt as Redis would see it.
type sentCall struct {
	lane   string
	number int64
	ids    []string
	nth    int // of all attempts, from 0
}

func (d *stubDriver) Close() error { return nil }

func (d *stubDriver) Pipeline(ctx context.Context, calls ...rdb.Call) ([]rdb.Reply, error) {
	sent := readCall(calls[0])
	d.mu.Lock()
	sent.nth = len(d.calls)
	d.calls = append(d.calls, sent)
	d.mu.Unlock()
	reply, err := d.play(ctx, sent)
	var refused *rdb.ServerError
	switch {
	case errors.As(err, &refused) && !errors.As(err, new(*rdb.DialError)):
		return []rdb.Reply{{Err: err}}, nil
	case err != nil:
		return nil, err
	}
	return []rdb.Reply{{Value: []byte(reply)}}, nil
}

// readCall takes the arguments of enqueue.lua or enqueue_mixed.lua apart.
func readCall(call rdb.Call) sentCall {
	sent := sentCall{lane: call.Args[0].(string), number: call.Args[1].(int64)}
	if call.Script.Name == "enqueue" {
		for at := 4; at < len(call.Args); at += 2 {
			sent.ids = append(sent.ids, call.Args[at].(string))
		}
		return sent
	}
	for at := 4 + call.Args[2].(int); at < len(call.Args); {
		place, size := call.Args[at+1].(string), call.Args[at+3].(int)
		at += 4
		for range size {
			sent.ids = append(sent.ids, call.Args[at].(string))
			at += 2
		}
		if strings.HasSuffix(place, "+") {
			at += 5 + 2*call.Args[at+4].(int)
		}
	}
	return sent
}

func (d *stubDriver) sent() []sentCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]sentCall{}, d.calls...)
}

// elapse lets the time of a synctest bubble pass, which takes none of ours.
func elapse(d time.Duration) { <-time.After(d) }

const stubReply = "1732100000000"

// newStubEnqueuer makes an Enqueuer whose Redis is played. Within synctest its time is the bubble's.
func newStubEnqueuer(t *testing.T, play func(ctx context.Context, call sentCall) (string, error)) (*Enqueuer, *stubDriver) {
	t.Helper()
	driver := &stubDriver{play: play}
	enq := newEnqueuer(rdb.NewStore(driver, "test"), 0, 0, nil)
	enq.useObjects(nil, -1)
	t.Cleanup(func() { assert.NoError(t, enq.Close()) })
	return enq, driver
}

// occupy fills every lane with one call each, which must not be answered yet, and returns what waits for them.
func occupy(t *testing.T, enq *Enqueuer) (wait func()) {
	t.Helper()
	var callers sync.WaitGroup
	for range laneCount {
		callers.Go(func() {
			_, err := enq.Enqueue(context.Background(), "occupies")
			assert.NoError(t, err)
		})
	}
	synctest.Wait()
	return callers.Wait
}

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
		"in jobs":  {callers: 1200, want: 3},
		"in bytes": {padding: string(make([]byte, 30<<10)), callers: 40, want: 6}, // each zero byte is written as \u0000
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
