package waiting_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// What ends a job without a word is noticed by the next look.
func TestALostHintIsMadeUpFor(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		for _, id := range []string{"ended", "buried", "removed"} {
			_, err := b.With(work.ID(id)).Enqueue(t.Context(), id)
			require.NoError(t, err)
		}
		errs := map[string]func() (int, error){}
		for _, id := range []string{"ended", "buried", "removed"} {
			errs[id] = later(func() (int, error) { return work.Wait[int](t.Context(), b.Enqueuer, id) })
			b.Waited(t, id)
		}
		b.Command(t, "HSET", b.Key("outcomes"), "ended", `{"state":"done","result":5}`)
		b.Command(t, "ZADD", b.Key("morgue"), 1, "buried")
		b.Command(t, "HDEL", b.Key("jobs"), "ended", "removed")
		five, err := errs["ended"]()
		require.NoError(t, err)
		assert.Equal(t, 5, five)
		_, err = errs["buried"]()
		var dead *work.JobFailedError
		require.ErrorAs(t, err, &dead)
		assert.EqualError(t, err, `job "buried" is dead`)
		_, err = errs["removed"]()
		require.ErrorIs(t, err, work.ErrGone)
	})
}

// lateSubscription is a Driver whose subscriptions begin when they are let.
type lateSubscription struct {
	redisconn.Driver
	let chan struct{}
}

func (d *lateSubscription) Subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	select {
	case <-d.let:
		return d.Driver.Subscribe(ctx, channel, ready, receive)
	case <-ctx.Done():
		return nil
	}
}

// What ended before the subscription stood was told to nobody. All is asked again once it stands, without waiting for a
// look.
func TestWaitAsksAgainOnceTheSubscriptionStands(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		driver := &lateSubscription{Driver: b.Driver, let: make(chan struct{})}
		enq := pooltest.EnqueuerOn(driver, b.Namespace)
		pooltest.PartsOf(enq).Waiters.Recheck = time.Hour
		defer enq.Close() // everything has been waited for
		_, err := b.With(work.ID("x")).Enqueue(t.Context(), "a")
		require.NoError(t, err)
		result := later(func() (int, error) { return work.Wait[int](t.Context(), enq, "x") })
		b.Waited(t, "x")
		b.End(t, "a", record.Outcome{State: record.Succeeded, Result: []byte("4")})
		close(driver.let)
		got, err := result()
		require.NoError(t, err)
		assert.Equal(t, 4, got)
	})
}

// The connections of those who wait break again and again, while their jobs run and end.
func TestWaitOutlivesItsConnections(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		proxy := redistest.NewProxy(t, s.Addr())
		far, err := work.NewEnqueuer(proxy.DSN(), work.Namespace(k.Namespace))
		require.NoError(t, err)
		defer far.Close() // everything has been waited for
		gates := make(chan struct{})
		k.Start(work.NewWorkerPool(nil, 4, k.Options()).Job("a", func(n int) (int, error) {
			<-gates
			return n, nil
		}))
		const jobs = 40
		ids := make([]string, jobs)
		for i := range ids {
			ids[i] = k.Enqueue("a", i).ID
		}
		results := later(func() ([]int, error) { return work.WaitAll[int](k.Ctx(), far, ids...) })
		k.isWaitedFor(ids...)
		for i := range jobs {
			if i%4 == 0 {
				proxy.Cut()
			}
			gates <- struct{}{}
		}
		got, err := results()
		require.NoError(t, err)
		for i, n := range got {
			assert.Equal(t, i, n)
		}
	})
}

func TestWaitSaysWhatIsWrongWithRedis(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		b.Command(t, "SET", b.Key("waited"), "something else")
		_, err := work.Wait[int](t.Context(), b.Enqueuer, "x")
		var refused *redisconn.ServerError
		require.ErrorAs(t, err, &refused)
		assert.ErrorContains(t, err, `the outcome of job "x" cannot be waited for: BADKEY`)
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		enq, err := work.NewEnqueuer("redis://127.0.0.1:1/0")
		require.NoError(t, err)
		defer enq.Close() // nothing was sent
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = work.Wait[int](ctx, enq, "x")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var dial *redisconn.DialError
		require.ErrorAs(t, err, &dial, "and what was wrong until then: %v", err)
	})
	t.Run("a pool whose options are wrong", func(t *testing.T) {
		t.Parallel()
		enq := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://%"}).Enqueuer()
		defer enq.Close() // nothing was sent
		_, err := work.Wait[int](t.Context(), enq, "x")
		require.ErrorContains(t, err, "the outcome of job \"x\" cannot be waited for: ")
	})
}

// A worker dies with the job; another one ends it.
func TestWaitOutlivesTheWorker(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.Enqueue("a").ID
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		defer driver.Close() // everything was answered
		doomed := rdb.NewStore(driver, k.Namespace).Worker(strings.Repeat("w", rdb.MinWorkerID))
		_, _, err = doomed.Register(k.Ctx(),
			rdb.Registration{Life: time.Millisecond, Epoch: "1", Queues: []string{"a"}})
		require.NoError(t, err)
		fetched, err := doomed.Fetch(k.Ctx(), 1, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
		require.NoError(t, err)
		require.Len(t, fetched.Jobs, 1)
		result := later(func() (string, error) { return work.Wait[string](k.Ctx(), k.Enq, id) })
		k.isWaitedFor(id)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() (string, error) { return "in the end", nil }))
		got, err := result()
		require.NoError(t, err)
		assert.Equal(t, "in the end", got)
	})
}

func TestWaitOutlivesARestartOfRedisRealRedis(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Dedicated(t, "--appendonly", "yes", "--appendfsync", "always")
		namespace := redistest.Namespace(t)
		enq, err := work.NewEnqueuer(server.DSN(), work.Namespace(namespace))
		require.NoError(t, err)
		defer enq.Close() // everything has been waited for
		ctx, cancel := context.WithTimeout(t.Context(), pooltest.Patience)
		defer cancel()
		begun, gate := make(chan struct{}), make(chan struct{})
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: server.DSN(), Namespace: namespace,
			Logger: pooltest.Silent()}).
			Job("a", func() (int, error) {
				close(begun)
				<-gate
				return 3, nil
			})
		require.NoError(t, pool.Start(ctx))
		receipt, err := enq.With(work.Completion("c")).Enqueue(ctx, "a")
		require.NoError(t, err)
		<-begun
		result := later(func() (int, error) { return work.Wait[int](ctx, enq, receipt.ID) })
		next := later(func() (work.Ended, error) { return enq.Completions("c").Next(ctx) })
		require.Eventually(t, func() bool {
			replies, err := pooltest.StoreOf(enq).Driver().Pipeline(ctx, redisconn.Call{
				Command: "HEXISTS", Args: []any{"{" + namespace + "}:waited", receipt.ID},
			})
			return err == nil && replies[0].Value == int64(1)
		}, pooltest.Patience, time.Millisecond)
		require.NoError(t, server.Restart())
		close(gate)
		got, err := result()
		require.NoError(t, err)
		assert.Equal(t, 3, got)
		ended, err := next()
		require.NoError(t, err)
		assert.Equal(t, work.Ended{ID: receipt.ID, State: work.StateSucceeded}, ended)
		require.NoError(t, pool.Stop(ctx))
	})
}

// Waits begin at the moment in which their jobs end, in whatever order: each gets the result, or learns that nothing
// was kept when it came too late, and nothing is left of it.
func TestWaitsAndEndsInAnyOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		rounds := redistest.Rounds(s.Embedded(), 1000, 200)
		pool := k.Start(work.NewWorkerPool(nil, 4, k.Options()).
			JobWithOptions("a", work.JobOptions{Retries: -1}, func(n int) (int, error) {
				switch n % 4 {
				case 2:
					return 0, errors.New("boom")
				case 3:
					return 0, work.Discard(nil)
				}
				return n, nil
			}))
		const lot = 8
		for from := 0; from < rounds; from += lot {
			check := make([]func() (int, error), 0, 2*lot)
			for n := from; n < from+lot; n++ {
				id := fmt.Sprint(n)
				enq := k.Enq.With(work.ID(id))
				if n%4 == 1 {
					enq = enq.With(work.Retention(time.Hour))
				}
				_, err := enq.Enqueue(k.Ctx(), "a", n)
				require.NoError(t, err)
				for range 2 {
					check = append(check, later(func() (int, error) { return work.Wait[int](k.Ctx(), k.Enq, id) }))
				}
			}
			for i, result := range check {
				got, err := result()
				requireEnd(t, from+i/2, got, err)
			}
		}
		k.Drained(pool)
		assert.Zero(t, k.Number("EXISTS", "waited"))
		assert.Equal(t, k.Number("HLEN", "jobs"), k.Number("ZCARD", "morgue"))
		findings, err := k.ByHand().Findings(k.Ctx(), 0)
		require.NoError(t, err)
		assert.Empty(t, findings)
	})
}

// requireEnd tells whether the end of that round's job is one that it may have.
func requireEnd(t *testing.T, n, got int, err error) {
	t.Helper()
	var dead *work.JobFailedError
	var none *work.NoResultError
	switch n % 4 {
	case 0: // nothing is kept of it unless somebody waits
		if !errors.Is(err, work.ErrGone) {
			require.NoError(t, err)
			require.Equal(t, n, got)
		}
	case 1:
		require.NoError(t, err)
		require.Equal(t, n, got)
	case 2:
		require.ErrorAs(t, err, &dead)
	case 3:
		require.ErrorAs(t, err, &none)
	}
}

// The looks go on for the jobs whose outcomes do not fit into one answer.
func TestManyLargeResultsAreWaitedFor(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		large, err := json.Marshal(strings.Repeat("x", 900<<10))
		require.NoError(t, err)
		ids := make([]string, 6)
		for i := range ids {
			ids[i] = fmt.Sprint("large ", i)
			b.Command(t, "HSET", b.Key("outcomes"), ids[i],
				record.Outcome{State: record.Succeeded, Result: large}.Encode())
		}
		all, err := work.WaitAll[string](t.Context(), b.Enqueuer, ids...)
		require.NoError(t, err)
		for i := range all {
			assert.Len(t, all[i], 900<<10)
		}
	})
}
