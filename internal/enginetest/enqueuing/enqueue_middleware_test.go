package enqueuing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/265d0351/work/internal/enginetest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// twoWays calls test with one job and with many: what middleware may do holds for both.
func twoWays(t *testing.T, s redistest.Server, m work.EnqueueMiddleware, test func(t *testing.T, w *twoWay)) {
	for name, n := range map[string]int{"one": 1, "many": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t,
				&twoWay{EnqueueBench: enginetest.NewEnqueueBench(t, s, s.DSN(), work.WithEnqueueMiddleware(m)), n: n})
		})
	}
}

// twoWay is a bench that enqueues that many jobs, by the method for so many.
type twoWay struct {
	*enginetest.EnqueueBench
	n int
}

func (w *twoWay) all() []int {
	all := []int{}
	for i := range w.n {
		all = append(all, i)
	}
	return all
}

// enqueue stores n jobs of a name; the last one may be spoilt so that Redis is not even asked.
func (w *twoWay) enqueue(ctx context.Context, spoilt bool) ([]work.Receipt, error) {
	var last any = w.n - 1
	if spoilt {
		last = make(chan int)
	}
	if w.n == 1 {
		receipt, err := w.Enqueue(ctx, "a", last)
		return []work.Receipt{receipt}, err
	}
	entries := make([]work.Entry, w.n)
	for i := range entries {
		entries[i] = work.Entry{Name: "a", Args: []any{i}}
	}
	entries[w.n-1].Args = []any{last}
	return w.EnqueueMany(ctx, entries)
}

func TestEnqueueMiddlewareIsComposition(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		type key struct{}
		var trace []string
		named := func(name string) work.EnqueueMiddleware {
			return func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
				trace = append(trace, fmt.Sprintf("%s in %v", name, ctx.Value(key{})))
				entries[0].Options = append(entries[0].Options, work.Meta("by", name))
				receipts, err := next(context.WithValue(ctx, key{}, name), entries)
				trace = append(trace, fmt.Sprintf("%s out %d", name, len(receipts)))
				return err
			}
		}
		b := enginetest.NewEnqueueBench(t, s, s.DSN(), work.WithEnqueueMiddleware(named("a"), named("b")),
			work.WithEnqueueMiddleware(named("c")))
		receipt, err := b.Enqueue(t.Context(), "n", 7)
		require.NoError(t, err)
		assert.Equal(t, []string{"a in <nil>", "b in a", "c in b", "c out 1", "b out 1", "a out 1"}, trace)
		got := b.Fetch(t, "n")
		require.Len(t, got, 1)
		assert.Equal(t, receipt.ID, got[0].ID)
		rec, err := record.Decode(got[0].Record)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"by": "c"}, rec.Meta, "the innermost has the last word")
	})
}

func TestEnqueueMiddlewareSeesEntriesOfItsOwn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		var seen []map[string]string
		b := enginetest.NewEnqueueBench(t, s, s.DSN(),
			work.WithEnqueueMiddleware(func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
				for i := range entries {
					seen = append(seen, entries[i].Meta())
					entries[i].Name = "renamed"
					entries[i].Options = append(entries[i].Options, work.Meta("own", "1"),
						work.ID(fmt.Sprint("id-", i)))
				}
				_, err := next(ctx, entries)
				return err
			}))
		options := append(make([]work.EnqueueOption, 0, 10), work.Meta("entry", "1"))
		entries := []work.Entry{{Name: "n", Options: options}, {Name: "n", Options: options}, {Name: "n"}}
		receipts, err := b.With(work.Meta("with", "1")).With(work.Meta("again", "1")).EnqueueMany(t.Context(), entries)
		require.NoError(t, err)
		assert.Equal(t, []map[string]string{
			{"with": "1", "again": "1", "entry": "1"}, {"with": "1", "again": "1", "entry": "1"},
			{"with": "1", "again": "1"},
		}, seen)
		assert.Equal(t, "n", entries[0].Name, "the caller's are as they were")
		assert.Nil(t, options[:2][1])
		assert.Equal(t, []string{"id-0", "id-1", "id-2"}, []string{receipts[0].ID, receipts[1].ID, receipts[2].ID})
		got := b.Fetch(t, "renamed")
		require.Len(t, got, 3)
		rec, err := record.Decode(got[0].Record)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"with": "1", "again": "1", "entry": "1", "own": "1"}, rec.Meta)
		assert.Nil(t, work.Entry{}.Meta())
	})
}

var errClosedToday = errors.New("closed today")

func TestEnqueueMiddlewareRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		m    work.EnqueueMiddleware
		want error
		text string
	}{
		{"with an error of its own", func(context.Context, []work.Entry, work.EnqueueFunc) error {
			return errClosedToday
		},
			errClosedToday, "closed today"},
		{"with nothing", func(context.Context, []work.Entry, work.EnqueueFunc) error { return nil },
			work.ErrNextMisused, "enqueue middleware 1 of 1: " + enginetest.NextNotCalled},
		{"by too few entries", func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
			_, err := next(ctx, entries[1:])
			return err
		}, work.ErrNextMisused, "enqueue middleware 1 of 1: " + enginetest.NextEntries},
		{"by too many entries, silently", func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
			receipts, _ := next(ctx, append(entries, entries...))
			if len(receipts) != len(entries) {
				panic("a receipt per entry, also with an error")
			}
			return nil
		}, work.ErrNextMisused, "enqueue middleware 1 of 1: " + enginetest.NextEntries},
		{"by no context", func(_ context.Context, entries []work.Entry, next work.EnqueueFunc) error {
			_, err := next(nil, entries) //lint:ignore SA1012 that is the mistake
			return err
		}, work.ErrNextMisused, "enqueue middleware 1 of 1: " + enginetest.NextNilContext},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				twoWays(t, s, c.m, func(t *testing.T, w *twoWay) {
					receipts, err := w.enqueue(t.Context(), false)
					var failed *work.EnqueueError
					require.ErrorAs(t, err, &failed)
					assert.ErrorIs(t, err, c.want)
					assert.Equal(t, w.all(), failed.NotStored)
					assert.ErrorContains(t, err, c.text)
					assert.Equal(t, make([]work.Receipt, w.n), receipts)
					assert.Empty(t, w.Fetch(t, "a"))
				})
			})
		})
	}
}

func TestWhatEnqueueMiddlewareReturnsDoesNotHideWhatIsStored(t *testing.T) {
	t.Parallel()
	quiet := func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
		_, _ = next(ctx, entries)
		return nil
	}
	loud := func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
		_, _ = next(ctx, entries)
		return errClosedToday
	}
	wrapping := func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
		if _, err := next(ctx, entries); err != nil {
			return fmt.Errorf("%w: %w", errClosedToday, err)
		}
		return nil
	}
	again := func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
		_, _ = next(ctx, entries)
		_, err := next(ctx, entries)
		return err
	}
	againSilently := func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
		_, _ = next(ctx, entries)
		_, _ = next(ctx, entries)
		return nil
	}
	for _, c := range []struct {
		name   string
		m      work.EnqueueMiddleware
		spoilt bool
		want   error // nil is none
	}{
		{"nil, stored", quiet, false, nil},
		{"nil, not stored", quiet, true, new(work.InvalidError)},
		{"an error, stored", loud, false, errClosedToday},
		{"an error, not stored", loud, true, errClosedToday},
		{"around the error, stored", wrapping, false, nil},
		{"around the error, not stored", wrapping, true, errClosedToday},
		{"next called twice", again, false, misuse(enginetest.NextCalledTwice)},
		{"next called twice, silently", againSilently, false, misuse(enginetest.NextCalledTwice)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				twoWays(t, s, c.m, func(t *testing.T, w *twoWay) {
					receipts, err := w.enqueue(t.Context(), c.spoilt)
					stored := w.n
					if c.spoilt {
						stored = 0
					}
					assert.Len(t, w.Fetch(t, "a"), stored, "never twice")
					require.Len(t, receipts, w.n)
					assert.Equal(t, !c.spoilt, receipts[0].ID != "")
					assertFate(t, err, c.want, w.all(), c.spoilt)
				})
			})
		})
	}
}

// misuse stands for an error that says this of a middleware's next.
type misuse string

func (m misuse) Error() string { return string(m) }

func assertFate(t *testing.T, err, want error, all []int, spoilt bool) {
	t.Helper()
	if want == nil {
		require.NoError(t, err)
		return
	}
	var failed *work.EnqueueError
	require.ErrorAs(t, err, &failed)
	if invalid := new(work.InvalidError); errors.As(want, &invalid) {
		require.ErrorAs(t, err, &invalid)
	} else if said, is := want.(misuse); is {
		require.ErrorIs(t, err, work.ErrNextMisused)
		require.ErrorContains(t, err, string(said))
	} else {
		require.ErrorIs(t, err, want)
	}
	if spoilt {
		assert.Equal(t, all, failed.NotStored)
		assert.Empty(t, failed.Stored)
		return
	}
	assert.Equal(t, all, failed.Stored)
	assert.Empty(t, failed.NotStored)
}

func TestEnqueueMiddlewareThatDoesNotWaitForNext(t *testing.T) {
	t.Parallel()
	enginetest.OnEachMeddled(t, func(t *testing.T, b *enginetest.EnqueueBench, m *enginetest.Meddler) {
		sent, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		m.Meddle = func(_ context.Context, pass func() ([]redisconn.Reply, error)) ([]redisconn.Reply, error) {
			close(sent)
			<-goOn
			return pass()
		}
		var kept work.EnqueueFunc
		require.NoError(t, b.Close())
		b.Enqueuer = pooltest.EnqueuerOn(m, b.Namespace, work.WithEnqueueMiddleware(
			func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
				go func() { _, err := next(ctx, entries); ended <- err }()
				<-sent
				kept = next
				return nil
			}))
		_, err := b.Enqueue(t.Context(), "a", 1)
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0}, failed.Unknown)
		assert.ErrorIs(t, err, work.ErrNextMisused)
		assert.ErrorContains(t, err, enginetest.NextUnfinished)
		close(goOn)
		require.NoError(t, pooltest.Receive(t, ended), "who waits for it learns the truth")
		_, err = kept(t.Context(), []work.Entry{{Name: "a"}})
		assert.ErrorIs(t, err, work.ErrNextMisused)
		assert.ErrorContains(t, err, enginetest.NextCalledTwice)
		assert.Len(t, b.Fetch(t, "a"), 1)
	})
}

func TestEnqueueMiddlewareThatCallsNextTooLate(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		var kept work.EnqueueFunc
		b := enginetest.NewEnqueueBench(t, s, s.DSN(), work.WithEnqueueMiddleware(
			func(_ context.Context, _ []work.Entry, next work.EnqueueFunc) error {
				kept = next
				return errClosedToday
			}))
		_, err := b.Enqueue(t.Context(), "a", 1)
		require.ErrorIs(t, err, errClosedToday)
		_, err = kept(t.Context(), []work.Entry{{Name: "a"}})
		assert.ErrorIs(t, err, work.ErrNextMisused)
		assert.ErrorContains(t, err, enginetest.NextTooLate)
		assert.Empty(t, b.Fetch(t, "a"))
	})
}

func TestAPoolsEnqueuerHasItsMiddleware(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		options := k.Options()
		options.EnqueueMiddleware = []work.EnqueueMiddleware{func(ctx context.Context, entries []work.Entry,
			next work.EnqueueFunc) error {
			entries[0].Options = append(entries[0].Options, work.Meta("tenant", "7"))
			_, err := next(ctx, entries)
			return err
		}}
		tenant := make(chan string, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, options).
			Job("n", func(job *work.Job) error { tenant <- job.Meta["tenant"]; return nil }))
		_, err := pool.Enqueuer().Enqueue(k.Ctx(), "n")
		require.NoError(t, err)
		assert.Equal(t, "7", pooltest.Receive(t, tenant))
		k.Drained(pool)
	})
}

func TestNilEnqueueMiddlewareIsRefused(t *testing.T) {
	t.Parallel()
	_, err := work.NewEnqueuer("redis://localhost", work.WithEnqueueMiddleware(nil))
	require.EqualError(t, err, "enqueue middleware 1 is nil: leave it out")
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://localhost",
		EnqueueMiddleware: []work.EnqueueMiddleware{nil}, Logger: pooltest.Silent()}).Job("a", pooltest.Nothing)
	assert.ErrorContains(t, pool.Start(t.Context()), "WorkerOptions.EnqueueMiddleware is nil at index 0: leave it out")
}
