package steps_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

type approval struct{ By string }

func TestASleepGivesTheProcessorBackAndUsesNoAttempt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		other, woken := make(chan struct{}, 1), make(chan *work.Job, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("import", func(ctx context.Context, job *work.Job) error {
				if err := d.step(ctx, "download"); err != nil {
					return err
				}
				if err := work.Sleep(ctx, "cool-down", 300*time.Millisecond); err != nil {
					return fmt.Errorf("later: %w", err)
				}
				woken <- job
				return d.step(ctx, "charge")
			}).
			Job("other", func() error { other <- struct{}{}; return nil }))
		began := time.Now()
		id := k.Enqueue("import").ID
		slept := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobSnoozed](id))
		require.ErrorIs(t, slept.Err, work.ErrWaiting)
		require.ErrorContains(t, slept.Err, `("cool-down")`)
		k.Enqueue("other")
		pooltest.Receive(t, other)
		job := pooltest.Receive(t, woken)
		assert.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
		assert.Equal(t, 1, job.Attempt)
		assert.Equal(t, 25, job.RetriesLeft)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		assert.Equal(t, map[string]int{"download": 1, "charge": 1}, d.all())
		k.Until("nothing is left", func() bool { return len(k.Left()) == 0 })
		assert.Zero(t, pooltest.Count[event.WaitIgnored](k.Spy))
		k.NoTrouble(t)
	})
}

// TestASleepLastsOverAStopAndADeploy: the second program has another duration; that of the first counts.
func TestASleepLastsOverAStopAndADeploy(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		sleeper := func(d *diary, length time.Duration) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				if err := work.Sleep(ctx, "cool-down", length); err != nil {
					return err
				}
				return d.step(ctx, "charge")
			}
		}
		spy := pooltest.NewSpy()
		first := work.NewWorkerPool(nil, 1, k.Another(spy)).Job("import", sleeper(d, time.Second))
		require.NoError(t, first.Start(k.Ctx()))
		began := time.Now()
		id := k.Enqueue("import").ID
		pooltest.Await(t, spy, pooltest.OfJob[event.JobSnoozed](id))
		require.NoError(t, k.Stop(first))
		due := k.Due("scheduled", id)
		assert.WithinRange(t, due, began.Add(time.Second-5*time.Millisecond), time.Now().Add(time.Second))
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("import", sleeper(d, 24*time.Hour)))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		assert.False(t, time.Now().Before(due.Add(-5*time.Millisecond)))
		assert.Equal(t, map[string]int{"charge": 1}, d.all())
	})
}

// TestWhoIsWokenTooEarlySleepsOn: somebody has it run at once, by hand.
func TestWhoIsWokenTooEarlySleepsOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("import", func(ctx context.Context) error { return work.Sleep(ctx, "rest", time.Hour) }))
		id := k.Enqueue("import").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobSnoozed](id))
		k.Until("it is put off", func() bool { return k.Number("ZCARD", "scheduled") == 1 })
		due := k.Due("scheduled", id)
		require.NoError(t, k.Inspector().RunNow(k.Ctx(), id))
		k.Until("it sleeps on", func() bool {
			return pooltest.Count[event.JobSnoozed](k.Spy) == 2 && k.Number("ZCARD", "scheduled") == 1
		})
		assert.Equal(t, due, k.Due("scheduled", id))
		assert.Equal(t, work.CancelEnded, k.Cancel(id).Effect, "it can be cancelled meanwhile")
		k.Empty("import")
		assert.Empty(t, k.Left())
	})
}

// asking is a pool whose only job asks for an approval, within that time if it is not 0.
func asking(k *kit, within time.Duration, got chan<- string) *work.WorkerPool {
	return work.NewWorkerPool(nil, 1, k.Options()).
		JobWithOptions("import", soon, func(ctx context.Context, job *work.Job) error {
			var by approval
			var err error
			if within == 0 {
				by, err = work.Receive[approval](ctx, "approval")
			} else {
				by, err = work.ReceiveWithin[approval](ctx, "approval", within)
			}
			if errors.Is(err, work.ErrWaiting) {
				return err
			}
			got <- fmt.Sprint(by.By, err != nil, errors.Is(err, work.ErrNoMessage), job.Attempt)
			if job.Attempt == 1 {
				return pooltest.ErrLuck
			}
			return nil
		})
}

func TestAMessageMayComeBeforeOrAfterItIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"before": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				got := make(chan string, 2)
				pool := asking(k, 0, got)
				id := k.Enqueue("import").ID
				if before {
					k.send(id, "other", 1)
					k.send(id, "approval", approval{"ann"})
					k.send(id, "approval", approval{"bob"})
				}
				k.Start(pool)
				if !before {
					waits := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobSnoozed](id))
					require.ErrorContains(t, waits.Err, `waits for message "approval"`)
					k.Until("it is put off", func() bool { return k.Number("ZCARD", "scheduled") == 1 })
					assert.Greater(t, time.Until(k.Due("scheduled", id)), 90*365*24*time.Hour)
					k.send(id, "approval", approval{"ann"})
				}
				for attempt := range 2 {
					want := fmt.Sprint("ann", false, false, attempt+1)
					assert.Equal(t, want, pooltest.Receive(t, got), "the same one again")
				}
				pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
				k.Until("nothing is left", func() bool { return len(k.Left()) == 0 })
				k.Empty("import")
			})
		})
	}
}

func TestAWaitForAMessageEnds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		got := make(chan string, 2)
		k.Start(asking(k, 200*time.Millisecond, got))
		id := k.Enqueue("import").ID
		waits := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobSnoozed](id))
		require.ErrorContains(t, waits.Err, `waits for message "approval" until 2`)
		for attempt := range 2 {
			assert.Equal(t, fmt.Sprint("", true, true, attempt+1), pooltest.Receive(t, got), "in later attempts too")
			if attempt == 0 {
				_ = work.Send(k.Ctx(), k.Enq, id, "approval", approval{"late"}) // it may have ended by now
			}
		}
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
	})
}

func TestAnEndThatHasPassedOnlyLooks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		told := make(chan error, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("import", func(ctx context.Context) error {
			if err := work.Sleep(ctx, "none", 0); err != nil {
				return work.Bury(err)
			}
			_, err := work.ReceiveWithin[int](ctx, "approval", -time.Hour)
			if !errors.Is(err, work.ErrWaiting) {
				told <- err
				return nil
			}
			return err
		}))
		id := k.Enqueue("import").ID
		var late *work.NoMessageError
		require.ErrorAs(t, pooltest.Receive(t, told), &late)
		assert.Equal(t, []string{id, "approval"}, []string{late.Job, late.Message})
	})
}

// TestAHandlerCannotKeepItsWaitToItself: whatever it returns then, the job waits, and is not done, buried or failed.
func TestAHandlerCannotKeepItsWaitToItself(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(error) error{
		"nothing":         func(error) error { return nil },
		"another error":   func(error) error { return pooltest.ErrLuck },
		"a burial":        func(error) error { return work.Bury(pooltest.ErrLuck) },
		"a burial of it":  work.Bury,
		"a discard":       func(error) error { return work.Discard(nil) },
		"a retry":         func(error) error { return work.RetryIn(0, pooltest.ErrLuck) },
		"a snooze":        func(error) error { return work.Snooze(0) },
		"the error alone": func(err error) error { return errors.Unwrap(err) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k, d := newKit(t, s), newDiary()
				middle := make(chan string, 2)
				k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					Middleware(func(ctx context.Context, job *work.Job, next work.NextFunc) error {
						err := next(ctx)
						how, failed := job.Ending(err)
						middle <- fmt.Sprint(how, failed)
						return err
					}).
					JobWithOptions("import", work.JobOptions{Retention: time.Hour},
						func(ctx context.Context) (string, error) {
							if err := work.Sleep(ctx, "rest", 200*time.Millisecond); err != nil {
								assert.ErrorIs(t, work.Sleep(ctx, "more", 0), work.ErrWaiting)
								assert.ErrorIs(t, d.step(ctx, "charge"), work.ErrWaiting)
								return "too early", end(err)
							}
							return "done", d.step(ctx, "charge")
						}))
				id := k.Enqueue("import").ID
				result, err := work.Wait[string](k.Ctx(), k.Enq, id)
				require.NoError(t, err)
				assert.Equal(t, "done", result)
				assert.Equal(t, map[string]int{"charge": 1}, d.all())
				assert.Equal(t, "snoozefalse", pooltest.Receive(t, middle))
				assert.Equal(t, "donefalse", pooltest.Receive(t, middle))
				ignored := pooltest.Count[event.WaitIgnored](k.Spy)
				if name == "a burial of it" || name == "the error alone" {
					assert.Zero(t, ignored)
				} else {
					assert.Equal(t, 1, ignored)
				}
			})
		})
	}
}

// TestAPanicAfterAWaitIsAFailure: there the handler has not returned.
func TestAPanicAfterAWaitIsAFailure(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("import", work.JobOptions{Retries: -1}, func(ctx context.Context) error {
				_ = work.Sleep(ctx, "rest", time.Hour)
				panic("luck")
			}))
		id := k.Enqueue("import").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](id))
	})
}

func TestACancelledJobDoesNotWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		began := make(chan struct{}, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("import", func(ctx context.Context) error {
			err := work.Sleep(ctx, "rest", time.Hour)
			began <- struct{}{}
			<-ctx.Done()
			return err
		}))
		id := k.Enqueue("import").ID
		pooltest.Receive(t, began)
		k.Cancel(id)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobCancelled](id))
		k.Until("nothing is left", func() bool { return len(k.Left()) == 0 })
		k.Empty("import")
	})
}
