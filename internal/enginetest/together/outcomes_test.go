package together_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// endings are what each event of the end of an attempt is called.
func endings(t *testing.T, s *pooltest.Spy, receipts []work.Receipt) []string {
	found := make([]string, len(receipts))
	for i, receipt := range receipts {
		for _, e := range pooltest.SeenBy(t, s, receipt.ID) {
			switch e := e.(type) {
			case event.JobDone:
				found[i] += "done"
			case event.JobFailed:
				found[i] += "failed: " + e.Err.Error()
			case event.JobBuried:
				found[i] += "buried: " + e.Reason
			case event.JobDiscarded:
				found[i] += "discarded"
			case event.JobSnoozed:
				found[i] += "snoozed"
			case event.JobCancelled:
				found[i] += "cancelled"
			case event.JobReleased:
				found[i] += "released"
			}
		}
	}
	return found
}

var errOne = errors.New("this one")

func TestEachMemberHasAnOutcomeOfItsOwn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		handler := func(_ context.Context, batch work.Batch[int]) (err error) {
			for i, say := range []func(*work.Item[int]){
				nil,
				func(item *work.Item[int]) { item.Fail(nil) },
				func(item *work.Item[int]) { item.Fail(errOne) },
				func(item *work.Item[int]) { item.Fail(work.RetryIn(time.Hour, errOne)) },
				func(item *work.Item[int]) { item.Fail(work.Snooze(time.Hour)) },
				func(item *work.Item[int]) { item.Fail(work.Release(errOne)) },
				func(item *work.Item[int]) { item.Fail(work.Bury(errOne)) },
				func(item *work.Item[int]) { item.Fail(work.Discard(errOne)) },
				func(item *work.Item[int]) { item.Fail(errOne); item.Return(map[string]int{"n": item.Args}) },
				func(item *work.Item[int]) { item.Return(func() {}) },
			} {
				if say != nil {
					say(batch[i])
				}
			}
			return errors.New("the rest")
		}
		opts := of(10, time.Hour)
		opts.Backoff, opts.Retention = pooltest.Hourly, time.Hour
		receipts := k.EnqueueNumbers("index", 0, 10)
		pool := k.Tidy(k.pool(1, opts, handler))
		pooltest.Await[event.BatchEnded](t, k.Spy, nil)
		seen := endings(t, k.Spy, receipts)
		assert.Equal(t, []string{"failed: the rest", "done", "failed: this one", "failed: this one",
			"snoozed", "snoozed",
			"buried: its handler asked for it", "discarded", "done"}, seen[:9])
		assert.Contains(t, seen[9], "failed: ")
		assert.Contains(t, seen[9], "cannot be kept")
		k.Until("all are settled", func() bool { return k.Number("HLEN", "claimed") == 0 })
		result, err := work.Result[map[string]int](k.Ctx(), k.Enq, receipts[8].ID)
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"n": 8}, result)
		assert.Equal(t, 4, k.Number("ZCARD", "retry"))
		assert.Equal(t, 2, k.Number("ZCARD", "scheduled"))
		assert.Equal(t, 1, k.Number("ZCARD", "morgue"))
		ended := pooltest.Seen[event.BatchEnded](k.Spy)
		require.Len(t, ended, 1)
		assert.Equal(t, 10, ended[0].Jobs)
		assert.EqualError(t, ended[0].Err, "the rest")
		require.NoError(t, k.Stop(pool))
	})
}

// TestAMemberOfWhichNothingIsSaid takes what became of the handler, whatever that is.
func TestAMemberOfWhichNothingIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func() error
		want string
	}{
		"nil":     {func() error { return nil }, "done"},
		"panic":   {func() error { panic("boom") }, "failed: panic: boom"},
		"Goexit":  {func() error { runtime.Goexit(); return nil }, "failed: " + (&work.GoexitError{}).Error()},
		"Bury":    {func() error { return work.Bury(errOne) }, "buried: its handler asked for it"},
		"Discard": {func() error { return work.Discard(nil) }, "discarded"},
		"Snooze":  {func() error { return work.Snooze(time.Hour) }, "snoozed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				opts := of(3, time.Hour)
				opts.Backoff = pooltest.Hourly
				receipts := k.EnqueueNumbers("index", 0, 3)
				k.Start(k.pool(1, opts, func(batch work.Batch[int]) error {
					batch[1].Fail(nil)
					return c.end()
				}))
				pooltest.Await[event.BatchEnded](t, k.Spy, nil)
				assert.Equal(t, []string{c.want, "done", c.want}, endings(t, k.Spy, receipts))
				receipts = k.EnqueueNumbers("index", 3, 6)
				pooltest.Await(t, k.Spy, func(e event.JobDone) bool { return e.ID == receipts[1].ID })
			})
		})
	}
}

// TestAJobThatDoesNotFitLeavesTheOthers alone, also one whose decoding panics.
func TestAJobThatDoesNotFitLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var receipts []work.Receipt
		for _, args := range [][]any{{"a"}, {1}, {"a", "b"}, {"panic"}, {"z"}} {
			receipts = append(receipts, k.Enqueue("index", args...))
		}
		var seen []touchy
		opts := of(5, time.Hour)
		opts.Backoff = pooltest.Hourly
		k.Start(k.pool(1, opts, func(batch work.Batch[touchy]) error { seen = batch.Args(); return nil }))
		pooltest.Await[event.BatchEnded](t, k.Spy, nil)
		ends := endings(t, k.Spy, receipts)
		assert.Equal(t, []touchy{"a", "z"}, seen)
		assert.Equal(t, []string{"done", "failed: panic: touched", "done"}, []string{ends[0], ends[3], ends[4]})
		assert.Contains(t, ends[1], "buried: argument 1")
		assert.Contains(t, ends[2], "buried: arguments")
	})
}

// touchy does not like some texts.
type touchy string

func (t *touchy) UnmarshalText(text []byte) error {
	if string(text) == "panic" {
		panic("touched")
	}
	*t = touchy(text)
	return nil
}

func TestFailedMembersAreTriedAgainTogetherAndDieAlone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		seen, died := newSieve(), make(chan string, 9)
		seen.each = func(item *work.Item[int]) {
			if item.Args == 2 {
				item.Fail(fmt.Errorf("attempt %d", item.Job.Attempt))
			}
		}
		opts := of(4, 0)
		opts.Retries, opts.Backoff = 1, func(*work.Job, error) time.Duration { return time.Millisecond }
		opts.OnDeath = func(_ context.Context, job *work.Job, err error) { died <- err.Error() }
		receipts := k.EnqueueNumbers("index", 0, 4)
		pool := k.Tidy(k.pool(1, opts, seen.handle))
		assert.Equal(t, "attempt 2", pooltest.Receive(t, died))
		k.Drained(pool)
		assert.Equal(t, [][]int{{0, 1, 2, 3}, {2}}, seen.batches)
		assert.Equal(t, []string{"done", "done", "failed: attempt 1buried: out of retries", "done"},
			endings(t, k.Spy, receipts))
	})
}

func TestMiddlewareIsCalledOncePerBatch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		type mark struct{}
		var mu sync.Mutex
		var calls, parents []string
		receipts := k.EnqueueNumbers("index", 0, 3)
		pool := k.pool(1, of(3, time.Hour), func(ctx context.Context, batch work.Batch[int]) error {
			assert.Equal(t, "outer", ctx.Value(mark{}))
			assert.Equal(t, batch[0].Job, work.JobFromContext(ctx))
			for _, item := range batch {
				own := item.Context(ctx)
				assert.Equal(t, item.Job, work.JobFromContext(own))
				_, err := work.EnqueuerFromContext(own).Enqueue(own, "child")
				assert.NoError(t, err)
			}
			return nil
		}).Job("child", func(job *work.Job) error {
			mu.Lock()
			defer mu.Unlock()
			parents = append(parents, job.Parent)
			return nil
		}).Middleware(func(ctx context.Context, job *work.Job, next work.NextFunc) error {
			if job.Name == "child" {
				assert.Nil(t, job.Together())
				return next(ctx)
			}
			mu.Lock()
			for _, member := range job.Together() {
				calls = append(calls, member.ID)
			}
			mu.Unlock()
			return next(context.WithValue(ctx, mark{}, "outer"))
		})
		k.Tidy(pool)
		k.Drained(pool)
		assert.Equal(t, pooltest.IdsOf(receipts), calls)
		assert.ElementsMatch(t, calls, parents)
		k.clean(t)
	})
}

// TestAMiddlewareMayDecideForAll: what it returns is that of each of which nothing was said.
func TestAMiddlewareMayDecideForAll(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		receipts := k.EnqueueNumbers("index", 0, 3)
		k.Start(k.pool(1, of(3, time.Hour), func(work.Batch[int]) error { return errOne }).
			Middleware(func(context.Context, *work.Job, work.NextFunc) error { return work.Discard(nil) }))
		pooltest.Await[event.BatchEnded](t, k.Spy, nil)
		assert.Equal(t, slices.Repeat([]string{"discarded"}, 3), endings(t, k.Spy, receipts))
	})
}

// TestTheTimeoutIsThatOfTheBatch, and a job with less time of its own is judged by that.
func TestTheTimeoutIsThatOfTheBatch(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		opts := of(3, time.Hour)
		opts.Timeout, opts.Backoff = 300*time.Millisecond, pooltest.Hourly
		plain := k.EnqueueNumbers("index", 0, 2)
		short, err := k.Enq.With(work.Timeout(time.Millisecond)).Enqueue(k.Ctx(), "index", 2)
		require.NoError(t, err)
		k.Start(k.pool(1, opts, func(ctx context.Context, batch work.Batch[int]) error {
			<-ctx.Done()
			batch[1].Fail(nil)
			return ctx.Err()
		}))
		ended := pooltest.Await[event.BatchEnded](t, k.Spy, nil)
		assert.GreaterOrEqual(t, ended.Elapsed, 300*time.Millisecond)
		failed := map[string]event.JobFailed{}
		for _, e := range pooltest.Seen[event.JobFailed](k.Spy) {
			failed[e.ID] = e
		}
		require.Len(t, failed, 2)
		for id, limit := range map[string]time.Duration{plain[0].ID: opts.Timeout, short.ID: time.Millisecond} {
			var late *work.TimeoutError
			require.ErrorAs(t, failed[id].Err, &late)
			assert.Equal(t, limit, late.Limit)
			assert.Equal(t, event.FailureTimeout, failed[id].Failure)
		}
	})
}

func TestMembersLogAndCheckInByThemselves(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		opts := of(3, time.Hour)
		opts.Backoff = pooltest.Hourly
		receipts := k.EnqueueNumbers("index", 0, 3)
		k.Start(k.pool(1, opts, func(ctx context.Context, batch work.Batch[int]) error {
			for _, item := range batch {
				item.Job.Logger().Info(fmt.Sprint("line of ", item.Args))
				item.Job.Checkin(fmt.Sprint("at ", item.Args))
				assert.NoError(t, item.Job.SaveState(ctx, item.Args))
			}
			return errOne
		}))
		pooltest.Await[event.BatchEnded](t, k.Spy, nil)
		k.Until("all are settled", func() bool { return k.Number("ZCARD", "retry") == 3 })
		for i, receipt := range receipts {
			assert.Equal(t, []string{fmt.Sprint("line of ", i)}, k.Messages(receipt.ID))
			said := pooltest.Await(t, k.Spy, func(e event.JobCheckedIn) bool { return e.ID == receipt.ID })
			assert.Equal(t, fmt.Sprint("at ", i), said.Message)
		}
	})
}

// TestHistoryCountsEachMember, with its share of the time.
func TestHistoryCountsEachMember(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("index", 0, 50)
		pool := k.Tidy(k.pool(1, of(50, time.Hour), func(batch work.Batch[int]) error {
			batch[0].Fail(work.Bury(errOne))
			return nil
		}))
		k.Drained(pool)
		require.NoError(t, k.Stop(pool))
		sums, err := k.ByHand().Sums(k.Ctx(), time.Minute, "index")
		require.NoError(t, err)
		assert.EqualValues(t, 49, sums["index"].Done)
		assert.EqualValues(t, 1, sums["index"].Dead)
		assert.EqualValues(t, 50, sums["index"].Run)
	})
}

// An observer that ends its goroutine keeps no member from its outcome.
func TestAnObserverThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		opts := k.Options()
		opts.Observers = append(opts.Observers, work.ObserverFunc(func(e event.Event) {
			switch e.(type) {
			case event.JobStarted, event.JobDone, event.BatchEnded:
				runtime.Goexit()
			}
		}))
		k.EnqueueNumbers("index", 0, 20)
		seen := newSieve()
		pool := k.Tidy(work.NewWorkerPool(nil, 1, opts).JobWithOptions("index", of(10, time.Hour), seen.handle))
		k.Drained(pool)
		assert.Equal(t, []int{10, 10}, seen.sizes())
		k.clean(t)
	})
}
