package pools_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
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

// troubles are what the settler has reported, and what it said was over.
func (k *kit) troubles() (begun []event.Trouble, over []event.TroubleOver) {
	events, _ := k.Spy.All()
	for _, e := range events {
		switch e := e.(type) {
		case event.Trouble:
			if strings.HasPrefix(e.Component, "settler") {
				begun = append(begun, e)
			}
		case event.TroubleOver:
			if strings.HasPrefix(e.Component, "settler") {
				over = append(over, e)
			}
		}
	}
	return begun, over
}

func isSettlersOver(e event.TroubleOver) bool { return strings.HasPrefix(e.Component, "settler") }

func TestAnOutcomeWhoseReplyWasLostCountsOnce(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		outcome error
		place   string
	}{
		"done":    {nil, ""},
		"discard": {work.Discard(nil), ""},
		"retry":   {work.RetryIn(time.Hour, errors.New("no luck")), "retry"},
		"snooze":  {work.Snooze(time.Hour), "scheduled"},
		"bury":    {work.Bury(errors.New("hopeless")), "morgue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", func() error { return row.outcome })
				var lost atomic.Bool
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					replies, err := pass(ctx, calls...)
					if err == nil && pooltest.Settles(calls) && lost.CompareAndSwap(false, true) {
						return nil, errors.New("the reply was lost")
					}
					return replies, err
				}})
				k.Start(pool)
				k.Enqueue("a")
				pooltest.Await(t, k.Spy, isSettlersOver)
				require.NoError(t, pool.Drain(k.Ctx()))
				assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy),
					"the claim is gone because the first one counted")
				begun, over := k.troubles()
				assert.Len(t, begun, 1)
				assert.Len(t, over, 1)
				assert.Zero(t, k.Number("HLEN", "claimed"))
				for _, place := range []string{"retry", "scheduled", "morgue"} {
					want := 0
					if place == row.place {
						want = 1
					}
					assert.Equal(t, want, k.Number("ZCARD", place), place)
				}
			})
		})
	}
}

func TestAnOutcomeThatIsTurnedAwayIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"LOADING", "READONLY", "MASTERDOWN", "BUSY"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
				var refusals atomic.Int64
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					if pooltest.Settles(calls) && refusals.Add(1) <= 3 {
						refused := redisconn.Reply{Err: &redisconn.ServerError{Code: code, Message: code + " not now"}}
						return slices.Repeat([]redisconn.Reply{refused}, len(calls)), nil
					}
					return pass(ctx, calls...)
				}})
				k.Start(pool)
				k.Enqueue("a")
				over := pooltest.Await(t, k.Spy, isSettlersOver)
				assert.Equal(t, 3, over.Failures)
				begun, _ := k.troubles()
				require.Len(t, begun, 1, "once, not once per attempt")
				assert.ErrorContains(t, begun[0].Err, code+" not now")
				require.NoError(t, pool.Drain(k.Ctx()))
				k.Empty("a")
			})
		})
	}
}

// A proxy hands a call on and loses the answer, or what it says nobody knows: the outcome has counted, and is sent
// again.
func TestAnOutcomeThatCountedBehindARefusalCountsOnce(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"upstream failure", "ERR the moon is in the way"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := work.NewWorkerPool(nil, 1, k.Options()).Job("a", pooltest.Nothing)
				var refusals atomic.Int64
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					replies, err := pass(ctx, calls...)
					if pooltest.Settles(calls) && refusals.Add(1) == 1 {
						return refusal(words, calls), nil
					}
					return replies, err
				}})
				k.Start(pool)
				k.Enqueue("a")
				pooltest.Await(t, k.Spy, isSettlersOver)
				require.NoError(t, pool.Drain(k.Ctx()))
				assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
				assert.Equal(t, 1, pooltest.Count[event.JobDone](k.Spy))
				k.Empty("a")
			})
		})
	}
}

func TestABrokenKeyParksOnlyWhatNeedsIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 30, k.Options())
		pooltest.Times(pool).Park = 50 * time.Millisecond
		running, leave := make(chan struct{}, 30), make(chan struct{})
		handler := func() error { running <- struct{}{}; <-leave; return nil }
		pool.Job("good", handler).Job("bad", handler)
		gathered := make(chan struct{})
		d := k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.Settles(calls) {
				<-gathered // until all outcomes are there to go in one call
			}
			return pass(ctx, calls...)
		}})
		k.Start(pool)
		for i := range 30 {
			k.Enqueue(map[bool]string{true: "bad", false: "good"}[i%10 == 5])
			pooltest.Receive(t, running)
		}
		inprocess := "worker:" + pooltest.WorkerID(pool) + ":inprocess:bad"
		k.Do("RENAME", inprocess, "{"+k.Namespace+"}:kept")
		k.Do("SET", inprocess, "of a wrong type")
		close(leave)
		require.Eventually(t, func() bool { return pooltest.Parts(pool).Slots.Busy() == 0 }, pooltest.Patience,
			time.Millisecond)
		close(gathered)

		trouble := pooltest.Await(t, k.Spy,
			func(e event.Trouble) bool { return strings.HasPrefix(e.Component, "settler, bad ") })
		assert.ErrorContains(t, trouble.Err, "has the wrong type")
		require.Eventually(t, func() bool { return k.Number("HLEN", "claimed") == 3 }, pooltest.Patience,
			time.Millisecond,
			"the others settle")
		d.UntilSent(t, "complete", 4) // the bad ones are tried again now and then
		begun, over := k.troubles()
		assert.Len(t, begun, 1, "three jobs, one reason")
		assert.Empty(t, over)

		k.Do("RENAME", "kept", "{"+k.Namespace+"}:"+inprocess)
		pooltest.Await(t, k.Spy, isSettlersOver)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, 30, pooltest.Count[event.JobDone](k.Spy))
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
		k.Empty("good", "bad")
	})
}

func TestABrokenKeyOfAllIsReportedOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 20, k.Options())
		pooltest.Times(pool).Park = 50 * time.Millisecond
		running, leave := make(chan struct{}, 20), make(chan struct{})
		pool.Job("a", func() error { running <- struct{}{}; <-leave; return nil })
		d := k.TamperWith(pool, &pooltest.Tampered{})
		k.Start(pool)
		for range 20 {
			k.Enqueue("a")
			pooltest.Receive(t, running)
		}
		k.Do("RENAME", "claimed", "{"+k.Namespace+"}:kept")
		k.Do("SET", "claimed", "of a wrong type")
		close(leave)
		d.UntilSent(t, "complete", 60)
		begun, over := k.troubles()
		assert.Len(t, begun, 1, "twenty jobs, one reason")
		assert.Empty(t, over)
		k.Do("RENAME", "kept", "{"+k.Namespace+"}:claimed")
		pooltest.Await(t, k.Spy, isSettlersOver)
		require.NoError(t, pool.Drain(k.Ctx()))
		_, over = k.troubles()
		assert.Len(t, over, 1)
		k.Empty("a")
	})
}

func TestFetchingStopsWhileRedisAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const jobs = 1000
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 10, k.Options()).Job("a", pooltest.Nothing)
		var away atomic.Bool
		away.Store(true)
		d := k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.Settles(calls) && away.Load() {
				return nil, errors.New("Redis is away")
			}
			return pass(ctx, calls...)
		}})
		entries := make([]work.Entry, jobs)
		for i := range entries {
			entries[i].Name = "a"
		}
		_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
		require.NoError(t, err)
		k.Start(pool)
		most := pooltest.Parts(pool).Slots.Most()
		require.Less(t, most, 100)
		d.UntilSent(t, "complete", 1)
		require.Eventually(t, func() bool { return pooltest.Count[event.JobDone](k.Spy) == most }, pooltest.Patience,
			time.Millisecond)
		d.UntilSent(t, "complete", 3)
		assert.Equal(t, most, pooltest.Count[event.JobDone](k.Spy), "no more is fetched")
		assert.Equal(t, most, k.Number("HLEN", "claimed"))

		away.Store(false)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, jobs, pooltest.Count[event.JobDone](k.Spy), "each ran once")
		assert.Zero(t, pooltest.Count[event.ClaimGone](k.Spy))
		k.Empty("a")
	})
}

func TestAnOutcomeWhoseClaimIsGoneDoesNotCount(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		running, leave := make(chan struct{}), make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func() error { close(running); <-leave; return nil }))
		job := k.Enqueue("a")
		pooltest.Receive(t, running)
		k.Do("DEL", "worker:"+pooltest.WorkerID(pool)+":inprocess:a")
		k.Do("HDEL", "claimed", job.ID)
		close(leave)
		assert.Equal(t, job.ID, pooltest.Await[event.ClaimGone](t, k.Spy, nil).ID)
		assert.Equal(t, 1, k.Number("HLEN", "jobs"), "its record is that of whoever has it now")
	})
}

// TestRoomInALimitIsToldAgain: whoever waits for it would else learn of it only with a heartbeat. It is tried a few
// times, and then no more.
func TestRoomInALimitIsToldAgain(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ cut, sent int64 }{
		"until it is answered": {cut: 2, sent: 3}, "a few times": {cut: 1000, sent: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				var cut, sent atomic.Int64
				cut.Store(row.cut)
				pool := work.NewWorkerPool(nil, 1, k.Options()).Job("free", pooltest.Nothing).
					JobWithOptions("limited", work.JobOptions{Limit: work.Limit{Concurrent: 1}}, pooltest.Nothing)
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					// not those that pass a token on
					afterEnd := pooltest.NameOf(calls[0]) == "wake" && calls[0].Args[0] == any(true)
					if afterEnd && sent.Add(1) <= cut.Load() {
						return nil, io.ErrUnexpectedEOF
					}
					return pass(ctx, calls...)
				}})
				require.NoError(t, pool.Start(k.Ctx()))
				k.Enqueue("limited")
				k.Until("it was told so often", func() bool { return sent.Load() >= row.sent })
				k.Enqueue("free")
				k.Drained(pool)
				assert.Equal(t, row.sent, sent.Load())
				cut.Store(0)
				require.NoError(t, k.Stop(pool))
				k.NoWorker()
			})
		})
	}
}
