package waiting_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/265d0351/work/internal/enginetest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// isWaitedFor waits until Redis knows that somebody waits for the job.
func (k *kit) isWaitedFor(ids ...string) {
	k.T.Helper()
	for _, id := range ids {
		require.Eventually(k.T, func() bool { return k.Number("HEXISTS", "waited", id) == 1 }, pooltest.Patience,
			time.Millisecond, id)
	}
}

// later is a result that comes once it is there.
func later[T any](call func() (T, error)) (result func() (T, error)) {
	var value T
	var err error
	done := make(chan struct{})
	go func() { defer close(done); value, err = call() }()
	return func() (T, error) { <-done; return value, err }
}

func TestWaitReturnsTheResultWheneverTheJobEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for _, row := range []struct {
			title   string
			options []work.EnqueueOption
			ended   bool // before anybody waits
		}{
			{"it ends later", nil, false},
			{"it ends later, and its result is kept", []work.EnqueueOption{work.Retention(time.Hour)}, false},
			{"it ends later, and has a completion queue", []work.EnqueueOption{work.Completion("c")}, false},
			{"it has ended", []work.EnqueueOption{work.Retention(time.Hour)}, true},
			{"it is due later", nil, false},
		} {
			t.Run(row.title, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, s)
				gate := make(chan struct{})
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a",
					func(n int64) (pooltest.Report, error) {
						<-gate
						return pooltest.Report{Lines: n}, nil
					}))
				receipt, err := k.Enq.With(row.options...).Enqueue(k.Ctx(), "a", int64(9007199254740993))
				require.NoError(t, err)
				if row.ended {
					close(gate)
					k.Drained(pool)
				}
				result := later(func() (pooltest.Report,
					error) {
					return work.Wait[pooltest.Report](k.Ctx(), k.Enq, receipt.ID)
				})
				if !row.ended {
					k.isWaitedFor(receipt.ID)
					close(gate)
				}
				got, err := result()
				require.NoError(t, err)
				assert.Equal(t, pooltest.Report{Lines: 9007199254740993}, got)
				again, err := work.Wait[*pooltest.Report](k.Ctx(), pool.Enqueuer(), receipt.ID)
				require.NoError(t, err, "it is kept for a while, for others who wait")
				assert.Equal(t, &got, again)
				assert.Zero(t, k.Number("EXISTS", "waited"))
				k.Empty("a")
			})
		}
	})
}

func TestWaitSaysHowAJobEndedThatDidNotEndWell(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	none := func(state string) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			var none *work.NoResultError
			require.ErrorAs(t, err, &none)
			assert.Equal(t, state, none.State)
			assert.Equal(t, state == record.Cancelled, errors.Is(err, work.ErrCancelled))
		}
	}
	dead := func(text string, want work.JobFailedError) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			var failed *work.JobFailedError
			require.ErrorAs(t, err, &failed)
			want.ID = failed.ID
			assert.Equal(t, &want, failed)
			assert.EqualError(t, err, `job "`+failed.ID+`" is dead: `+text)
		}
	}
	rows := []struct {
		name    string
		handler func() (any, error)
		check   func(*testing.T, error)
	}{
		{"out of retries", func() (any, error) { return nil, boom },
			dead("out of retries, failed attempts: 1, the last error: boom",
				work.JobFailedError{Reason: "out of retries", Attempts: 1, Err: "boom"})},
		{"buried", func() (any, error) { return nil, work.Bury(nil) },
			dead("its handler asked for it, failed attempts: 1, the last error: bury",
				work.JobFailedError{Reason: "its handler asked for it", Attempts: 1, Err: "bury"})},
		{"discarded", func() (any, error) { return nil, work.Discard(boom) }, none("discarded")},
		{"not encodable", func() (any, error) { return math.NaN(), nil }, func(t *testing.T, err error) {
			var none *work.NoResultError
			require.ErrorAs(t, err, &none)
			assert.Contains(t, none.Problem, "unsupported value: NaN")
			assert.ErrorContains(t, err, "is done but its result is not kept: ")
		}},
		{"another type", func() (any, error) { return "text", nil }, func(t *testing.T, err error) {
			assert.ErrorContains(t, err, "does not fit a int")
		}},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, s)
				gate := make(chan struct{})
				k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					JobWithOptions("a", work.JobOptions{Retries: -1}, func() (any, error) {
						<-gate
						return row.handler()
					}))
				id := k.Enqueue("a").ID
				result := later(func() (int, error) { return work.Wait[int](k.Ctx(), k.Enq, id) })
				k.isWaitedFor(id)
				close(gate)
				got, err := result()
				assert.Zero(t, got)
				row.check(t, err)
				_, err = work.Wait[int](k.Ctx(), k.Enq, id)
				row.check(t, err)
				assert.Zero(t, k.Number("EXISTS", "waited"))
			})
		}
	})
}

// ends of jobs that no worker runs, by what is written for them.
func TestWaitKnowsTheEndsThatNoHandlerMakes(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		for _, state := range []string{"cancelled", "expired", "deleted"} {
			receipt, err := b.Enqueue(t.Context(), state)
			require.NoError(t, err)
			result := later(func() (int, error) { return work.Wait[int](t.Context(), b.Enqueuer, receipt.ID) })
			b.Waited(t, receipt.ID)
			jobs := b.Fetch(t, state)
			w := b.Worker(t, state)
			settled, err := w.Settle(t.Context(), []redisconn.Call{w.End(jobs[0].Claim, rdb.Ending{
				ID: receipt.ID, Queue: state, State: state, Keep: time.Minute,
				Outcome: record.Outcome{State: state}.Encode(),
			})})
			require.NoError(t, err)
			require.NoError(t, settled[0].Err)
			_, err = result()
			var none *work.NoResultError
			require.ErrorAs(t, err, &none)
			assert.Equal(t, &work.NoResultError{ID: receipt.ID, State: state}, none)
		}
		_, err := work.Wait[int](t.Context(), b.Enqueuer, "nobody")
		require.ErrorIs(t, err, work.ErrGone)
		assert.EqualError(t, err, `job "nobody": no outcome is kept: its Retention (by default none) was over before anybody waited, or there was no such job`)
		_, err = work.Wait[int](t.Context(), b.Enqueuer, "")
		assert.EqualError(t, err, "job id is empty: use 1 to 200 bytes of UTF-8")
		b.Command(t, "HSET", b.Key("outcomes"), "odd", "not JSON")
		_, err = work.Wait[int](t.Context(), b.Enqueuer, "odd")
		assert.ErrorContains(t, err, `the outcome of job "odd" is not what this version writes`)
	})
}

func TestWaitEndNeedsNoResult(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("none", work.JobOptions{Retention: time.Hour}, func() error { return nil }).
			JobWithOptions("some", work.JobOptions{Retention: time.Hour}, func() ([]int, error) { return nil, nil }).
			JobWithOptions("bad", work.JobOptions{Retention: time.Hour, Retries: -1},
				func() error { return errors.New("boom") }))
		require.NoError(t, k.Enq.WaitEnd(k.Ctx(), k.Enqueue("none").ID))
		require.NoError(t, k.Enq.WaitEnd(k.Ctx(), k.Enqueue("some").ID))
		var failed *work.JobFailedError
		require.ErrorAs(t, k.Enq.WaitEnd(k.Ctx(), k.Enqueue("bad").ID), &failed)
		_, err := work.Wait[int](k.Ctx(), k.Enq, k.Enqueue("none").ID)
		var none *work.NoResultError
		require.ErrorAs(t, err, &none)
		assert.Equal(t, "done", none.State)
	})
}

func TestWaitAllAndWaitAny(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		gate := make(chan struct{})
		pool := work.NewWorkerPool(nil, 4, k.Options()).
			JobWithOptions("double", work.JobOptions{Retention: time.Hour},
				func(n int) (int, error) { return 2 * n, nil }).
			JobWithOptions("bad", work.JobOptions{Retries: -1},
				func(n int) (int, error) { <-gate; return 0, fmt.Errorf("no %d", n) })
		ids := []string{k.Enqueue("double", 1).ID, k.Enqueue("bad", 2).ID, k.Enqueue("double", 3).ID}
		k.Start(pool)

		first, result, err := work.WaitAny[int](k.Ctx(), k.Enq, ids[1], ids[2])
		require.NoError(t, err)
		assert.Equal(t, ids[2], first)
		assert.Equal(t, 6, result)

		all := later(func() ([]int, error) { return work.WaitAll[int](k.Ctx(), k.Enq, append(ids, ids[0])...) })
		k.isWaitedFor(ids[1])
		ctx, cancel := context.WithCancelCause(k.Ctx())
		part := later(func() ([]int, error) { return work.WaitAll[int](ctx, k.Enq, ids...) })
		k.waiting(ids[1], 2)
		require.Eventually(t, func() bool { return pooltest.PartsOf(k.Enq).Waiters.Jobs() == 1 }, pooltest.Patience,
			time.Millisecond)
		cancel(errors.New("enough"))
		results, err := part()
		assert.Equal(t, []int{2, 0, 6}, results, "what came until then")
		require.EqualError(t, err, `job "`+ids[1]+`" has not ended: enough`)
		close(gate)
		results, err = all()
		assert.Equal(t, []int{2, 0, 6, 2}, results)
		var failed *work.JobFailedError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, "no 2", failed.Err)

		id, _, err := work.WaitAny[int](k.Ctx(), k.Enq, ids[1], ids[1])
		assert.Equal(t, ids[1], id)
		require.ErrorAs(t, err, &failed)
		none, err := work.WaitAll[int](k.Ctx(), k.Enq)
		require.NoError(t, err)
		assert.Empty(t, none)
		_, _, err = work.WaitAny[int](k.Ctx(), k.Enq)
		assert.EqualError(t, err, "ids of WaitAny is empty: give one or more")
	})
}

// waiting waits until so many callers wait for a job with the kit's enqueuer.
func (k *kit) waiting(id string, callers int) {
	k.T.Helper()
	w := pooltest.PartsOf(k.Enq).Waiters
	require.Eventually(k.T, func() bool { return w.Callers(id) == callers }, pooltest.Patience, time.Millisecond)
}

func TestAWaitThatEndsLeavesNothing(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		_, err := b.EnqueueMany(t.Context(), []work.Entry{
			{Name: "a", Options: []work.EnqueueOption{work.ID("x")}},
			{Name: "a", Options: []work.EnqueueOption{work.ID("y")}},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err = work.Wait[int](ctx, b.Enqueuer, "x")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, `job "x" has not ended: `)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		id, _, err := work.WaitAny[int](ended, b.Enqueuer, "x", "y")
		assert.Empty(t, id)
		require.EqualError(t, err, `job "x" and 1 more have not ended: context canceled`)
		assert.Zero(t, pooltest.PartsOf(b.Enqueuer).Waiters.Jobs())

		hanging := later(func() (int, error) { return work.Wait[int](t.Context(), b.Enqueuer, "y") })
		b.Waited(t, "y")
		require.NoError(t, b.Close())
		_, err = hanging()
		require.ErrorIs(t, err, work.ErrClosed)
		require.ErrorContains(t, err, `job "y" has not ended: `)
		_, err = work.Wait[int](t.Context(), b.Enqueuer, "y")
		require.ErrorIs(t, err, work.ErrClosed)
	})
}

// countingDriver counts requests: one for each call of a pipeline.
type countingDriver struct {
	redisconn.Driver
	mu       sync.Mutex
	requests int
}

func (d *countingDriver) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	d.mu.Lock()
	d.requests += len(calls)
	d.mu.Unlock()
	return d.Driver.Pipeline(ctx, calls...)
}

func (d *countingDriver) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests
}

// A thousand callers cost as much as one: a question when the first one comes, one when the subscription stands, one
// for the hint, and one for each look.
func TestAThousandWaitersShareTheirRequests(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		counting := &countingDriver{Driver: b.Driver}
		enq := pooltest.EnqueuerOn(counting, b.Namespace)
		defer enq.Close() // everything has been waited for
		_, err := b.With(work.ID("x")).Enqueue(t.Context(), "a")
		require.NoError(t, err)
		_, err = enq.Enqueue(t.Context(), "b") // the first call of an Enqueuer asks for its rights
		require.NoError(t, err)
		began, before := time.Now(), counting.count()
		const callers = 1000
		results := make(chan int, callers)
		for range callers {
			go func() {
				result, err := work.Wait[int](t.Context(), enq, "x")
				assert.NoError(t, err)
				results <- result
			}()
		}
		require.Eventually(t, func() bool { return pooltest.PartsOf(enq).Waiters.Callers("x") == callers },
			pooltest.Patience,
			time.Millisecond)
		b.End(t, "a", record.Outcome{State: record.Succeeded, Result: []byte("7")})
		for range callers {
			require.Equal(t, 7, pooltest.Receive(t, results))
		}
		looks := int(time.Since(began)/pooltest.PartsOf(enq).Waiters.Recheck) + 1
		t.Logf("%d requests for %d callers in %s", counting.count()-before, callers, time.Since(began))
		assert.LessOrEqual(t, counting.count()-before, 3+looks)
		assert.Zero(t, b.Command(t, "EXISTS", b.Key("waited")))
	})
}

func TestJanitorRemovesNotesOfThoseWhoWaitNoLonger(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Tidy(work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil }))
		k.Do("HSET", "waited", "old", 5, "new", time.Now().Add(time.Hour).UnixMilli())
		k.Until("the note is gone", func() bool { return k.Number("HEXISTS", "waited", "old") == 0 })
		assert.Equal(t, 1, k.Number("HEXISTS", "waited", "new"))
	})
}
