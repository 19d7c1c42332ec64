package flow_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

type passedKey struct{}

// passing is a middleware that notes what it gets, and gives each job a number of its own.
type passing struct {
	mu      sync.Mutex
	seen    []*flow.Storing
	values  []any // that an earlier part has left in the ctx
	numbers int
	refuse  error
}

func (p *passing) pass(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
	p.mu.Lock()
	of := flow.StoringFromContext(ctx)
	p.seen, p.values = append(p.seen, of), append(p.values, ctx.Value(passedKey{}))
	for i := range entries {
		p.numbers++
		entries[i].Options = append(entries[i].Options, work.Meta("number", fmt.Sprint(p.numbers)))
	}
	refuse, first := p.refuse, len(p.seen)
	p.mu.Unlock()
	if refuse != nil {
		return refuse
	}
	receipts, err := next(context.WithValue(ctx, passedKey{}, first), entries)
	if err == nil && len(receipts) != len(entries) {
		return errors.New("another number of receipts")
	}
	return err
}

func (p *passing) enqueuer(k *kit) *work.Enqueuer {
	enq, err := work.NewEnqueuer(k.Server.DSN(), work.Namespace(k.Namespace), work.WithEnqueueMiddleware(p.pass))
	require.NoError(k.T, err)
	k.T.Cleanup(func() { _ = enq.Close() })
	return enq
}

func TestAFlowGoesThroughTheMiddlewareAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, p := newKit(t, s), &passing{refuse: errors.New("not now")}
		enq := p.enqueuer(k)
		numbers := make(chan string, 10)
		number := func(job *work.Job) error {
			numbers <- job.ID + " " + job.Meta["number"]
			return nil
		}
		f := flow.New("f").OnDone("a")
		first, second := f.Job("a").Named("first"), f.Job("a").Named("second")
		f.Job("b").After(first, second)
		_, err := flow.Enqueue(k.Ctx(), enq, f)
		require.ErrorIs(t, err, p.refuse)
		_, err = flow.Read(k.Ctx(), k.Enq, "f")
		require.ErrorIs(t, err, flow.ErrNoFlow)

		p.refuse = nil
		for _, duplicate := range []bool{false, true} {
			receipt, err := flow.Enqueue(k.Ctx(), enq, f)
			require.NoError(t, err)
			assert.Equal(t, flow.Receipt{ID: "f", Jobs: 3, Duplicate: duplicate}, receipt)
		}
		assert.Equal(t, &flow.Storing{Flow: "f", Members: []string{"first", "second", "b", "@done"},
			After: [][]int{nil, nil, {0, 1}, nil}}, p.seen[1])
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", number).Job("b", number))
		k.ended("f")
		k.Drained(pool)
		ran := []string{pooltest.Receive(t, numbers), pooltest.Receive(t, numbers), pooltest.Receive(t, numbers),
			pooltest.Receive(t, numbers)}
		assert.Equal(t, []string{"f/first 5", "f/second 6", "f/b 7", "f/@done 8"}, ran)
	})
}

// A store that was cut off is completed by the same flow, whatever the middleware gives the jobs.
func TestABatchGoesThroughTheMiddlewareInParts(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, p := newKit(t, s), &passing{}
		enq := p.enqueuer(k)
		entries := func(last work.Entry) func(yield func(work.Entry) bool) {
			return func(yield func(work.Entry) bool) {
				for n := range 1200 {
					if !yield(work.Entry{Name: "a", Args: []any{n}}) {
						return
					}
				}
				yield(last)
			}
		}
		_, err := flow.Batch(k.Ctx(), enq, "f", entries(work.Entry{}), flow.OnDeath("a"))
		require.Error(t, err, "it is cut off")
		receipt, err := flow.Batch(k.Ctx(), enq, "f", entries(work.Entry{Name: "a"}), flow.OnDeath("a"))
		require.NoError(t, err)
		assert.Equal(t, flow.Receipt{ID: "f", Jobs: 1201}, receipt)
		var names []string
		for _, of := range p.seen {
			assert.Nil(t, of.After)
			names = append(names, of.Members[0])
		}
		assert.Equal(t, []string{"@dead", "500", "@dead", "500", "1000"}, names)
		assert.Equal(t, []any{nil, 1, nil, 3, 3}, p.values, "the later parts have what the first was given")
	})
}

func TestWhatIsAddedGoesThroughTheMiddleware(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, p := newKit(t, s), &passing{}
		options := k.Options()
		options.EnqueueMiddleware = []work.EnqueueMiddleware{p.pass}
		numbers := make(chan string, 1)
		pool := k.Start(work.NewWorkerPool(nil, 1, options).
			Job("adds", func(ctx context.Context, job *work.Job) error {
				return flow.Add(ctx, job, "more", work.Entry{Name: "a"})
			}).
			Job("a", func(job *work.Job) error {
				numbers <- job.ID + " " + job.Meta["number"]
				return nil
			}))
		f := flow.New("f")
		f.Job("adds")
		k.stored(f)
		assert.Equal(t, "f/more 1", pooltest.Receive(t, numbers))
		k.Drained(pool)
		assert.Equal(t, []*flow.Storing{{Flow: "f", Members: []string{"more"}}}, p.seen)
	})
}

// What runs at the end has no line and no time, also where that comes of a middleware.
func TestAMiddlewareGivesTheLastJobsNoTerms(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, entry := range map[string]work.Entry{
			"a key": {Options: []work.EnqueueOption{work.Key("k")}}, "a time": {In: time.Hour},
		} {
			t.Run(name, func(t *testing.T) {
				k := newKit(t, s)
				gives := func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
					for i := range entries {
						entries[i].In, entries[i].Options = entry.In, entry.Options
					}
					_, err := next(ctx, entries)
					return err
				}
				enq, err := work.NewEnqueuer(k.Server.DSN(), work.Namespace(k.Namespace),
					work.WithEnqueueMiddleware(gives))
				require.NoError(t, err)
				defer enq.Close()
				const refusal = `job "ok" at the end of flow "f" is given a time, a key, or Unique`
				f := flow.New("f").OnDone("ok")
				f.Job("ok")
				_, err = flow.Enqueue(k.Ctx(), enq, f)
				require.ErrorContains(t, err, refusal)
				_, err = flow.Batch(k.Ctx(), enq, "f", numbers(1), flow.OnDone("ok"))
				require.ErrorContains(t, err, refusal)
				_, err = flow.Batch(k.Ctx(), enq, "f", numbers(1))
				require.NoError(t, err, "members may have them")
			})
		}
	})
}
