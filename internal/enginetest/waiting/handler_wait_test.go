package waiting_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// family has parents that enqueue children and wait for them, and counts those that run: neither waiting nor ended.
type family struct {
	*kit
	running, most, done atomic.Int64
	children            int
}

func newFamily(t *testing.T, s redistest.Server, children int) *family {
	f := &family{kit: newKit(t, s), children: children}
	f.Enq = f.Enq.With(work.Retention(time.Hour))
	return f
}

// runs is what each handler does between its waits.
func (f *family) runs() {
	now := f.running.Add(1)
	for before := f.most.Load(); now > before && !f.most.CompareAndSwap(before, now); before = f.most.Load() {
	}
	runtime.Gosched()
	f.running.Add(-1)
}

// parent runs, waits for as many children of a name as the family has, and runs again. Each child returns 1.
func (f *family) parent(of string) func(ctx context.Context, _ int) (int, error) {
	return func(ctx context.Context, _ int) (int, error) {
		f.runs()
		ids := make([]string, f.children)
		for i := range ids {
			receipt, err := f.Enq.Enqueue(ctx, of, i)
			if err != nil {
				return 0, err
			}
			ids[i] = receipt.ID
		}
		results, err := work.WaitAll[int](ctx, f.Enq, ids...)
		f.runs()
		f.done.Add(1)
		sum := 0
		for _, one := range results {
			sum += one
		}
		return sum, err
	}
}

func (f *family) child(int) (int, error) {
	f.runs()
	return 1, nil
}

func TestHandlersThatWaitLeaveTheirProcessors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		title                                   string
		parents, children, processors, prefetch int
	}{
		{"two parents on two processors", 2, 3, 2, 0},
		{"one processor", 3, 3, 1, 0},
		{"the children were fetched with them", 2, 3, 2, 10},
		{"many parents stand before the children", 200, 2, 2, 0},
	} {
		t.Run(row.title, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				f := newFamily(t, s, row.children)
				o := f.Options()
				o.Prefetch = row.prefetch
				receipts := f.EnqueueNumbers("parent", 0, row.parents)
				pool := f.Start(work.NewWorkerPool(nil, row.processors, o).
					Job("parent", f.parent("child")).Job("child", f.child))
				for _, receipt := range receipts {
					sum, err := work.Wait[int](f.LongCtx(), f.Enq, receipt.ID)
					require.NoError(t, err)
					assert.Equal(t, row.children, sum)
				}
				f.Drained(pool)
				assert.LessOrEqual(t, f.most.Load(), int64(row.processors), "no more run at once than may")
				assert.Equal(t, int64(row.parents), f.done.Load(), "each ran once")
				assert.Zero(t, pooltest.Parts(pool).Slots.Away())
				assert.Zero(t, pooltest.Parts(pool).Slots.Busy())
			})
		})
	}
}

// TestATreeOfHandlersThatWait: three levels, more waiting at once than there are processors.
func TestATreeOfHandlersThatWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		f := newFamily(t, s, 3)
		pool := f.Start(work.NewWorkerPool(nil, 2, f.Options()).Job("root", f.parent("branch")).
			Job("branch", f.parent("twig")).Job("twig", f.parent("leaf")).Job("leaf", f.child))
		receipts := f.EnqueueNumbers("root", 0, 3)
		for _, receipt := range receipts {
			sum, err := work.Wait[int](f.LongCtx(), f.Enq, receipt.ID)
			require.NoError(t, err)
			assert.Equal(t, 27, sum)
		}
		f.Drained(pool)
		assert.LessOrEqual(t, f.most.Load(), int64(2))
	})
}

// TestChildrenOfAnotherPool: a parent waits for what its own pool does not serve; others of its pool run meanwhile.
func TestChildrenOfAnotherPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		f := newFamily(t, s, 2)
		f.Start(work.NewWorkerPool(nil, 1, f.Options()).Job("parent", f.parent("child")).Job("other", f.child))
		parents := f.EnqueueNumbers("parent", 0, 5)
		sum, err := work.Wait[int](f.Ctx(), f.Enq, f.Enqueue("other", 1).ID)
		require.NoError(t, err)
		assert.Equal(t, 1, sum)
		f.Start(work.NewWorkerPool(nil, 1, f.Another(pooltest.NewSpy())).Job("child", f.child))
		for _, receipt := range parents {
			sum, err := work.Wait[int](f.Ctx(), f.Enq, receipt.ID)
			require.NoError(t, err)
			assert.Equal(t, 2, sum)
		}
	})
}

// TestEveryWayOfWaitingLeavesTheProcessor: with one processor, none would come back otherwise.
func TestEveryWayOfWaitingLeavesTheProcessor(t *testing.T) {
	t.Parallel()
	type wait func(ctx context.Context, enq *work.Enqueuer, id string) error
	rows := map[string]wait{
		"Wait": func(ctx context.Context, enq *work.Enqueuer, id string) error {
			_, err := work.Wait[int](ctx, enq, id)
			return err
		},
		"WaitAny": func(ctx context.Context, enq *work.Enqueuer, id string) error {
			_, _, err := work.WaitAny[int](ctx, enq, id)
			return err
		},
		"WaitEnd": func(ctx context.Context, enq *work.Enqueuer, id string) error { return enq.WaitEnd(ctx, id) },
		"Completions": func(ctx context.Context, enq *work.Enqueuer, _ string) error {
			_, err := enq.Completions("ends").Next(ctx)
			return err
		},
		"several goroutines": func(ctx context.Context, enq *work.Enqueuer, id string) error {
			errs := make(chan error, 5)
			for range cap(errs) {
				go func() { errs <- enq.WaitEnd(ctx, id) }()
			}
			var all error
			for range cap(errs) {
				all = errors.Join(all, <-errs)
			}
			return all
		},
		"a wait within a wait": func(ctx context.Context, enq *work.Enqueuer, id string) error {
			_, err := work.Wait[waiter](context.WithValue(ctx, waiter{}, enq), enq, id)
			return err
		},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for title, wait := range rows {
			t.Run(title, func(t *testing.T) {
				k := newKit(t, s)
				ended := make(chan error, 1)
				enq := k.Enq.With(work.Completion("ends"), work.Retention(time.Hour))
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					Job("parent", func(ctx context.Context) error {
						receipt, err := enq.Enqueue(ctx, "child")
						if err == nil {
							err = wait(ctx, k.Enq, receipt.ID)
						}
						ended <- err
						return err
					}).
					Job("child", func() (int, error) { return 1, nil }))
				k.Enqueue("parent")
				require.NoError(t, pooltest.Receive(t, ended))
				k.Drained(pool)
				assert.Zero(t, pooltest.Parts(pool).Slots.Away())
			})
		}
	})
}

// waiter is a result that takes a moment to read.
type waiter struct{}

func (*waiter) UnmarshalJSON([]byte) error { runtime.Gosched(); return nil }

// TestARunThatEndsWhileItWaitsHasItsProcessorBack: whatever its handler does with the wait, or leaves behind, the jobs
// after it run one at a time.
func TestARunThatEndsWhileItWaitsHasItsProcessorBack(t *testing.T) {
	t.Parallel()
	rows := map[string]func(ctx context.Context, wait func(ctx context.Context) error) error{
		"its ctx ends": func(ctx context.Context, wait func(context.Context) error) error {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(errors.New("enough"))
			return wait(ctx)
		},
		"it leaves a goroutine behind": func(ctx context.Context, wait func(context.Context) error) error {
			go func() { _ = wait(context.WithoutCancel(ctx)) }()
			return errors.New("gone")
		},
		"it panics while a goroutine waits": func(ctx context.Context, wait func(context.Context) error) error {
			go func() { _ = wait(ctx) }()
			panic("boom")
		},
		"it ends its goroutine": func(ctx context.Context, wait func(context.Context) error) error {
			go func() { _ = wait(ctx) }()
			runtime.Goexit()
			return nil
		},
		"its timeout": func(ctx context.Context, wait func(context.Context) error) error {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			return wait(ctx)
		},
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for title, handler := range rows {
			t.Run(title, func(t *testing.T) {
				k := newKit(t, s)
				never := k.Later("never", time.Hour).ID
				gauge := pooltest.NewGauge()
				waits := func(ctx context.Context) error { return k.Enq.WaitEnd(ctx, never) }
				pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
					JobWithOptions("odd", work.JobOptions{Retries: -1},
						func(ctx context.Context) error { return handler(ctx, waits) }).
					Job("plain", gauge.Handle))
				id := k.Enqueue("odd").ID
				pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](id))
				k.Enqueue("plain")
				k.Enqueue("plain")
				gauge.Began(t, 1)
				k.Cancel(never)
				gauge.Release()
				k.Drained(pool)
				assert.Equal(t, int64(1), gauge.Most.Load())
				assert.Zero(t, pooltest.Parts(pool).Slots.Away())
			})
		}
	})
}

// TestAWaitComesBackBeforeJobsThatWait: the parent goes on as soon as the job ends that runs in its place, although
// others were fetched long before.
func TestAWaitComesBackBeforeJobsThatWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var mu sync.Mutex
		var order []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, what)
		}
		awaited := k.Later("awaited", time.Hour).ID
		door, began := pooltest.NewDoor(), make(chan struct{})
		o := k.Options()
		o.Prefetch = 20
		pool := k.Start(work.NewWorkerPool(nil, 1, o).
			Job("parent", func(ctx context.Context) error {
				close(began)
				err := k.Enq.WaitEnd(ctx, awaited)
				note("parent")
				if !errors.Is(err, work.ErrCancelled) {
					return fmt.Errorf("unexpected: %w", err)
				}
				return nil
			}).
			Job("first", door.Pass).
			Job("plain", func(int) error { note("plain"); return nil }))
		k.Enqueue("parent")
		pooltest.Receive(t, began)
		k.Enqueue("first")
		pooltest.Receive(t, door.Began)
		k.EnqueueNumbers("plain", 0, 10)
		slots := pooltest.Parts(pool).Slots
		k.Until("they were fetched", func() bool { return slots.Queued() == 10 })
		k.Cancel(awaited)
		k.Until("the parent wants its processor", func() bool { return slots.Away() == 0 })
		runtime.Gosched()
		door.Leave <- ""
		k.Drained(pool)
		assert.Equal(t, "parent", order[0])
		assert.Len(t, order, 11)
	})
}
