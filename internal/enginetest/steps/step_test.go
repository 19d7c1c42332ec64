package steps_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// rows is what a step returns.
type rows struct {
	Count int64
	Names []string
}

func TestAStepIsDoneOnceOverAllWaysToEndAnAttempt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{
		"a failure":                    pooltest.ErrLuck,
		"a chosen retry":               work.RetryIn(0, pooltest.ErrLuck),
		"a snooze":                     work.Snooze(0),
		"a release":                    work.Release(nil),
		"a failure of the next step":   nil,
		"a panic":                      errPanic,
		"an end of the very goroutine": errGoexit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k, d := newKit(t, s), newDiary()
				got := make(chan rows, 2)
				k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					JobWithOptions("import", soon, func(ctx context.Context) error {
						first, err := work.Step(ctx, "download", func(context.Context) (rows, error) {
							d.did("download")
							return rows{Count: 1<<62 + 1, Names: []string{}}, nil
						})
						if err != nil {
							return err
						}
						got <- first
						if d.did("attempt") == 1 {
							if end == nil {
								return d.step(ctx, "charge", pooltest.ErrLuck)
							}
							return ending(end)
						}
						return d.step(ctx, "charge")
					}))
				id := k.Enqueue("import").ID
				pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
				for range 2 {
					assert.Equal(t, rows{Count: 1<<62 + 1, Names: []string{}}, pooltest.Receive(t, got))
				}
				charges := 1
				if end == nil {
					charges = 2
				}
				assert.Equal(t, map[string]int{"download": 1, "attempt": 2, "charge": charges}, d.all())
				k.Until("nothing is left", func() bool { return len(k.Left()) == 0 })
				assert.Equal(t, 2, pooltest.Count[event.StepDone](k.Spy), "once each, whatever comes later")
			})
		})
	}
}

var errPanic, errGoexit = errors.New("panics"), errors.New("ends its goroutine")

func TestStepsGoByTheirNamesAndNotByTheirPlaces(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).JobWithOptions("import", soon, func(ctx context.Context) error {
			orders := [][]string{{"a", "b", "c"}, {"c", "x", "a"}}
			attempt := d.did("attempt")
			for _, name := range orders[attempt-1] {
				if err := d.step(ctx, name); err != nil {
					return err
				}
			}
			if attempt == 1 {
				return pooltest.ErrLuck
			}
			return nil
		}))
		id := k.Enqueue("import").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		assert.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1, "x": 1, "attempt": 2}, d.all())
	})
}

// problems runs one attempt, in which everything that is asked for must be a mistake with these words.
func problems(t *testing.T, attempts int, ask func(ctx context.Context, attempt int) error, words ...string) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		told := make(chan error, 1)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("import", soon, func(ctx context.Context) error {
				attempt := d.did("attempt")
				if err := ask(ctx, attempt); attempt == attempts {
					told <- err
					return nil
				}
				return pooltest.ErrLuck
			}))
		id := k.Enqueue("import").ID
		err := pooltest.Receive(t, told)
		var wrong *work.StepError
		require.ErrorAs(t, err, &wrong)
		assert.Equal(t, id, wrong.Job)
		for _, word := range words {
			require.ErrorContains(t, err, word)
		}
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
	})
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	one := func(context.Context) (int, error) { return 1, nil }
	text := func(context.Context) (string, error) { return "1", nil }
	for name, tt := range map[string]struct {
		attempts int
		ask      func(ctx context.Context, attempt int) error
		words    []string
	}{
		"the same name twice": {1, func(ctx context.Context, _ int) error {
			_, err := work.Step(ctx, "charge", one)
			require.NoError(t, err)
			_, err = work.Step(ctx, "charge", one)
			return err
		}, []string{"charge", "twice in one attempt"}},
		"the same name again after an error": {1, func(ctx context.Context, _ int) error {
			_, err := work.Step(ctx, "charge", func(context.Context) (int, error) { return 0, pooltest.ErrLuck })
			require.ErrorIs(t, err, pooltest.ErrLuck)
			require.ErrorContains(t, err, `step "charge": `)
			_, err = work.Step(ctx, "charge", one)
			return err
		}, []string{"charge", "twice in one attempt"}},
		"the same name for a step and a message": {1, func(ctx context.Context, _ int) error {
			_, err := work.Step(ctx, "charge", one)
			require.NoError(t, err)
			_, err = work.Receive[int](ctx, "charge")
			return err
		}, []string{"charge", "twice in one attempt"}},
		"another type": {2, func(ctx context.Context, attempt int) (err error) {
			if attempt == 1 {
				_, err = work.Step(ctx, "charge", one)
				return err
			}
			_, err = work.Step(ctx, "charge", text)
			return err
		}, []string{"charge", "has stored a int", "asked for a string"}},
		"a sleep for a step": {2, func(ctx context.Context, attempt int) (err error) {
			if attempt == 1 {
				_, err = work.Step(ctx, "charge", one)
				return err
			}
			return work.Sleep(ctx, "charge", 0)
		}, []string{"charge", "is a step", "as a sleep"}},
		"a step for a sleep": {2, func(ctx context.Context, attempt int) (err error) {
			if attempt == 1 {
				return work.Sleep(ctx, "rest", 0)
			}
			_, err = work.Step(ctx, "rest", one)
			return err
		}, []string{"rest", "is a sleep", "as a step"}},
		"a message for a step": {2, func(ctx context.Context, attempt int) (err error) {
			if attempt == 1 {
				_, err = work.Step(ctx, "charge", one)
				return err
			}
			_, err = work.Receive[int](ctx, "charge")
			return err
		}, []string{"charge", "is a step", "as a message"}},
		"a step inside of a step": {1, func(ctx context.Context, _ int) error {
			_, err := work.Step(ctx, "outer", func(ctx context.Context) (int, error) {
				return work.Step(ctx, "inner", one)
			})
			return err
		}, []string{"inner", `inside of step "outer"`}},
		"a sleep inside of a step": {1, func(ctx context.Context, _ int) error {
			_, err := work.Step(ctx, "outer", func(ctx context.Context) (int, error) {
				return 1, work.Sleep(ctx, "inner", 0)
			})
			return err
		}, []string{"inner", `inside of step "outer"`}},
		"no name": {1, func(ctx context.Context, _ int) error {
			_, err := work.Step(ctx, "", one)
			return err
		}, []string{"no name"}},
		"a name that is too long": {1, func(ctx context.Context, _ int) error {
			_, err := work.Step(ctx, strings.Repeat("x", 256), one)
			return err
		}, []string{"256 bytes"}},
		"a name that cannot be shown": {1, func(ctx context.Context, _ int) error {
			return work.Sleep(ctx, "a\x00b", 0)
		}, []string{"cannot be shown"}},
		"what cannot be stored": {1, func(ctx context.Context, _ int) error {
			_, err := work.Step(ctx, "charge", func(context.Context) (func(), error) { return nil, nil })
			return err
		}, []string{"charge", "cannot be stored"}},
		"more than fits": {1, func(ctx context.Context, _ int) error {
			_, err := work.Step(ctx, "large", func(context.Context) (string, error) {
				return strings.Repeat("x", 1<<20), nil
			})
			return err
		}, []string{"large", "1000 steps", "1048576 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems(t, tt.attempts, tt.ask, tt.words...)
		})
	}
}

func TestOutsideOfAJobThereAreNoSteps(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, err := work.Step(ctx, "charge", func(context.Context) (int, error) { return 1, nil })
	require.ErrorIs(t, err, work.ErrNoPool)
	require.ErrorContains(t, err, "charge")
	require.ErrorIs(t, work.Sleep(ctx, "rest", 0), work.ErrNoPool)
	_, err = work.Receive[int](ctx, "approval")
	require.ErrorIs(t, err, work.ErrNoPool)
}

// TestStepsHaveBounds: what is as large as it may be is stored, what is one more is not, and says so.
func TestStepsHaveBounds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		told := make(chan error, 2)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("import", soon, func(ctx context.Context, job *work.Job) error {
				attempt := d.did("attempt")
				for i := range 1000 {
					if err := d.step(ctx, fmt.Sprint(i)); err != nil {
						return work.Bury(err)
					}
				}
				told <- d.step(ctx, "one more")
				if attempt == 1 {
					return pooltest.ErrLuck
				}
				return nil
			}))
		id := k.Enqueue("import").ID
		for range 2 {
			require.ErrorContains(t, pooltest.Receive(t, told), `step "one more" of job "`+id)
		}
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		times := d.all()
		assert.Equal(t, 2, times["one more"], "it was done, and was not stored")
		delete(times, "one more")
		delete(times, "attempt")
		assert.Len(t, times, 1000)
		for name, n := range times {
			assert.Equal(t, 1, n, name)
		}
	})
}

func TestStepsMayBeDoneByManyGoroutines(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).JobWithOptions("import", soon, func(ctx context.Context) error {
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() { assert.NoError(t, d.step(ctx, fmt.Sprint("part ", i))) })
			}
			all.Wait()
			if d.did("attempt") == 1 {
				return pooltest.ErrLuck
			}
			return nil
		}))
		id := k.Enqueue("import").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		times := d.all()
		assert.Equal(t, 2, times["attempt"])
		delete(times, "attempt")
		assert.Len(t, times, 20)
		for name, n := range times {
			assert.Equal(t, 1, n, name)
		}
		k.NoTrouble(t)
	})
}

func TestMiddlewareGoesAroundSteps(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, d := newKit(t, s), newDiary()
		said := make(chan string, 20)
		wrap := func(who string) func(ctx context.Context, job *work.Job, next work.NextFunc) error {
			return func(ctx context.Context, _ *work.Job, next work.NextFunc) error {
				return next(work.AroundSteps(ctx, func(ctx context.Context, step string, do work.NextFunc) error {
					said <- who + " before " + step
					err := do(ctx)
					said <- fmt.Sprint(who, " after ", step, ": ", err)
					return err
				}))
			}
		}
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).Middleware(wrap("a")).Middleware(wrap("b")).
			JobWithOptions("import", soon, func(ctx context.Context) error {
				if err := d.step(ctx, "one"); err != nil {
					return err
				}
				if d.did("attempt") == 1 {
					return d.step(ctx, "two", pooltest.ErrLuck)
				}
				return nil
			}))
		id := k.Enqueue("import").ID
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
		close(said)
		var all []string
		for line := range said {
			all = append(all, line)
		}
		luck := pooltest.ErrLuck.Error()
		assert.Equal(t, []string{"a before one", "b before one", "b after one: <nil>", "a after one: <nil>",
			"a before two", "b before two", "b after two: " + luck, "a after two: " + luck}, all)
	})
}
