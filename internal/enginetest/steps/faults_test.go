package steps_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// TestStepsSurviveTheDeathOfTheirWorker: it dies between two steps, or with the second one done and not written, or
// written and not answered. Only what was done and not written is done once more.
func TestStepsSurviveTheDeathOfTheirWorker(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		passes  bool // whether Redis gets what the second step writes
		within  bool // it dies as that is written
		charges int
	}{
		"between two steps":       {passes: true, charges: 1},
		"before a step is stored": {within: true, charges: 2},
		"before that is answered": {within: true, passes: true, charges: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k, d := newKit(t, s), newDiary()
				dies, dead := make(chan struct{}), make(chan struct{})
				first := work.NewWorkerPool(nil, 1, k.Another(pooltest.NewSpy())).
					Job("import", func(ctx context.Context) error {
						if err := d.step(ctx, "download"); err != nil {
							return err
						}
						if err := d.step(ctx, "charge"); err != nil {
							return err
						}
						close(dies)
						<-ctx.Done()
						return ctx.Err()
					})
				writes := 0
				k.TamperWith(first, &pooltest.Tampered{Tamper: func(ctx context.Context, pass pooltest.Send,
					calls []redisconn.Call) (replies []redisconn.Reply, err error) {
					if pooltest.NameOf(calls[0]) != "step" {
						return pass(ctx, calls...)
					}
					if writes++; writes != 2 || !tt.within {
						return pass(ctx, calls...)
					}
					if tt.passes {
						_, _ = pass(ctx, calls...)
					}
					close(dies)
					<-dead
					return nil, pooltest.ErrLuck
				}})
				require.NoError(t, first.Start(k.Ctx()))
				id := k.Enqueue("import").ID
				pooltest.Receive(t, dies)
				k.Crash(first)
				close(dead)

				k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("import", func(ctx context.Context) error {
					if err := d.step(ctx, "download"); err != nil {
						return err
					}
					return d.step(ctx, "charge")
				}))
				pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
				assert.Equal(t, map[string]int{"download": 1, "charge": tt.charges}, d.all())
				k.Until("nothing is left", func() bool { return len(k.Left()) == 0 })
			})
		})
	}
}

// TestLostRepliesChangeNothing: each script about steps and waits loses its first reply, or every second one.
func TestLostRepliesChangeNothing(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"step", "receive", "shelve"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k, d := newKit(t, s), newDiary()
				got := make(chan string, 1)
				pool := work.NewWorkerPool(nil, 1, k.Options()).Job("import", func(ctx context.Context) error {
					for _, name := range []string{"a", "b"} {
						if err := d.step(ctx, name); err != nil {
							return err
						}
						if err := work.Sleep(ctx, "after "+name, 20*time.Millisecond); err != nil {
							return err
						}
					}
					by, err := work.Receive[approval](ctx, "approval")
					if err == nil {
						got <- by.By
					}
					return err
				})
				k.LoseReplies(pool, script, func(sent int) bool { return sent%2 == 1 })
				k.Start(pool)
				id := k.Enqueue("import").ID
				pooltest.Await(t, k.Spy, func(e event.JobSnoozed) bool {
					return e.Err.Error() == `waits for message "approval"`
				})
				k.send(id, "approval", approval{"ann"})
				assert.Equal(t, "ann", pooltest.Receive(t, got))
				pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
				assert.Equal(t, map[string]int{"a": 1, "b": 1}, d.all())
				k.Until("nothing is left", func() bool { return len(k.Left()) == 0 })
				k.Empty("import")
			})
		})
	}
}

// TestAFencedWorkerWritesNothing: its job was taken from it while its handler ran on.
func TestAFencedWorkerWritesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		began, taken := make(chan context.Context, 2), make(chan struct{})
		k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("import", func(ctx context.Context) error {
			began <- ctx
			<-taken
			return nil
		}))
		id := k.Enqueue("import").ID
		old := pooltest.Receive(t, began)
		require.NoError(t, d.step(old, "download"))
		k.send(id, "approval", approval{"ann"})
		pool := k.Strings("SMEMBERS", "workers")
		worker := k.Raw().Worker(pool[0])
		held := k.Strings("LRANGE", "worker:"+worker.ID+":inprocess:import", 0, -1)
		settled, err := worker.Settle(k.Ctx(), []redisconn.Call{
			worker.Release(rdb.Released{Queue: "import", Elements: held, Died: "somebody"})})
		require.NoError(t, err)
		require.NoError(t, settled[0].Err)
		successor := pooltest.Receive(t, began)

		var gone *work.ClaimGoneError
		require.ErrorAs(t, d.step(old, "charge"), &gone)
		assert.Equal(t, id, gone.ID)
		require.ErrorAs(t, work.Sleep(old, "rest", 0), &gone)
		_, err = work.Receive[approval](old, "approval")
		require.ErrorAs(t, err, &gone)
		require.NoError(t, d.step(successor, "download"), "of the first")
		require.NoError(t, d.step(successor, "charge"))
		by, err := work.Receive[approval](successor, "approval")
		require.NoError(t, err)
		assert.Equal(t, "ann", by.By)
		assert.Equal(t, map[string]int{"download": 1, "charge": 2}, d.all())
		close(taken)
		k.Until("both are settled", func() bool { return pooltest.Count[event.ClaimGone](k.Spy) == 1 })
		k.Until("nothing is left", func() bool { return len(k.Left()) == 0 })
	})
}

// TestAnAttemptThatIsOverHasNoSteps: a goroutine of the handler goes on after it has returned.
func TestAnAttemptThatIsOverHasNoSteps(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		began := make(chan context.Context, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("import", func(ctx context.Context) error {
			began <- ctx
			return nil
		}))
		id := k.Enqueue("import").ID
		ctx := pooltest.Receive(t, began)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		require.ErrorIs(t, d.step(ctx, "late"), work.ErrAttemptOver)
		require.ErrorIs(t, work.Sleep(ctx, "later", time.Hour), work.ErrAttemptOver)
		assert.Empty(t, d.all())
		assert.Empty(t, k.Left())
	})
}

// TestStepsThatRedisHasForgottenAreSentAgain: a replica took over that had none of them, nor of what the trail notes of
// them. What this attempt knows of is there again with the next one.
func TestStepsThatRedisHasForgottenAreSentAgain(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(ctx context.Context, d *diary) error{
		"by a step": func(ctx context.Context, d *diary) error { return d.step(ctx, "charge") },
		"by a wait": func(ctx context.Context, _ *diary) error { return work.Sleep(ctx, "rest", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k, d := newKit(t, s), newDiary()
				k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					JobWithOptions("import", soon, func(ctx context.Context, job *work.Job) error {
						for _, name := range []string{"a", "b"} {
							if err := d.step(ctx, name); err != nil {
								return err
							}
						}
						if d.did("attempt") == 2 {
							return nil
						}
						noted := k.Text("HGET", "trail", job.ID)
						k.Do("UNLINK", "steps:"+job.ID)
						k.Do("HDEL", "trail", job.ID)
						if err := ask(ctx, d); err != nil {
							return work.Bury(err)
						}
						assert.Equal(t, noted, k.Text("HGET", "trail", job.ID), "by it the next attempt finds them")
						return pooltest.ErrLuck
					}))
				id := k.Enqueue("import").ID
				pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
				times := d.all()
				delete(times, "charge")
				assert.Equal(t, map[string]int{"a": 1, "b": 1, "attempt": 2}, times)
			})
		})
	}
}

// TestAStepThatEndsWithItsCtxIsStored: what is done is done.
func TestAStepThatEndsWithItsCtxIsStored(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("import", soon, func(ctx context.Context) error {
				within, cancel := context.WithCancel(ctx)
				defer cancel()
				_, err := work.Step(within, "charge", func(context.Context) (int, error) {
					cancel()
					return d.did("charge"), nil
				})
				if err != nil || d.did("attempt") == 2 {
					return err
				}
				return pooltest.ErrLuck
			}))
		id := k.Enqueue("import").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		assert.Equal(t, map[string]int{"charge": 1, "attempt": 2}, d.all())
	})
}

// TestNoMessageIsLostBetweenTheLookAndTheEnd: messages come at any moment of jobs that wait for them, and each of the
// jobs gets its own, soon.
func TestNoMessageIsLostBetweenTheLookAndTheEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		rounds := redistest.Rounds(s.Embedded(), 300, 60)
		asked := make([]chan struct{}, rounds)
		for i := range asked {
			asked[i] = make(chan struct{}, 3)
		}
		var done atomic.Int64
		k.Start(work.NewWorkerPool(nil, 8, k.Options()).
			Job("import", func(ctx context.Context, i int) error {
				if i%3 == 0 {
					asked[i] <- struct{}{} // before it looks
				}
				got, err := work.Receive[int](ctx, "approval")
				if i%3 == 1 {
					asked[i] <- struct{}{} // before it is put off
				}
				if err != nil {
					return err
				}
				if got != i {
					return work.Bury(fmt.Errorf("it got the message of %d", got))
				}
				done.Add(1)
				return nil
			}))
		receipts := k.EnqueueNumbers("import", 0, rounds)
		sent := make(chan error, rounds)
		for i, receipt := range receipts {
			go func() {
				if i%3 != 2 {
					<-asked[i]
				}
				sent <- work.Send(k.LongCtx(), k.Enq, receipt.ID, "approval", i)
			}()
		}
		for range receipts {
			require.NoError(t, pooltest.Receive(t, sent))
		}
		k.Until("all have got theirs", func() bool { return done.Load() == int64(rounds) })
		assert.Zero(t, pooltest.Count[event.JobBuried](k.Spy))
		k.Until("nothing is left", func() bool { return k.Number("HLEN", "jobs") == 0 })
		k.Empty("import")
	})
}
