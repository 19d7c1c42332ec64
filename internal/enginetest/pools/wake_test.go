package pools_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/liveness"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestEachJobWakesAnIdlePool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const jobs = 100
		started := make(chan time.Time, 1)
		pool := work.NewWorkerPool(nil, 5, k.Options()).Job("n", func() error { started <- time.Now(); return nil })
		d := k.TamperWith(pool, &pooltest.Tampered{})
		k.Start(pool)
		d.UntilSentInAll(t, "BLPOP", 1)
		fetches, _ := d.Sent("fetch")
		begun := time.Now()
		var waits []time.Duration
		for range jobs {
			before := time.Now()
			k.Enqueue("n")
			waits = append(waits, pooltest.Receive(t, started).Sub(before))
		}
		elapsed := time.Since(begun)
		after, _ := d.Sent("fetch")
		slices.Sort(waits)
		assert.Less(t, waits[jobs/2], liveness.Interval/4, "nothing waits for the next look")
		assert.LessOrEqual(t, after-fetches, jobs+2+2*int(elapsed/liveness.Interval),
			"one fetch takes a job and sees that none is left")
	})
}

func TestAnIdleWorkerSendsFewRequests(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var drivers []*pooltest.Tampered
		for range 3 {
			pool := work.NewWorkerPool(nil, 5, k.Another(pooltest.NewSpy()))
			for i := range 20 {
				pool.Job(fmt.Sprint("n", i), func() error { return nil })
			}
			drivers = append(drivers, k.TamperWith(pool, &pooltest.Tampered{}))
			k.Start(pool)
		}
		for _, d := range drivers {
			d.UntilSent(t, "beat", 1)
		}
		sent := func() (all int) {
			for _, d := range drivers {
				_, total := d.Sent("")
				all += total
			}
			return all
		}
		begun, before := time.Now(), sent()
		drivers[0].UntilSent(t, "beat", 6)
		after, elapsed := sent(), time.Since(begun)
		perSecond := float64(after-before) / elapsed.Seconds() / float64(len(drivers))
		// Where the count begins and ends is a matter of chance for each of the things that a worker does each second.
		chance := 4 / elapsed.Seconds() / float64(len(drivers))
		assert.LessOrEqual(t, perSecond, 5+chance, "requests per second and worker")
		t.Logf("%.2f requests per second and worker", perSecond)
	})
}

func TestATokenThatComesDuringAStopIsPassedOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		popped := make(chan struct{})
		var once atomic.Bool
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func() error { return nil })
		d := k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			if pooltest.NameOf(calls[0]) == "BLPOP" && err == nil && replies[0].Value != nil &&
				once.CompareAndSwap(false, true) {
				close(popped)
				<-ctx.Done() // the stop comes before the token is used
			}
			return replies, err
		}})
		k.Start(pool)
		d.UntilSent(t, "BLPOP", 1) // else its first fetch may find the job
		receipt := k.Enqueue("n")
		pooltest.Receive(t, popped)
		require.NoError(t, pool.Stop(k.Ctx()))
		assert.Equal(t, []string{receipt.ID}, k.Strings("LRANGE", "queue:n", 0, -1))
		assert.Equal(t, 1, k.Number("LLEN", "wake:n"), "somebody else is called")
	})
}

func TestAQueueOfAWrongTypeNeitherStarvesOthersNorSpins(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("SET", "queue:bad", "no list")
		k.Do("SADD", "ready", "bad")
		k.Do("LPUSH", "wake:bad", "1")
		ran := make(chan int, 50)
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("bad", work.JobOptions{Priority: 100}, func() error { return nil }).
			Job("good", func(n int) error { ran <- n; return nil })
		d := k.TamperWith(pool, &pooltest.Tampered{})
		k.EnqueueNumbers("good", 0, 20)
		k.Start(pool)
		for n := range 20 {
			require.Equal(t, n, pooltest.Receive(t, ran))
		}
		begun := time.Now()
		before, _ := d.Sent("fetch")
		d.UntilSent(t, "beat", 2)
		after, _ := d.Sent("fetch")
		assert.LessOrEqual(t, float64(after-before), 4*(1+time.Since(begun).Seconds()))
		k.EnqueueNumbers("good", 20, 21)
		require.Equal(t, 20, pooltest.Receive(t, ran))
		assert.Equal(t, 1, pooltest.Count[event.KeyBroken](k.Spy))
		assert.Empty(t, pooltest.Troubles(k.Spy))
	})
}

func TestTokensOfAWrongTypeAreRemoved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Do("SET", "wake:bad", "no list")
		ran := make(chan int, 5)
		handler := func(n int) error { ran <- n; return nil }
		k.EnqueueNumbers("bad", 1, 2)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("bad", handler).Job("good", handler)
		d := k.TamperWith(pool, &pooltest.Tampered{})
		k.Start(pool)
		require.Equal(t, 1, pooltest.Receive(t, ran))
		k.Until("a fetch that empties the queue removes them",
			func() bool { return k.Number("EXISTS", "wake:bad") == 0 })

		d.UntilSentInAll(t, "BLPOP", 1)
		// whether a wait met them before the fetch is a matter of chance
		before := pooltest.Count[event.KeyBroken](k.Spy)
		k.Do("SET", "wake:bad", "no list")
		k.EnqueueNumbers("good", 2, 3) // the wait that is under way is over, and the next one is refused
		require.Equal(t, 2, pooltest.Receive(t, ran))
		k.Until("a wait that is refused removes them", func() bool { return k.Number("EXISTS", "wake:bad") == 0 })
		pooltest.Await(t, k.Spy, func(e event.KeyBroken) bool { return e.Key == "{"+k.Namespace+"}:wake:bad" })
		k.EnqueueNumbers("bad", 3, 4)
		require.Equal(t, 3, pooltest.Receive(t, ran))
		assert.LessOrEqual(t, pooltest.Count[event.KeyBroken](k.Spy), before+1,
			"what was told of a key once is not told again")
		assert.Empty(t, pooltest.Troubles(k.Spy))
	})
}

func TestABlockerThatCannotWaitLooksAtTheReadySetAndDoesNotSpin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan int, 5)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(n int) error { ran <- n; return nil })
		d := k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == "BLPOP" {
				return []redisconn.Reply{{Err: &redisconn.ServerError{Code: "NOPERM",
					Message: "NOPERM no BLPOP for you"}}}, nil
			}
			return pass(ctx, calls...)
		}})
		k.Start(pool)
		for n := range 3 {
			k.EnqueueNumbers("n", n, n+1)
			require.Equal(t, n, pooltest.Receive(t, ran))
		}
		d.UntilSent(t, "beat", 1)
		before, _ := d.Sent("fetch")
		d.UntilSent(t, "beat", 2)
		after, _ := d.Sent("fetch")
		assert.LessOrEqual(t, after-before, 10)
		assert.Len(t, pooltest.Troubles(k.Spy), 1, "it is told once")
	})
}

// A ctx may end just when the answer has come: then there is an answer, and no connection any more.
func TestABlockerLeavesABrokenConnection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan int, 5)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(n int) error { ran <- n; return nil })
		d := k.TamperWith(pool, &pooltest.Tampered{After: func(conn redisconn.Conn, calls []redisconn.Call) {
			if pooltest.NameOf(calls[0]) == "BLPOP" {
				_ = conn.Close()
			}
		}})
		k.Start(pool)
		for n := range 3 {
			d.UntilSentInAll(t, "BLPOP", n+1)
			k.EnqueueNumbers("n", n, n+1)
			require.Equal(t, n, pooltest.Receive(t, ran))
		}
		assert.Empty(t, pooltest.Troubles(k.Spy))
	})
}

// A connection may be dead without anybody telling. Where a heartbeat failed, the one that waits is made anew.
func TestAfterAFailedHeartbeatTheWaitIsBegunAnew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan int, 1)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(n int) error { ran <- n; return nil })
		d := k.TamperWith(pool, &pooltest.Tampered{})
		k.Start(pool)
		d.UntilSentInAll(t, "BLPOP", 1)
		pooltest.Parts(pool).Waiter.Disturb()
		d.UntilSentInAll(t, "BLPOP", 2)
		k.EnqueueNumbers("n", 1, 2)
		assert.Equal(t, 1, pooltest.Receive(t, ran))
		assert.Empty(t, pooltest.Troubles(k.Spy))
	})
}

func TestPollFollowsAClockThatWasSet(t *testing.T) {
	t.Parallel()
	server := redistest.Embedded(t)
	k := newKit(t, server)
	attempts := make(chan int, 2)
	pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
		JobWithOptions("a", work.JobOptions{Backoff: pooltest.Hourly}, func(job *work.Job) error {
			attempts <- job.Attempt
			if job.Attempt == 1 {
				return errors.New("no luck")
			}
			return nil
		}))
	enq := pool.Enqueuer()
	for _, by := range []time.Duration{48 * time.Hour, 72 * time.Hour} {
		at := time.Now().Add(by)
		server.Embedded().SetTime(at)
		pool.Poll(k.Ctx())
		assert.WithinDuration(t, at, pooltest.Parts(pool).Clock.Now(), pooltest.Patience)
		assert.WithinDuration(t, at, pooltest.PartsOf(enq).Clock.Now(), pooltest.Patience)
	}
	receipt, err := enq.With(work.ExpireIn(2*time.Hour)).EnqueueIn(k.Ctx(), "a", time.Hour)
	require.NoError(t, err)
	for attempt := range 2 {
		server.Embedded().Advance(time.Hour)
		pool.Poll(k.Ctx())
		require.Equal(t, attempt+1, pooltest.Receive(t, attempts))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](receipt.ID))
		k.Drained(pool)
	}
	pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](receipt.ID))
}

func TestPollReturnsWhateverThePoolDoes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
		pool.Enqueuer()
		pool.Poll(k.Ctx())
		require.NoError(t, pool.Start(k.Ctx()))
		pool.Poll(k.Ctx())
		ended, cancel := context.WithCancel(k.Ctx())
		cancel()
		pool.Poll(ended)
		require.NoError(t, pool.Stop(k.Ctx()))
		pool.Poll(context.Background())
	})
}

func TestNextDueIsTheFirstOfTheServedNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("a", work.JobOptions{Backoff: func(*work.Job, error) time.Duration { return 3 * time.Hour }},
				func() error { return errors.New("no luck") })
		_, err := pool.NextDue(k.Ctx())
		require.ErrorIs(t, err, work.ErrNotStarted)
		k.Start(pool)
		due, err := pool.NextDue(k.Ctx())
		require.NoError(t, err)
		assert.Zero(t, due)

		entries := make([]work.Entry, 501) // more than a page
		for i := range entries {
			entries[i] = work.Entry{Name: "strange", In: time.Minute}
		}
		_, err = k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		k.Enqueue("a")
		failed := pooltest.Await[event.JobFailed](t, k.Spy, nil)
		k.Drained(pool)
		due, err = pool.NextDue(k.Ctx())
		require.NoError(t, err)
		assert.Equal(t, k.Due("retry", failed.ID), due)

		receipt, err := k.Enq.EnqueueIn(k.Ctx(), "a", 2*time.Hour)
		require.NoError(t, err)
		due, err = pool.NextDue(k.Ctx())
		require.NoError(t, err)
		assert.Equal(t, k.Due("scheduled", receipt.ID), due)

		require.NoError(t, pool.Withdraw(k.Ctx(), "a"))
		due, err = pool.NextDue(k.Ctx())
		require.NoError(t, err)
		assert.Zero(t, due, "what the pool serves now counts, not what it served at first")

		require.NoError(t, pool.Stop(k.Ctx()))
		_, err = pool.NextDue(k.Ctx())
		require.ErrorIs(t, err, work.ErrStopped)
	})
}

func TestSyncClockAsksRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Embedded(t)
	enq, err := work.NewEnqueuer(server.DSN())
	require.NoError(t, err)
	at := time.Now().Add(-48 * time.Hour)
	server.Embedded().SetTime(at)
	require.NoError(t, enq.SyncClock(t.Context()))
	assert.WithinDuration(t, at, pooltest.PartsOf(enq).Clock.Now(), pooltest.Patience)
	require.NoError(t, enq.Close())
	require.ErrorIs(t, enq.SyncClock(t.Context()), work.ErrClosed)
}
