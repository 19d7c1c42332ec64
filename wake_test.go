package work

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

func TestEachJobWakesAnIdlePool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		const jobs = 100
		started := make(chan time.Time, 1)
		pool := NewWorkerPool(nil, 5, k.options()).Job("n", func() error { started <- time.Now(); return nil })
		d := k.tamper(pool, &tampered{})
		k.start(pool)
		d.untilSentInAll(t, "BLPOP", 1)
		fetches, _ := d.sent("fetch")
		begun := time.Now()
		var waits []time.Duration
		for range jobs {
			before := time.Now()
			k.enqueue("n")
			waits = append(waits, receive(t, started).Sub(before))
		}
		elapsed := time.Since(begun)
		after, _ := d.sent("fetch")
		slices.Sort(waits)
		assert.Less(t, waits[jobs/2], beatInterval/4, "nothing waits for the next look")
		assert.LessOrEqual(t, after-fetches, jobs+2+2*int(elapsed/beatInterval),
			"one fetch takes a job and sees that none is left")
	})
}

func TestAnIdleWorkerSendsFewRequests(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var drivers []*tampered
		for range 3 {
			pool := NewWorkerPool(nil, 5, k.another(newSpy()))
			for i := range 20 {
				pool.Job(fmt.Sprint("n", i), func() error { return nil })
			}
			drivers = append(drivers, k.tamper(pool, &tampered{}))
			k.start(pool)
		}
		for _, d := range drivers {
			d.untilSent(t, "beat", 1)
		}
		sent := func() (all int) {
			for _, d := range drivers {
				_, total := d.sent("")
				all += total
			}
			return all
		}
		begun, before := time.Now(), sent()
		drivers[0].untilSent(t, "beat", 6)
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
		pool := NewWorkerPool(nil, 1, k.options()).Job("n", func() error { return nil })
		k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			replies, err := pass(ctx, calls...)
			if nameOf(calls[0]) == "BLPOP" && err == nil && replies[0].Value != nil &&
				once.CompareAndSwap(false, true) {
				close(popped)
				<-ctx.Done() // the stop comes before the token is used
			}
			return replies, err
		}})
		k.start(pool)
		receipt := k.enqueue("n")
		receive(t, popped)
		require.NoError(t, pool.Stop(k.ctx()))
		assert.Equal(t, []string{receipt.ID}, k.strings("LRANGE", "queue:n", 0, -1))
		assert.Equal(t, 1, k.number("LLEN", "wake:n"), "somebody else is called")
	})
}

func TestAQueueOfAWrongTypeNeitherStarvesOthersNorSpins(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("SET", "queue:bad", "no list")
		k.do("SADD", "ready", "bad")
		k.do("LPUSH", "wake:bad", "1")
		ran := make(chan int, 50)
		pool := NewWorkerPool(nil, 1, k.options()).
			JobWithOptions("bad", JobOptions{Priority: 100}, func() error { return nil }).
			Job("good", func(n int) error { ran <- n; return nil })
		d := k.tamper(pool, &tampered{})
		k.enqueueNumbers("good", 0, 20)
		k.start(pool)
		for n := range 20 {
			require.Equal(t, n, receive(t, ran))
		}
		begun := time.Now()
		before, _ := d.sent("fetch")
		d.untilSent(t, "beat", 2)
		after, _ := d.sent("fetch")
		assert.LessOrEqual(t, float64(after-before), 4*(1+time.Since(begun).Seconds()))
		k.enqueueNumbers("good", 20, 21)
		require.Equal(t, 20, receive(t, ran))
		assert.Equal(t, 1, count[event.KeyBroken](k.spy))
		assert.Empty(t, troubles(k.spy))
	})
}

func TestTokensOfAWrongTypeAreRemoved(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("SET", "wake:bad", "no list")
		ran := make(chan int, 5)
		handler := func(n int) error { ran <- n; return nil }
		k.enqueueNumbers("bad", 1, 2)
		pool := NewWorkerPool(nil, 1, k.options()).Job("bad", handler).Job("good", handler)
		d := k.tamper(pool, &tampered{})
		k.start(pool)
		require.Equal(t, 1, receive(t, ran))
		k.until("a fetch that empties the queue removes them",
			func() bool { return k.number("EXISTS", "wake:bad") == 0 })

		d.untilSentInAll(t, "BLPOP", 1)
		before := count[event.KeyBroken](k.spy) // whether a wait met them before the fetch is a matter of chance
		k.do("SET", "wake:bad", "no list")
		k.enqueueNumbers("good", 2, 3) // the wait that is under way is over, and the next one is refused
		require.Equal(t, 2, receive(t, ran))
		k.until("a wait that is refused removes them", func() bool { return k.number("EXISTS", "wake:bad") == 0 })
		await(t, k.spy, func(e event.KeyBroken) bool { return e.Key == "{"+k.namespace+"}:wake:bad" })
		k.enqueueNumbers("bad", 3, 4)
		require.Equal(t, 3, receive(t, ran))
		assert.LessOrEqual(t, count[event.KeyBroken](k.spy), before+1, "what was told of a key once is not told again")
		assert.Empty(t, troubles(k.spy))
	})
}

func TestABlockerThatCannotWaitLooksAtTheReadySetAndDoesNotSpin(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan int, 5)
		pool := NewWorkerPool(nil, 1, k.options()).Job("n", func(n int) error { ran <- n; return nil })
		d := k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
			error) {
			if nameOf(calls[0]) == "BLPOP" {
				return []rdb.Reply{{Err: &rdb.ServerError{Code: "NOPERM", Message: "NOPERM no BLPOP for you"}}}, nil
			}
			return pass(ctx, calls...)
		}})
		k.start(pool)
		for n := range 3 {
			k.enqueueNumbers("n", n, n+1)
			require.Equal(t, n, receive(t, ran))
		}
		d.untilSent(t, "beat", 1)
		before, _ := d.sent("fetch")
		d.untilSent(t, "beat", 2)
		after, _ := d.sent("fetch")
		assert.LessOrEqual(t, after-before, 10)
		assert.Len(t, troubles(k.spy), 1, "it is told once")
	})
}

// A ctx may end just when the answer has come: then there is an answer, and no connection any more.
func TestABlockerLeavesABrokenConnection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan int, 5)
		pool := NewWorkerPool(nil, 1, k.options()).Job("n", func(n int) error { ran <- n; return nil })
		d := k.tamper(pool, &tampered{after: func(conn rdb.Conn, calls []rdb.Call) {
			if nameOf(calls[0]) == "BLPOP" {
				_ = conn.Close()
			}
		}})
		k.start(pool)
		for n := range 3 {
			d.untilSentInAll(t, "BLPOP", n+1)
			k.enqueueNumbers("n", n, n+1)
			require.Equal(t, n, receive(t, ran))
		}
		assert.Empty(t, troubles(k.spy))
	})
}
