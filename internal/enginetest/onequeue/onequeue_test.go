package onequeue_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestNamesThatShareAQueueRunInOneOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.shares(mail, "a", "b", "c")
		want := k.alternate(60, "a", "b", "b", "c", "a")
		assert.Equal(t, 60, k.Number("LLEN", "queue:mail"), "all of them wait there")
		ran := newRecorder()
		p := k.Start(k.pool(ran, 1, "a", "b", "c"))
		assert.Equal(t, want, ran.ran(t, 60))
		require.NoError(t, p.Drain(k.Ctx()))
		ran.idle(t)
	})
}

// What a worker has no handler for neither runs there nor stands in the way of what it has one for.
func TestAWorkerRunsWhatItHasAHandlerFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.shares(mail, "a", "b")
		k.alternate(40, "a", "b")
		only, other := newRecorder(), newRecorder()
		first := k.Start(k.pool(only, 2, "b"))
		for _, job := range only.ran(t, 20) {
			assert.Equal(t, "b", job[:1])
		}
		require.NoError(t, first.Drain(k.Ctx()), "the others are not what this pool waits for")
		handedOn := needs.HandOn("mail", "a")
		k.Until("all are handed on", func() bool { return k.Number("LLEN", "queue:"+handedOn) == 20 })
		only.idle(t)

		k.Start(k.pool(other, 1, "a"))
		seen := map[string]bool{}
		for _, job := range other.ran(t, 20) {
			assert.False(t, seen[job], "%s has run before", job)
			seen[job] = true
		}
		only.idle(t)
		other.idle(t)
	})
}

// The pool that hears of it last was there before, and hears of it at once.
func TestAWorkerHearsOfWhatIsHandedOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		a, b := newRecorder(), newRecorder()
		k.Start(k.pool(a, 1, "a"))
		k.Start(k.pool(b, 1, "b"))
		k.alternate(30, "a", "b")
		assert.Len(t, a.ran(t, 15), 15)
		assert.Len(t, b.ran(t, 15), 15)
		a.idle(t)
		b.idle(t)
	})
}

func TestOneLimitHoldsForAllNames(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		g := pooltest.NewGauge()
		limited := work.JobOptions{Queue: "mail", Limit: work.Limit{Concurrent: 3}}
		handle := func(int) error { return g.Handle() }
		pool := func(first work.JobOptions, names ...string) *work.WorkerPool {
			p := work.NewWorkerPool(nil, 8, k.Another(pooltest.NewSpy()))
			for n, name := range names {
				if options := first; n == 0 {
					p.JobWithOptions(name, options, handle)
				} else {
					p.JobWithOptions(name, mail, handle)
				}
			}
			return k.Start(p)
		}
		pools := []*work.WorkerPool{pool(limited, "a", "b"), pool(limited, "b"), pool(limited, "a")}
		k.alternate(60, "a", "b")
		g.Began(t, 3)
		for range 20 {
			g.Pass(t, 1)
			g.Began(t, 1)
		}
		assert.Equal(t, 3, k.Number("SCARD", "running:mail"))
		g.Release()
		k.Until("all have run", func() bool { return g.Done.Load() == 60 })
		for _, p := range pools {
			require.NoError(t, p.Drain(k.Ctx()))
		}
		assert.EqualValues(t, 3, g.Most.Load())
		assert.Zero(t, k.Number("SCARD", "running:mail"))
	})
}

// What waited under its own name when this began to share a queue runs as well, and so does what waits in the shared
// queue when it ends.
func TestNothingIsLostWhenNamesBeginOrEndToShare(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		before := k.alternate(10, "a", "b")
		assert.Equal(t, 5, k.Number("LLEN", "queue:a"))
		k.shares(mail, "a", "b")
		shared := k.alternate(10, "a", "b")
		assert.Equal(t, 10, k.Number("LLEN", "queue:mail"), "an enqueuer that knew nothing of it is told")
		k.shares(work.JobOptions{Queue: "post"}, "a")
		moved := k.alternate(2, "a", "b")
		assert.Equal(t, 1, k.Number("LLEN", "queue:post"))
		k.shares(work.JobOptions{}, "a", "b")
		after := k.alternate(10, "a", "b")
		assert.Equal(t, 10, k.Number("LLEN", "queue:a"), "and again when it is over")

		ran := newRecorder()
		p := k.Start(k.poolOf(work.JobOptions{}, ran, 3, "a", "b"))
		want := append(append(append(before, shared...), moved...), after...)
		assert.ElementsMatch(t, want, ran.ran(t, len(want)))
		require.NoError(t, p.Drain(k.Ctx()))
		ran.idle(t)
	})
}

// A pool that runs already follows: it serves the queue that another one has jobs of its names share.
func TestAPoolFollowsWhatAnotherOneDeclares(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newRecorder()
		k.Start(k.poolOf(work.JobOptions{}, ran, 1, "a"))
		k.shares(mail, "a")
		k.Enqueue("a", 7)
		assert.Equal(t, []string{"a 7"}, ran.ran(t, 1))
		assert.Positive(t, k.Number("ZSCORE", "queues", "mail"), "it stood there")
	})
}

func TestAJobThatComesBackStaysInItsQueue(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]error{
		"a retry":   work.RetryIn(50*time.Millisecond, errors.New("not yet")),
		"a snooze":  work.Snooze(50 * time.Millisecond),
		"a release": work.Release(nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				ran, seen := make(chan string, 10), 0
				p := k.Start(work.NewWorkerPool(nil, 1, k.Another(pooltest.NewSpy())).JobWithOptions("a", mail,
					func(job *work.Job) error {
						ran <- job.Name
						if seen++; seen == 1 {
							return outcome
						}
						return nil
					}))
				k.Enqueue("a")
				for range 2 {
					assert.Equal(t, "a", pooltest.Receive(t, ran))
				}
				require.NoError(t, p.Drain(k.Ctx()))
				k.Empty("a", "mail")
				assert.ElementsMatch(t, []string{"a", "mail"}, k.Strings("ZRANGE", "queues", 0, -1))
			})
		})
	}
}

// Whatever stores a job goes by the same map.
func TestWhateverStoresAJobPutsItThere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.shares(mail, "a", "b")
		_, err := k.Enq.EnqueueMany(k.Ctx(), []work.Entry{{Name: "a", Args: []any{0}}, {Name: "b", Args: []any{1}},
			{Name: "a", Args: []any{2}, Options: []work.EnqueueOption{work.Key("k")}},
			{Name: "b", Args: []any{3}, In: 20 * time.Millisecond}})
		require.NoError(t, err)
		first, err := k.Enq.With(work.Unique(work.UniqueOptions{})).Enqueue(k.Ctx(), "a", 4)
		require.NoError(t, err)
		second, err := k.Enq.With(work.Unique(work.UniqueOptions{})).Enqueue(k.Ctx(), "a", 4)
		require.NoError(t, err)
		assert.True(t, second.Duplicate)
		assert.Equal(t, first.ID, second.ID)
		other, err := k.Enq.With(work.Unique(work.UniqueOptions{})).Enqueue(k.Ctx(), "b", 4)
		require.NoError(t, err)
		assert.False(t, other.Duplicate, "a lock is about the name")
		assert.Equal(t, "b", other.Name)
		assert.Zero(t, k.Number("LLEN", "queue:a")+k.Number("LLEN", "queue:b"))
		ran := newRecorder()
		p := k.Start(k.pool(ran, 1, "a", "b"))
		assert.ElementsMatch(t, []string{"a 0", "b 1", "a 2", "b 3", "a 4", "b 4"}, ran.ran(t, 6))
		require.NoError(t, p.Drain(k.Ctx()))
		ran.idle(t)
	})
}

// The jobs of a worker that dies go back to the queue from which they came.
func TestTheJobsOfADeadWorkerGoBackToTheirQueue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, never := make(chan struct{}, 10), make(chan struct{})
		t.Cleanup(func() { close(never) })
		p := work.NewWorkerPool(nil, 2, k.Another(pooltest.NewSpy()))
		for _, name := range []string{"a", "b"} {
			p.JobWithOptions(name, mail, func(int) error { begun <- struct{}{}; <-never; return nil })
		}
		k.Start(p)
		want := k.alternate(6, "a", "b")
		pooltest.Receive(t, begun)
		pooltest.Receive(t, begun)
		ran := newRecorder()
		k.Start(k.pool(ran, 1, "a", "b"))
		rest := ran.ran(t, 4)
		k.Crash(p)
		assert.ElementsMatch(t, want, append(rest, ran.ran(t, 2)...))
		ran.idle(t)
	})
}

func TestAWithdrawnNameIsHandedOn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		first, second := newRecorder(), newRecorder()
		p := k.Start(k.pool(first, 1, "a", "b"))
		require.NoError(t, p.Withdraw(k.Ctx(), "a"))
		k.alternate(10, "a", "b")
		for _, job := range first.ran(t, 5) {
			assert.Equal(t, "b", job[:1])
		}
		k.Start(k.pool(second, 1, "a"))
		assert.Len(t, second.ran(t, 5), 5)
		first.idle(t)
		second.idle(t)
	})
}

func TestQueuesThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		options, other work.JobOptions
		says           string
	}{
		"its own name":    {work.JobOptions{Queue: "x"}, work.JobOptions{}, "the name of the job itself"},
		"that of another": {work.JobOptions{Queue: "y"}, work.JobOptions{}, "which is the name of a job"},
		"a control byte":  {work.JobOptions{Queue: "a\x1fb"}, work.JobOptions{}, "JobOptions.Queue"},
		"keys":            {work.JobOptions{Queue: "q", Ordered: true}, work.JobOptions{}, "PerKey or Ordered"},
		"limits of keys": {work.JobOptions{Queue: "q", PerKey: work.Limit{Concurrent: 1}}, work.JobOptions{},
			"PerKey or Ordered"},
		"other limits": {work.JobOptions{Queue: "q", Limit: work.Limit{Concurrent: 1}},
			work.JobOptions{Queue: "q", Limit: work.Limit{Concurrent: 2}}, "has 1 at once"},
		"other priorities": {work.JobOptions{Queue: "q", Priority: 3}, work.JobOptions{Queue: "q", Priority: 2},
			"JobOptions.Priority"},
		"other quotas": {work.JobOptions{Queue: "q", MaxRunning: 3}, work.JobOptions{Queue: "q", MaxRunning: 2},
			"JobOptions.MaxRunning"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: "redis://localhost:1/0"}).
				JobWithOptions("x", row.options, func() error { return nil }).
				JobWithOptions("y", row.other, func() error { return nil }).Start(t.Context())
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorContains(t, err, row.says)
		})
	}
}
