package pools_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// refusal is an answer with these words, to each of some calls.
func refusal(words string, calls []redisconn.Call) []redisconn.Reply {
	return slices.Repeat([]redisconn.Reply{{Err: redisconn.ParseServerError(words)}}, len(calls))
}

// Words of others than Redis itself, and of Redis 7.0 in scripts, are held against no job: what handlers ask goes
// well a moment later, logs keep their lines, and no attempt is used.
func TestForeignAnswersCostNoAttempt(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{
		"rights in a script": "ERR The user executing the script can't run this command or subcommand script: d2cc, " +
			"on @user_script:76.",
		"a proxy's READONLY": "ERR READONLY You can't write against a read only replica.",
		"a quota":            "ERR max daily request limit exceeded. Limit: 10000, Usage: 10001.",
		"too many requests":  "TOO_MANY_REQUESTS",
		"a proxy":            "ERR upstream failure",
		"words nobody knows": "ERR the moon is in the way",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				const jobs, refusals = 10, 60
				k := newKit(t, s)
				began, closed := make(chan struct{}, jobs), make(chan struct{})
				pool := work.NewWorkerPool(nil, jobs, k.Options())
				never := work.JobOptions{Retries: -1}
				pool.JobWithOptions("after", never, pooltest.Nothing)
				pool.JobWithOptions("mail", never, func(ctx context.Context, job *work.Job, text string) error {
					began <- struct{}{}
					<-closed
					job.Logger().Info("a line")
					_, err := work.Step(ctx, "charge", func(context.Context) (int, error) { return 1, nil })
					if err != nil {
						return err
					}
					if err := job.SaveState(ctx, len(text)); err != nil {
						return err
					}
					_, err = work.EnqueuerFromContext(ctx).Enqueue(ctx, "after")
					return err
				})
				var refusing atomic.Bool
				var refused atomic.Int64
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					if refusing.Load() && refused.Add(1) <= refusals {
						return refusal(words, calls), nil
					}
					return pass(ctx, calls...)
				}})
				k.Start(pool)
				for range jobs {
					k.Enqueue("mail", strings.Repeat("x", 20_000))
					pooltest.Receive(t, began)
				}
				refusing.Store(true)
				close(closed)
				done := func() bool { return pooltest.Count[event.JobDone](k.Spy) == 2*jobs }
				require.Eventually(t, done, pooltest.Patience, time.Millisecond)
				assert.Greater(t, refused.Load(), int64(refusals))
				assert.Zero(t, pooltest.Count[event.JobFailed](k.Spy))
				assert.Zero(t, pooltest.Count[event.JobBuried](k.Spy))
				events, _ := k.Spy.All()
				for _, e := range events {
					if trouble, is := e.(event.Trouble); is {
						assert.NotContains(t, trouble.Component, "log of", "lines of a log are lost")
					}
				}
			})
		})
	}
}

// Outcomes of one name are refused with words that nobody knows, more of them than a worker holds, while its heartbeats
// and fetches pass: they are parked, and the jobs of other names run.
func TestOutcomesThatAreRefusedHoldNoOtherNamesUp(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const jobs = 80
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("bad", pooltest.Nothing).Job("good", pooltest.Nothing)
		pooltest.Times(pool).Park = 50 * time.Millisecond
		var refusing atomic.Bool
		refusing.Store(true)
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if refusing.Load() && pooltest.Settles(calls) && strings.Contains(fmt.Sprint(calls), ":inprocess:bad") {
				return refusal("ERR the moon is in the way", calls), nil
			}
			return pass(ctx, calls...)
		}})
		for range jobs {
			k.Enqueue("bad")
		}
		k.Start(pool)
		require.Eventually(t, func() bool { return k.Number("HLEN", "claimed") > jobs/2 }, pooltest.Patience,
			time.Millisecond)
		k.Enqueue("good")
		pooltest.Await(t, k.Spy, func(e event.JobDone) bool { return e.Name == "good" })
		refusing.Store(false)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, jobs+1, pooltest.Count[event.JobDone](k.Spy))
		k.Empty("bad", "good")
	})
}

// Words that nobody knows and that only one job gets are that job's: it is found by halving its call, waits parked, and
// its info says why. It dies of it never.
func TestWordsNobodyKnowsParkTheJobThatGetsThem(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const jobs = 20
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, jobs, k.Options())
		pooltest.Times(pool).Park = 50 * time.Millisecond
		running, leave := make(chan struct{}, jobs), make(chan struct{})
		pool.JobWithOptions("a", work.JobOptions{Retries: -1}, func() error {
			running <- struct{}{}
			<-leave
			return nil
		})
		var bad atomic.Pointer[string]
		gathered := make(chan struct{})
		k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if !pooltest.Settles(calls) {
				return pass(ctx, calls...)
			}
			<-gathered
			replies := make([]redisconn.Reply, 0, len(calls))
			for i := range calls {
				id, some := bad.Load(), refusal("ERR the moon is in the way", calls[i:i+1])
				if id == nil || *id == "" || !strings.Contains(fmt.Sprint(calls[i].Args), *id) {
					var err error
					if some, err = pass(ctx, calls[i]); err != nil {
						return nil, err
					}
				}
				replies = append(replies, some...)
			}
			return replies, nil
		}})
		k.Start(pool)
		for range jobs {
			id := k.Enqueue("a").ID
			bad.CompareAndSwap(nil, &id)
			pooltest.Receive(t, running)
		}
		close(leave)
		require.Eventually(t, func() bool { return pooltest.Parts(pool).Slots.Busy() == 0 }, pooltest.Patience,
			time.Millisecond)
		close(gathered)
		pooltest.Await(t, k.Spy, func(e event.Trouble) bool {
			return strings.HasPrefix(e.Component, "settler, ") && strings.Contains(e.Component, *bad.Load())
		})
		require.Eventually(t, func() bool { return k.Number("HLEN", "claimed") == 1 }, pooltest.Patience,
			time.Millisecond, "the others settle")

		inspector, err := inspect.New(s.DSN(), work.Namespace(k.Namespace))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
		require.Eventually(t, func() bool {
			job, err := inspector.Job(t.Context(), *bad.Load())
			return err == nil && len(job.Why) == 1 && job.Why[0].Kind == inspect.WaitRefused &&
				job.Why[0].Error == "ERR the moon is in the way"
		}, pooltest.Patience, time.Millisecond)

		bad.Store(new(string))
		pooltest.Await(t, k.Spy, isSettlersOver)
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Equal(t, jobs, pooltest.Count[event.JobDone](k.Spy))
		assert.Zero(t, pooltest.Count[event.JobBuried](k.Spy))
		k.Empty("a")
	})
}
