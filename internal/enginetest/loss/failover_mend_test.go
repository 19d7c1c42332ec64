package loss_test

import (
	"context"
	"errors"
	"strings"
	"sync"
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

// The job ends between two sendings of the call that stores it again: its outcome was acknowledged, and counts.
func TestAJobThatEndsWhileItIsStoredAgainEndsOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th, g := newTheater(t, s), pooltest.NewDoor()
		options, restores := th.options(), 0
		th.Tamper(&options, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) != "restore" { // the fetcher alone sends these
				return pass(ctx, calls...)
			}
			if restores++; restores == 2 { // what it is about was listed before
				g.Leave <- ""
				th.untilAcknowledged(1)
			}
			if restores > 1 {
				return pass(ctx, calls...)
			}
			replies, err := pass(ctx, calls...)
			if err != nil || replies[0].Err != nil {
				restores = 0 // it was not executed
				return replies, err
			}
			return nil, errors.New("the reply was lost")
		}})
		pool := th.quietPool(options, g)
		pooltest.Times(pool).Survey = time.Hour
		th.Start(pool)
		th.fallBehind()
		th.quiet()
		pooltest.Receive(t, g.Began)
		th.failOver(nil)
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Held: 1, Restored: 1})
		th.finished(pool)
		assert.Empty(t, g.Began, "it has run")
	})
}

// The second failover comes before the survey that follows the first, whose number would hide it.
func TestAFailoverThatForgetsWhatWasStoredAgainIsNoticed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th, g := newTheater(t, s), pooltest.NewDoor()
		options, restored, again := th.options(), false, false
		th.Tamper(&options, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			switch name := pooltest.NameOf(calls[0]); { // the fetcher alone sends these
			case name == "survey" && restored && !again:
				again = true
				th.failOver(nil)
				return nil, errors.New("the connection was lost")
			case name == "restore":
				replies, err := pass(ctx, calls...)
				restored = err == nil && replies[0].Err == nil
				return replies, err
			}
			return pass(ctx, calls...)
		}})
		pool := th.quietPool(options, g)
		pooltest.Times(pool).Survey = time.Hour
		th.Start(pool)
		th.fallBehind()
		job := th.quiet()
		pooltest.Receive(t, g.Began)
		th.failOver(nil)
		pooltest.Await[event.DataLost](t, th.Spy, nil)
		assert.NotEmpty(t, th.Text("HGET", "jobs", job.ID))
		g.Leave <- ""
		th.finished(pool)
		assert.Empty(t, g.Began)
	})
}

// A key of one queue is broken where the replica takes over: its job is known again once the key is mended, and all
// others at once.
func TestABrokenQueueKeepsNoOtherJobFromBeingStoredAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th := newTheater(t, s)
		began, endBad, endGood := make(chan string, 9), make(chan struct{}), make(chan struct{})
		handler := func(end chan struct{}) func(*work.Job) error {
			return func(job *work.Job) error {
				began <- job.Name
				<-end
				return nil
			}
		}
		pool := work.NewWorkerPool(nil, 3, th.options()).Job("bad", handler(endBad)).Job("good", handler(endGood))
		pooltest.Times(pool).Survey, pooltest.Times(pool).Park = time.Hour, 50*time.Millisecond
		th.Start(pool)
		th.fallBehind()
		th.photo = append(th.photo, photoKey{"SET", "queue:bad", []any{"something else"}, -1})
		th.Enqueue("good")
		th.Enqueue("bad")
		th.Enqueue("good")
		for range 3 {
			pooltest.Receive(t, began)
		}
		th.failOver(nil)
		lost := pooltest.Await[event.DataLost](t, th.Spy, nil)
		assert.ErrorContains(t, lost.Err, "queue:bad")
		lost.Err = nil
		assert.Equal(t, event.DataLost{Worker: pooltest.WorkerID(pool), Failover: true, Held: 3, Restored: 2}, lost)

		close(endBad)
		pooltest.Await(t, th.Spy, func(e event.Trouble) bool { return strings.HasPrefix(e.Component, "settler, bad") })
		close(endGood)
		th.untilAcknowledged(2)
		th.Do("UNLINK", "queue:bad")
		th.untilAcknowledged(3)
		require.NoError(t, pool.Drain(th.Ctx()))
		assert.Zero(t, pooltest.Count[event.ClaimGone](th.Spy)+pooltest.Count[event.OutcomeUnknown](th.Spy))
		assert.Empty(t, began, "none runs again")
		th.Empty("bad")
		th.Empty("good")
	})
}

// Another worker has run the job since, and decided that it is tried again: that stands, and who ran it before stops.
func TestAJobThatSomebodyElseHasRunSinceIsLeftToThem(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th := newTheater(t, s)
		began, ended := make(chan string, 2), make(chan error, 2)
		pool := work.NewWorkerPool(nil, 1, th.options()).Job("n", func(ctx context.Context, job *work.Job) error {
			began <- job.ID
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil
		})
		pooltest.Times(pool).Survey = time.Hour
		th.Start(pool)
		job, err := th.EnqueueEntry(work.Entry{Name: "n", In: time.Hour})
		require.NoError(t, err)
		th.fallBehind()
		th.photo = append(th.photo, photoKey{"HSET", "trail", []any{job.ID, `{"fails":1}`}, -1})
		th.DueNow("scheduled")
		pooltest.Receive(t, began)
		th.failOver(nil)
		require.ErrorIs(t, pooltest.Receive(t, ended), work.ErrFenced)
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Held: 1})
		gone := pooltest.Await[event.ClaimGone](t, th.Spy, nil)
		assert.Equal(t, job.ID, gone.ID)
		assert.Equal(t, 1, th.Number("ZCARD", "scheduled"))
		assert.Equal(t, `{"fails":1}`, th.Text("HGET", "trail", job.ID))
	})
}

// The outcome finds no claim, and before the worker has asked why its claim is stored again: it stands, so the outcome
// must be sent once more.
func TestAnOutcomeCountsWhoseClaimIsStoredAgainMeanwhile(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		th, g := newTheater(t, s), pooltest.NewDoor()
		options := th.options()
		refused, restored := make(chan struct{}), make(chan struct{})
		var refusal, restoring sync.Once
		th.Tamper(&options, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			switch pooltest.NameOf(calls[0]) {
			case "restore":
				select {
				case <-refused:
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
				replies, err := pass(ctx, calls...)
				if err == nil && replies[0].Err == nil {
					restoring.Do(func() { close(restored) })
				}
				return replies, err
			case "SISMEMBER": // why the claim is gone
				refusal.Do(func() { close(refused) })
				select {
				case <-restored:
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
			return pass(ctx, calls...)
		}})
		pool := th.quietPool(options, g)
		pooltest.Times(pool).Survey = time.Hour
		th.Start(pool)
		th.fallBehind()
		th.quiet()
		pooltest.Receive(t, g.Began)
		th.failOver(func() { g.Leave <- "" })
		th.told(event.DataLost{Worker: pooltest.WorkerID(pool), Held: 1, Restored: 1})
		th.finished(pool)
		assert.Empty(t, g.Began, "it has run")
	})
}
