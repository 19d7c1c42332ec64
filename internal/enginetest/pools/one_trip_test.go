package pools_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// trips are the pipelines of a pool in which outcomes or fetches for jobs go.
type trips struct {
	mu            sync.Mutex
	all, both     int
	fetchIsBefore bool // an outcome has gone behind a fetch
}

// wanted is how many jobs the fetch among the calls asks for; 0 where there is none.
func wanted(calls []redisconn.Call) int {
	for _, call := range calls {
		if pooltest.NameOf(call) == "fetch" {
			return call.Args[2].(int)
		}
	}
	return 0
}

func (s *trips) note(calls []redisconn.Call) (both bool) {
	settles, fetches := pooltest.Settles(calls), wanted(calls) > 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if settles || fetches {
		s.all++
	}
	if both = settles && fetches; both {
		s.both++
	}
	last := len(calls) - 1
	s.fetchIsBefore = s.fetchIsBefore || slices.ContainsFunc(calls[:last],
		func(call redisconn.Call) bool { return pooltest.NameOf(call) == "fetch" })
	return both
}

// TestOutcomesAndTheNextJobsGoInOneRoundTrip counts what a pool sends that works off what waits: a fetch asks for no
// more than there are processors for, also if it has waited for outcomes to go along with.
func TestOutcomesAndTheNextJobsGoInOneRoundTrip(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ processors, jobs int }{"one": {1, 100}, "several": {3, 300}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				options, ran, sent := k.Options(), pooltest.NewTally(), &trips{}
				options.Prefetch = work.NoPrefetch
				var running, tooMany atomic.Int64
				pool := work.NewWorkerPool(nil, c.processors, options).Job("n", func(job *work.Job, n int) error {
					running.Add(1)
					defer running.Add(-1)
					return ran.Handle(job, n)
				})
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					if int(running.Load())+wanted(calls) > c.processors {
						tooMany.Add(1)
					}
					sent.note(calls)
					return pass(ctx, calls...)
				}})
				receipts := k.EnqueueNumbers("n", 0, c.jobs)
				k.Start(pool)
				k.Drained(pool)
				ran.Once(t, receipts)
				assert.Zero(t, tooMany.Load(), "fetches that asked for more than there was room for")
				assert.False(t, sent.fetchIsBefore, "what has ended comes first: what it frees is fetched at once")
				if c.processors == 1 {
					assert.Greater(t, sent.both, c.jobs/2)
					assert.Less(t, sent.all, c.jobs*3/2, "by themselves they would be two for each job")
				}
			})
		})
	}
}

// TestNothingIsLostWithARoundTripOfBoth breaks one trip off at each place: what has ended runs no second time, and what
// the fetch has claimed is found and given back.
func TestNothingIsLostWithARoundTripOfBoth(t *testing.T) {
	t.Parallel()
	for name, through := range map[string]func(context.Context, pooltest.Send, []redisconn.Call) error{
		"before it": func(context.Context, pooltest.Send, []redisconn.Call) error { return nil },
		"between the two": func(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) error {
			_, err := pass(ctx, calls[:len(calls)-1]...)
			return err
		},
		"after it": func(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) error {
			_, err := pass(ctx, calls...)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				options, ran, sent := k.Options(), pooltest.NewTally(), &trips{}
				options.Prefetch = work.NoPrefetch
				pool := work.NewWorkerPool(nil, 1, options).Job("n", ran.Handle)
				var lost atomic.Bool
				k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
					ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
				) ([]redisconn.Reply, error) {
					if !sent.note(calls) || lost.Swap(true) {
						return pass(ctx, calls...)
					}
					if err := through(ctx, pass, calls); err != nil {
						return nil, err
					}
					return nil, pooltest.ErrLuck
				}})
				receipts := k.EnqueueNumbers("n", 0, 100)
				k.Start(pool)
				k.Drained(pool)
				assert.True(t, lost.Load())
				ran.Once(t, receipts)
				k.Empty("n")
				assert.Zero(t, k.Number("HLEN", "claimed"))
				assert.Zero(t, k.Number("HLEN", "crashes"), "nothing has died")
			})
		})
	}
}
