package work

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// settles tells whether calls are a settlement.
func settles(calls []rdb.Call) bool {
	switch nameOf(calls[0]) {
	case "complete", "shelve", "release":
		return true
	}
	return false
}

// troubles are what the settler has reported, and what it said was over.
func (k *kit) troubles() (begun []event.Trouble, over []event.TroubleOver) {
	events, _ := k.spy.all()
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
		"discard": {Discard(nil), ""},
		"retry":   {RetryIn(time.Hour, errors.New("no luck")), "retry"},
		"snooze":  {Snooze(time.Hour), "scheduled"},
		"bury":    {Bury(errors.New("hopeless")), "morgue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := NewWorkerPool(nil, 1, k.options()).Job("a", func() error { return row.outcome })
				var lost atomic.Bool
				k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
					error) {
					replies, err := pass(ctx, calls...)
					if err == nil && settles(calls) && lost.CompareAndSwap(false, true) {
						return nil, errors.New("the reply was lost")
					}
					return replies, err
				}})
				k.start(pool)
				k.enqueue("a")
				await(t, k.spy, isSettlersOver)
				require.NoError(t, pool.Drain(k.ctx()))
				assert.Zero(t, count[event.ClaimGone](k.spy), "the claim is gone because the first one counted")
				begun, over := k.troubles()
				assert.Len(t, begun, 1)
				assert.Len(t, over, 1)
				assert.Zero(t, k.number("HLEN", "claimed"))
				for _, place := range []string{"retry", "scheduled", "morgue"} {
					want := 0
					if place == row.place {
						want = 1
					}
					assert.Equal(t, want, k.number("ZCARD", place), place)
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
				pool := NewWorkerPool(nil, 1, k.options()).Job("a", nothing)
				var refusals atomic.Int64
				k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
					error) {
					if settles(calls) && refusals.Add(1) <= 3 {
						return []rdb.Reply{{Err: &rdb.ServerError{Code: code, Message: code + " not now"}}}, nil
					}
					return pass(ctx, calls...)
				}})
				k.start(pool)
				k.enqueue("a")
				over := await(t, k.spy, isSettlersOver)
				assert.Equal(t, 3, over.Failures)
				begun, _ := k.troubles()
				require.Len(t, begun, 1, "once, not once per attempt")
				assert.ErrorContains(t, begun[0].Err, code+" not now")
				require.NoError(t, pool.Drain(k.ctx()))
				k.empty("a")
			})
		})
	}
}

func TestABrokenKeyParksOnlyWhatNeedsIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 30, k.options())
		pool.parkTime = 50 * time.Millisecond
		running, leave := make(chan struct{}, 30), make(chan struct{})
		handler := func() error { running <- struct{}{}; <-leave; return nil }
		pool.Job("good", handler).Job("bad", handler)
		gathered := make(chan struct{})
		d := k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
			error) {
			if settles(calls) {
				<-gathered // until all outcomes are there to go in one call
			}
			return pass(ctx, calls...)
		}})
		k.start(pool)
		for i := range 30 {
			k.enqueue(map[bool]string{true: "bad", false: "good"}[i%10 == 5])
			receive(t, running)
		}
		inprocess := "worker:" + pool.workers[0].claimant().rdb.ID + ":inprocess:bad"
		k.do("RENAME", inprocess, "{"+k.namespace+"}:kept")
		k.do("SET", inprocess, "of a wrong type")
		close(leave)
		require.Eventually(t, func() bool { return pool.workers[0].slots.busy.Load() == 0 }, patience, time.Millisecond)
		close(gathered)

		trouble := await(t, k.spy,
			func(e event.Trouble) bool { return strings.HasPrefix(e.Component, "settler, bad ") })
		assert.ErrorContains(t, trouble.Err, "has the wrong type")
		require.Eventually(t, func() bool { return k.number("HLEN", "claimed") == 3 }, patience, time.Millisecond,
			"the others settle")
		d.untilSent(t, "complete", 4) // the bad ones are tried again now and then
		begun, over := k.troubles()
		assert.Len(t, begun, 1, "three jobs, one reason")
		assert.Empty(t, over)

		k.do("RENAME", "kept", "{"+k.namespace+"}:"+inprocess)
		await(t, k.spy, isSettlersOver)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Equal(t, 30, count[event.JobDone](k.spy))
		assert.Zero(t, count[event.ClaimGone](k.spy))
		k.empty("good", "bad")
	})
}

func TestABrokenKeyOfAllIsReportedOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 20, k.options())
		pool.parkTime = 50 * time.Millisecond
		running, leave := make(chan struct{}, 20), make(chan struct{})
		pool.Job("a", func() error { running <- struct{}{}; <-leave; return nil })
		d := k.tamper(pool, &tampered{})
		k.start(pool)
		for range 20 {
			k.enqueue("a")
			receive(t, running)
		}
		k.do("RENAME", "claimed", "{"+k.namespace+"}:kept")
		k.do("SET", "claimed", "of a wrong type")
		close(leave)
		d.untilSent(t, "complete", 60)
		begun, over := k.troubles()
		assert.Len(t, begun, 1, "twenty jobs, one reason")
		assert.Empty(t, over)
		k.do("RENAME", "kept", "{"+k.namespace+"}:claimed")
		await(t, k.spy, isSettlersOver)
		require.NoError(t, pool.Drain(k.ctx()))
		_, over = k.troubles()
		assert.Len(t, over, 1)
		k.empty("a")
	})
}

func TestFetchingStopsWhileRedisAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const jobs = 1000
		k := newKit(t, s)
		pool := NewWorkerPool(nil, 10, k.options()).Job("a", nothing)
		var away atomic.Bool
		away.Store(true)
		d := k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply,
			error) {
			if settles(calls) && away.Load() {
				return nil, errors.New("Redis is away")
			}
			return pass(ctx, calls...)
		}})
		entries := make([]Entry, jobs)
		for i := range entries {
			entries[i].Name = "a"
		}
		_, err := k.enq.EnqueueMany(k.ctx(), entries)
		require.NoError(t, err)
		k.start(pool)
		most := pool.workers[0].slots.most
		require.Less(t, most, 100)
		d.untilSent(t, "complete", 1)
		require.Eventually(t, func() bool { return count[event.JobDone](k.spy) == most }, patience, time.Millisecond)
		d.untilSent(t, "complete", 3)
		assert.Equal(t, most, count[event.JobDone](k.spy), "no more is fetched")
		assert.Equal(t, most, k.number("HLEN", "claimed"))

		away.Store(false)
		require.NoError(t, pool.Drain(k.ctx()))
		assert.Equal(t, jobs, count[event.JobDone](k.spy), "each ran once")
		assert.Zero(t, count[event.ClaimGone](k.spy))
		k.empty("a")
	})
}

func TestAnOutcomeWhoseClaimIsGoneDoesNotCount(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		running, leave := make(chan struct{}), make(chan struct{})
		pool := k.start(NewWorkerPool(nil, 1, k.options()).
			Job("a", func() error { close(running); <-leave; return nil }))
		job := k.enqueue("a")
		receive(t, running)
		k.do("DEL", "worker:"+pool.workers[0].claimant().rdb.ID+":inprocess:a")
		k.do("HDEL", "claimed", job.ID)
		close(leave)
		assert.Equal(t, job.ID, await[event.ClaimGone](t, k.spy, nil).ID)
		assert.Equal(t, 1, k.number("HLEN", "jobs"), "its record is that of whoever has it now")
	})
}
