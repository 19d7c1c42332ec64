package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// What ends a job without a word is noticed by the next look.
func TestALostHintIsMadeUpFor(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		for _, id := range []string{"ended", "buried", "removed"} {
			_, err := b.With(ID(id)).Enqueue(t.Context(), id)
			require.NoError(t, err)
		}
		errs := map[string]func() (int, error){}
		for _, id := range []string{"ended", "buried", "removed"} {
			errs[id] = later(func() (int, error) { return Wait[int](t.Context(), b.Enqueuer, id) })
			b.waited(t, id)
		}
		b.command(t, "HSET", b.key("outcomes"), "ended", `{"state":"done","result":5}`)
		b.command(t, "ZADD", b.key("morgue"), 1, "buried")
		b.command(t, "HDEL", b.key("jobs"), "ended", "removed")
		five, err := errs["ended"]()
		require.NoError(t, err)
		assert.Equal(t, 5, five)
		_, err = errs["buried"]()
		var dead *JobFailedError
		require.ErrorAs(t, err, &dead)
		assert.EqualError(t, err, `job "buried" is dead`)
		_, err = errs["removed"]()
		require.ErrorIs(t, err, ErrGone)
	})
}

// lateSubscription is a Driver whose subscriptions begin when they are let.
type lateSubscription struct {
	rdb.Driver
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
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		driver := &lateSubscription{Driver: b.driver, let: make(chan struct{})}
		enq := newEnqueuer(rdb.NewStore(driver, b.namespace), 0, 0, nil)
		enq.core.waiters.looks = time.Hour
		defer enq.Close() // everything has been waited for
		_, err := b.With(ID("x")).Enqueue(t.Context(), "a")
		require.NoError(t, err)
		result := later(func() (int, error) { return Wait[int](t.Context(), enq, "x") })
		b.waited(t, "x")
		b.end(t, "a", outcome{State: stateSucceeded, Result: []byte("4")})
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
		far, err := NewEnqueuer(proxy.DSN(), Namespace(k.namespace))
		require.NoError(t, err)
		defer far.Close() // everything has been waited for
		gates := make(chan struct{})
		k.start(NewWorkerPool(nil, 4, k.options()).Job("a", func(n int) (int, error) {
			<-gates
			return n, nil
		}))
		const jobs = 40
		ids := make([]string, jobs)
		for i := range ids {
			ids[i] = k.enqueue("a", i).ID
		}
		results := later(func() ([]int, error) { return WaitAll[int](k.ctx(), far, ids...) })
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
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		b.command(t, "SET", b.key("waited"), "something else")
		_, err := Wait[int](t.Context(), b.Enqueuer, "x")
		var refused *rdb.ServerError
		require.ErrorAs(t, err, &refused)
		assert.ErrorContains(t, err, `the outcome of job "x" cannot be waited for: BADKEY`)
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		enq, err := NewEnqueuer("redis://127.0.0.1:1/0")
		require.NoError(t, err)
		defer enq.Close() // nothing was sent
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = Wait[int](ctx, enq, "x")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var dial *rdb.DialError
		require.ErrorAs(t, err, &dial, "and what was wrong until then: %v", err)
	})
	t.Run("a pool whose options are wrong", func(t *testing.T) {
		t.Parallel()
		enq := NewWorkerPool(nil, 1, WorkerOptions{Redis: "redis://%"}).Enqueuer()
		defer enq.Close() // nothing was sent
		_, err := Wait[int](t.Context(), enq, "x")
		require.ErrorContains(t, err, "the outcome of job \"x\" cannot be waited for: ")
	})
}

// A worker dies with the job; another one ends it.
func TestWaitOutlivesTheWorker(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.enqueue("a").ID
		driver, err := rdb.Open(s.DSN())
		require.NoError(t, err)
		defer driver.Close() // everything was answered
		doomed := rdb.NewStore(driver, k.namespace).Worker(strings.Repeat("w", rdb.MinWorkerID))
		_, _, err = doomed.Register(k.ctx(),
			rdb.Registration{Life: time.Millisecond, Epoch: "1", Queues: []string{"a"}})
		require.NoError(t, err)
		fetched, err := doomed.Fetch(k.ctx(), 1, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
		require.NoError(t, err)
		require.Len(t, fetched.Jobs, 1)
		result := later(func() (string, error) { return Wait[string](k.ctx(), k.enq, id) })
		k.isWaitedFor(id)
		k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func() (string, error) { return "in the end", nil }))
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
		enq, err := NewEnqueuer(server.DSN(), Namespace(namespace))
		require.NoError(t, err)
		defer enq.Close() // everything has been waited for
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		begun, gate := make(chan struct{}), make(chan struct{})
		pool := NewWorkerPool(nil, 1, WorkerOptions{Redis: server.DSN(), Namespace: namespace, Logger: silent()}).
			Job("a", func() (int, error) {
				close(begun)
				<-gate
				return 3, nil
			})
		require.NoError(t, pool.Start(ctx))
		receipt, err := enq.With(Completion("c")).Enqueue(ctx, "a")
		require.NoError(t, err)
		<-begun
		result := later(func() (int, error) { return Wait[int](ctx, enq, receipt.ID) })
		next := later(func() (Ended, error) { return enq.Completions("c").Next(ctx) })
		require.Eventually(t, func() bool {
			replies, err := enq.core.store.Driver().Pipeline(ctx, rdb.Call{
				Command: "HEXISTS", Args: []any{"{" + namespace + "}:waited", receipt.ID},
			})
			return err == nil && replies[0].Value == int64(1)
		}, patience, time.Millisecond)
		require.NoError(t, server.Restart())
		close(gate)
		got, err := result()
		require.NoError(t, err)
		assert.Equal(t, 3, got)
		ended, err := next()
		require.NoError(t, err)
		assert.Equal(t, Ended{ID: receipt.ID, State: StateSucceeded}, ended)
		require.NoError(t, pool.Stop(ctx))
	})
}

// Waits begin at the moment in which their jobs end, in whatever order: each gets the result, or learns that nothing
// was kept when it came too late, and nothing is left of it.
func TestWaitsAndEndsInAnyOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		rounds := 1000
		if s.Embedded() == nil {
			rounds = 200
		}
		pool := k.start(NewWorkerPool(nil, 4, k.options()).
			JobWithOptions("a", JobOptions{Retries: -1}, func(n int) (int, error) {
				switch n % 4 {
				case 2:
					return 0, errors.New("boom")
				case 3:
					return 0, Discard(nil)
				}
				return n, nil
			}))
		const lot = 8
		for from := 0; from < rounds; from += lot {
			check := make([]func() (int, error), 0, 2*lot)
			for n := from; n < from+lot; n++ {
				id := fmt.Sprint(n)
				enq := k.enq.With(ID(id))
				if n%4 == 1 {
					enq = enq.With(Retention(time.Hour))
				}
				_, err := enq.Enqueue(k.ctx(), "a", n)
				require.NoError(t, err)
				for range 2 {
					check = append(check, later(func() (int, error) { return Wait[int](k.ctx(), k.enq, id) }))
				}
			}
			for i, result := range check {
				got, err := result()
				requireEnd(t, from+i/2, got, err)
			}
		}
		k.drained(pool)
		assert.Zero(t, k.number("EXISTS", "waited"))
		assert.Equal(t, k.number("HLEN", "jobs"), k.number("ZCARD", "morgue"))
		diagnosis, err := pool.Inspector().Doctor(k.ctx(), DoctorOptions{})
		require.NoError(t, err)
		assert.Empty(t, diagnosis.Findings)
	})
}

// requireEnd tells whether the end of that round's job is one that it may have.
func requireEnd(t *testing.T, n, got int, err error) {
	t.Helper()
	var dead *JobFailedError
	var none *NoResultError
	switch n % 4 {
	case 0: // nothing is kept of it unless somebody waits
		if !errors.Is(err, ErrGone) {
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
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		large, err := json.Marshal(strings.Repeat("x", 900<<10))
		require.NoError(t, err)
		ids := make([]string, 6)
		for i := range ids {
			ids[i] = fmt.Sprint("large ", i)
			b.command(t, "HSET", b.key("outcomes"), ids[i], outcome{State: stateSucceeded, Result: large}.encode())
		}
		all, err := WaitAll[string](t.Context(), b.Enqueuer, ids...)
		require.NoError(t, err)
		for i := range all {
			assert.Len(t, all[i], 900<<10)
		}
	})
}
