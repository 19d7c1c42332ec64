package serving_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestAChangeOfWhatIsServedSurvivesLostCalls(t *testing.T) {
	t.Parallel()
	for title, executed := range map[string]bool{"the reply is lost": true, "the call is lost": false} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				ran := pooltest.NewTally()
				pool := work.NewWorkerPool(nil, 3, k.Options()).Job("a", ran.Handle).Job("b", ran.Handle)
				var sent atomic.Int64
				d := k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					if pooltest.NameOf(calls[0]) != "serve" || sent.Add(1)%2 == 0 {
						return pass(ctx, calls...)
					}
					if executed {
						_, _ = pass(ctx, calls...) // its reply is what is lost
					}
					return nil, pooltest.ErrLuck
				}})
				k.Start(pool)
				require.NoError(t, pool.Withdraw(k.Ctx(), "a"))
				assert.Equal(t, []string{"b"}, k.serves())
				receipts := append(k.EnqueueNumbers("a", 0, 5), k.EnqueueNumbers("b", 0, 5)...)
				require.NoError(t, pool.Serve(k.Ctx(), "a"))
				assert.Equal(t, []string{"a", "b"}, k.serves())
				k.Drained(pool)
				ran.Once(t, receipts)
				named, _ := d.Sent("serve")
				assert.Equal(t, 4, named, "each was sent once more")
				k.healthy()
			})
		})
	}
}

// A call that was given up may land long after; it must not undo what came later.
func TestALateChangeOfWhatIsServedIsRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := pooltest.NewTally()
		pool := work.NewWorkerPool(nil, 3, k.Options()).Job("a", ran.Handle).Job("b", ran.Handle)
		var sent atomic.Int64
		late := make(chan func(), 1)
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) != "serve" || sent.Add(1) > 1 {
				return pass(ctx, calls...)
			}
			late <- func() { _, _ = pass(context.Background(), calls...) } // what it answers reaches nobody
			return nil, pooltest.ErrLuck
		}})
		k.Start(pool)
		require.NoError(t, pool.Withdraw(k.Ctx(), "a"))
		require.NoError(t, pool.Serve(k.Ctx(), "a"))
		pooltest.Receive(t, late)()
		assert.Equal(t, []string{"a", "b"}, k.serves())
		receipts := k.EnqueueNumbers("a", 0, 5)
		k.Drained(pool)
		ran.Once(t, receipts)
		k.healthy()
	})
}

// What a fetch under way brings of a name that is withdrawn meanwhile goes back as well, unjudged.
func TestAFetchUnderWayBringsAWithdrawnNameForNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 5, k.Options()).Job("a", func(int) error { return nil }).
			Job("b", func(int) error { return nil })
		var withdrawn atomic.Bool
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			if pooltest.NameOf(calls[0]) == "fetch" && k.Number("HLEN", "claimed") > 0 && !withdrawn.Swap(true) {
				assert.ErrorIs(t, pool.Withdraw(briefly(), "a"), context.Canceled)
			}
			return replies, err
		}})
		ids := pooltest.IdsOf(k.EnqueueNumbers("a", 0, 4))
		k.Store("a", "broken", "no record")
		k.Start(pool)
		require.NoError(t, pool.Withdraw(k.Ctx(), "a"))
		assert.Equal(t, append(ids, "broken"), k.InLine("a"))
		assert.Zero(t, k.Number("ZCARD", "morgue"), "others judge what this pool does not serve")
		assert.Zero(t, pooltest.Count[event.JobDone](k.Spy)+pooltest.Count[event.JobStarted](k.Spy))
		assert.Equal(t, []string{"b"}, k.serves())
	})
}

func TestAWorkerThatDiesWhileANameGoesIsTakenApart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p, ran := pooltest.NewPatient(), pooltest.NewTally()
		options := k.Options()
		options.Prefetch = 5
		receipts := k.EnqueueNumbers("a", 0, 10)
		pool := work.NewWorkerPool(nil, 1, options).
			Job("a", func(ctx context.Context, job *work.Job, _ int) error { return p.Handle(ctx, job) }).
			Job("b", ran.Handle)
		require.NoError(t, pool.Start(k.Ctx()))
		pooltest.Receive(t, p.Began)
		require.ErrorIs(t, pool.Withdraw(briefly(), "a"), context.Canceled)
		k.Until("what had not begun is back", func() bool { return len(k.InLine("a")) == 9 })
		k.Crash(pool)
		close(p.GoOn)
		other := k.Start(work.NewWorkerPool(nil, 3, k.Another(pooltest.NewSpy())).Job("a", ran.Handle))
		k.Until("it was reaped", func() bool {
			return k.Number("SCARD", "workers") == 1 &&
				k.Number("SCARD", "dead") == 0
		})
		require.NoError(t, other.Drain(k.LongCtx()))
		ran.Once(t, receipts)
		assert.Equal(t, []string{"a"}, k.serves())
		k.healthy()
	})
}

func TestAFencedWorkerRegistersWithWhatItServesNow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p, ran := pooltest.NewPatient(), pooltest.NewTally()
		pool := k.Start(work.NewWorkerPool(nil, 3, k.Options()).Job("a", p.Handle).Job("b", ran.Handle).
			Job("c", ran.Handle))
		k.Enqueue("a")
		pooltest.Receive(t, p.Began)
		require.ErrorIs(t, pool.Withdraw(briefly(), "a"), context.Canceled)
		require.NoError(t, pool.Withdraw(k.Ctx(), "b"))
		k.Bury(pooltest.WorkerID(pool))
		pooltest.Await[event.WorkerFenced](t, k.Spy, nil)
		assert.Equal(t, []string{"c"}, k.serves(), "nothing is held by the new one")
		withdrawn := make(chan error, 1)
		go func() { withdrawn <- pool.Withdraw(k.Ctx(), "a") }()
		close(p.GoOn)
		require.NoError(t, pooltest.Receive(t, withdrawn))
		receipts := k.EnqueueNumbers("b", 0, 3)
		k.Until("the old one is gone", func() bool { return k.Number("SCARD", "dead") == 0 })
		require.NoError(t, pool.Serve(k.Ctx(), "a", "b")) // what was fenced may have been put back before it ended
		k.Drained(pool)
		ran.Once(t, receipts)
		k.healthy()
	})
}

func TestALossOfDataKeepsWhatIsServed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		p, ran := pooltest.NewPatient(), pooltest.NewTally()
		options := k.Options()
		options.RestoreRunning = true
		pool := k.Start(work.NewWorkerPool(nil, 3, options).Job("a", p.Handle).Job("b", ran.Handle).
			Job("c", ran.Handle))
		k.Enqueue("a")
		pooltest.Receive(t, p.Began)
		require.ErrorIs(t, pool.Withdraw(briefly(), "a"), context.Canceled)
		require.NoError(t, pool.Withdraw(k.Ctx(), "b"))
		k.Unlink(k.Keys()...)
		pooltest.Await(t, k.Spy, func(e event.DataLost) bool { return e.Restored == 1 })
		assert.Equal(t, []string{"a", "c"}, k.serves(), "what is held must be found")
		receipts := k.EnqueueNumbers("b", 0, 3)
		close(p.GoOn)
		require.NoError(t, pool.Withdraw(k.Ctx(), "a"))
		assert.Equal(t, []string{"c"}, k.serves())
		require.NoError(t, pool.Serve(k.Ctx(), "b"))
		k.Drained(pool)
		ran.Once(t, receipts)
		k.Empty("a", "b")
		k.healthy()
	})
}

// The pools change all the time what they serve, one is stopped and one is killed, while jobs come. Each must be done
// once and nothing be left.
func TestNothingIsLostWhileNamesComeAndGo(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		names := []string{"a", "b", "c"}
		ran, killed := pooltest.NewTally(), pooltest.NewTally()
		options := k.Options()
		options.Prefetch = 20
		team := func(count func(*work.Job, int) error) *work.WorkerPool {
			pool := work.NewWorkerPool(nil, 4, options)
			for _, name := range names {
				pool.Job(name, count)
			}
			require.NoError(t, pool.Start(k.Ctx()))
			return pool
		}
		stays, stops, dies := team(ran.Handle), team(ran.Handle), team(killed.Handle)
		ends, ended := context.WithCancel(context.Background())
		defer ended()
		var changes sync.WaitGroup
		for i, pool := range []*work.WorkerPool{stays, stops, dies} {
			for n, name := range names {
				changes.Go(func() {
					for round := i + n; ends.Err() == nil; round++ {
						ctx, cancel := context.WithTimeout(ends, time.Duration(round%7)*time.Millisecond)
						_ = pool.Withdraw(ctx, name) // also what was not waited for holds
						cancel()
						_ = pool.Serve(ends, name) // its pool may have stopped
					}
				})
			}
		}
		var receipts []work.Receipt
		for from := 0; from < 600; from += 20 {
			receipts = append(receipts, k.EnqueueNumbers(names[from/20%3], from, from+20)...)
			switch from {
			case 200:
				k.Crash(dies)
			case 400:
				require.NoError(t, stops.Stop(k.LongCtx()))
			}
		}
		k.Until("the killed one was reaped",
			func() bool { return k.Number("SCARD", "workers") == 1 && k.Number("SCARD", "dead") == 0 })
		ended()
		changes.Wait()
		require.NoError(t, stays.Serve(k.Ctx(), names...))
		require.NoError(t, stays.Drain(k.LongCtx()))
		assert.Equal(t, names, k.serves())
		for _, receipt := range receipts { // one of the killed pool may have run there and again
			require.Equal(t, 1, max(ran.Runs[receipt.ID], killed.Runs[receipt.ID]), receipt.ID)
		}
		k.healthy()
		k.Empty(names...)
		require.NoError(t, stays.Stop(k.LongCtx()))
		k.NoWorker()
		k.unconfused()
	})
}
