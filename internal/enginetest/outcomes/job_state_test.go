package outcomes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// position is a state as a program would have it.
type position struct {
	Row  int64
	Seen []string
}

// TestAStateSurvives: each row ends an attempt that has saved; the next one finds what it saved.
func TestAStateSurvives(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{
		"a failure":          pooltest.ErrLuck,
		"a chosen retry":     work.RetryIn(0, pooltest.ErrLuck),
		"a snooze":           work.Snooze(0),
		"a release":          work.Release(nil),
		"a failure, wrapped": fmt.Errorf("so: %w", work.RetryIn(0, pooltest.ErrLuck)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				begins := 0
				found := make(chan position, 2)
				now := func(*work.Job, error) time.Duration { return 0 }
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					JobWithOptions("long", work.JobOptions{Backoff: now},
						func(ctx context.Context, job *work.Job) error {
							var at position
							there, err := job.LoadState(ctx, &at)
							require.NoError(t, err)
							if begins++; !there {
								require.NoError(t, job.SaveState(ctx, "an older one"))
								require.NoError(t, job.SaveState(ctx, position{Row: 1<<62 + 1, Seen: []string{}}))
								return end
							}
							found <- at
							return nil
						}))
				k.Enqueue("long")
				assert.Equal(t, position{Row: 1<<62 + 1, Seen: []string{}}, pooltest.Receive(t, found))
				pooltest.Await[event.JobDone](t, k.Spy, nil)
				k.Drained(pool)
				assert.Equal(t, 2, begins)
				k.Empty("long")
				assert.Empty(t, k.Left())
				k.NoTrouble(t)
			})
		})
	}
}

func TestAStateSurvivesTheDeathOfItsWorkerAndTheStopOfAPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		saved := make(chan struct{}, 3)
		found := make(chan int, 3)
		handler := func(ctx context.Context, job *work.Job) error {
			n := 0
			if _, err := job.LoadState(ctx, &n); err != nil {
				return err
			}
			found <- n
			if n == 2 {
				return nil
			}
			job.Logger().Info(fmt.Sprint("begun with ", n))
			if err := job.SaveState(ctx, n+1); err != nil {
				return err
			}
			saved <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		first := work.NewWorkerPool(nil, 1, k.Another(pooltest.NewSpy())).Job("long", handler)
		require.NoError(t, first.Start(k.Ctx()))
		id := k.Enqueue("long").ID
		pooltest.Receive(t, saved)
		k.Logged(id, 1)
		k.Crash(first)

		options := k.Another(pooltest.NewSpy())
		options.ShutdownTimeout = -1
		second := work.NewWorkerPool(nil, 1, options).Job("long", handler)
		require.NoError(t, second.Start(k.Ctx()))
		pooltest.Receive(t, saved)
		var stopped *work.StopError
		require.ErrorAs(t, k.Stop(second), &stopped)
		assert.Len(t, stopped.Released, 1)
		assert.Equal(t, "2", k.StateIn(id))
		assert.Equal(t, []string{"begun with 0", "begun with 1"}, k.Messages(id), "also when the pool was stopped")

		third := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("long", handler))
		pooltest.Await[event.JobDone](t, k.Spy, nil)
		k.Drained(third)
		for want := range 3 {
			assert.Equal(t, want, pooltest.Receive(t, found))
		}
		k.Empty("long")
		assert.Empty(t, k.Left())
	})
}

func TestAStateStaysInTheMorgue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("long", work.JobOptions{Retries: -1}, func(ctx context.Context, job *work.Job) error {
				job.Logger().Info("the last words")
				return errors.Join(pooltest.ErrLuck, job.SaveState(ctx, map[string]any{"row": 7}))
			}))
		id := k.Enqueue("long").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](id))
		k.Drained(pool)
		assert.JSONEq(t, `{"row":7}`, k.StateIn(id))
		assert.Equal(t, []string{"the last words"}, k.Messages(id))
		assert.True(t, k.Trail(id).State && k.Trail(id).Log && k.Trail(id).Fails == 1)
	})
}

// TestAFencedWorkerCannotOverwriteItsSuccessorsState: the job was taken from the first worker while its handler ran on.
func TestAFencedWorkerCannotOverwriteItsSuccessorsState(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		began, taken := make(chan *work.Job, 2), make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("long", func(job *work.Job) error {
			began <- job
			<-taken
			return nil
		}))
		id := k.Enqueue("long").ID
		old := pooltest.Receive(t, began)
		old.Logger().Info("of the first")
		require.NoError(t, old.SaveState(k.Ctx(), "of the first"))
		k.Logged(id, 1)
		worker := k.Raw().Worker(pooltest.WorkerID(pool))
		held := k.Strings("LRANGE", "worker:"+worker.ID+":inprocess:long", 0, -1)
		require.Len(t, held, 1)
		settled, err := worker.Settle(k.Ctx(), []redisconn.Call{
			worker.Release(rdb.Released{Queue: "long", Elements: held, Died: "somebody"}),
		})
		require.NoError(t, err)
		require.NoError(t, settled[0].Err)
		successor := pooltest.Receive(t, began)
		require.NoError(t, successor.SaveState(k.Ctx(), "of the second"))
		successor.Logger().Info("of the second")
		k.Logged(id, 2)

		var gone *work.ClaimGoneError
		require.ErrorAs(t, old.SaveState(k.Ctx(), "of the first, late"), &gone)
		assert.Equal(t, id, gone.ID)
		assert.Equal(t, worker.ID, gone.Worker)
		old.Logger().Info("of the first, late")
		assert.Equal(t, `"of the second"`, k.StateIn(id))
		close(taken)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		k.Drained(pool)
		k.Until("both are settled", func() bool { return pooltest.Count[event.ClaimGone](k.Spy) == 1 })
		k.Empty("long")
		assert.Empty(t, k.Left(), "what the first logged late is not written after the end")
	})
}

func TestASaveWhoseReplyIsLostIsSentAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("long", func(ctx context.Context, job *work.Job) error {
			for i := range 3 {
				if err := job.SaveState(ctx, i); err != nil {
					return work.Bury(err)
				}
				if saved := k.StateIn(job.ID); saved != fmt.Sprint(i) {
					return work.Bury(errors.New("Redis has " + saved))
				}
			}
			job.Logger().Info("once")
			return pooltest.ErrLuck
		})
		k.LoseReplies(pool, "save", func(sent int) bool { return sent%2 == 1 })
		k.Start(pool)
		id := k.Enqueue("long").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		k.Drained(pool)
		assert.Equal(t, "2", k.StateIn(id))
		assert.Equal(t, []string{"once"}, k.Messages(id))
	})
}

func TestWhatCannotBeSavedOrLoadedSaysWhy(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		checked := make(chan struct{})
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("long", func(ctx context.Context, job *work.Job) error {
				defer close(checked)
				found, err := job.LoadState(ctx, new(int))
				assert.False(t, found)
				assert.NoError(t, err)
				assert.NoError(t, job.SaveState(ctx, strings.Repeat("x", 1<<20-2)), "as large as it may be")
				var invalid *work.InvalidError
				assert.ErrorAs(t, job.SaveState(ctx, strings.Repeat("x", 1<<20-1)), &invalid)
				assert.ErrorContains(t, job.SaveState(ctx, func() {}), "unsupported type")
				var panicked *work.PanicError
				assert.ErrorAs(t, job.SaveState(ctx, badJSON{}), &panicked)
				_, err = job.LoadState(ctx, new(int))
				assert.ErrorContains(t, err, "cannot unmarshal")
				_, err = job.LoadState(ctx, &badJSON{})
				assert.ErrorAs(t, err, &panicked)
				_, err = job.LoadState(ctx, nil)
				assert.Error(t, err)
				var text string
				found, err = job.LoadState(ctx, &text)
				assert.True(t, found)
				assert.NoError(t, err)
				assert.Len(t, text, 1<<20-2)
				ended, cancel := context.WithCancel(ctx)
				cancel()
				assert.ErrorIs(t, job.SaveState(ended, 1), context.Canceled)
				return nil
			}))
		k.Enqueue("long")
		pooltest.Receive(t, checked)
		k.Drained(pool)
		assert.Empty(t, k.Left())
	})
}

// badJSON is a value whose methods panic.
type badJSON struct{}

func (badJSON) MarshalJSON() ([]byte, error) { panic("hostile") }
func (*badJSON) UnmarshalJSON([]byte) error  { panic("hostile") }

func TestStatesMayBeSavedByManyGoroutines(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("long", func(ctx context.Context, job *work.Job) error {
				var all sync.WaitGroup
				for i := range 20 {
					all.Go(func() {
						assert.NoError(t, job.SaveState(ctx, i))
						job.Logger().Info("saved")
						assert.NoError(t, job.Progress(i))
					})
				}
				all.Wait()
				assert.NoError(t, job.SaveState(ctx, "the last"))
				return pooltest.ErrLuck
			}))
		id := k.Enqueue("long").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobFailed](id))
		k.Drained(pool)
		assert.Equal(t, `"the last"`, k.StateIn(id))
		assert.Len(t, k.Messages(id), 20)
		assert.True(t, k.Trail(id).Log && k.Trail(id).State)
		k.NoTrouble(t)
	})
}
