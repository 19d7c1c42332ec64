package pools_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// A line is a backlog of short jobs with long ones behind them: by the time that these come jobs are fetched ahead.
const (
	shortJobs, longJobs = 600, 40
	firstLong           = 1_000_000
)

// aheadKit is a pool of two processors that works lines off.
type aheadKit struct {
	*kit
	pool     *work.WorkerPool
	began    chan string // ids of long jobs
	goOn     chan struct{}
	released atomic.Int64
	sent     *pooltest.Tampered
	refuse   atomic.Bool // Redis is not told that jobs are claimed ahead
}

func newAheadKit(t *testing.T, s redistest.Server, prefetch int) *aheadKit {
	k := &aheadKit{kit: newKit(t, s), began: make(chan string, longJobs), goOn: make(chan struct{})}
	options := k.Options()
	options.Prefetch, options.ShutdownTimeout = prefetch, -1
	k.pool = work.NewWorkerPool(nil, 2, options).Job("n", func(ctx context.Context, job *work.Job, i int) error {
		if i < firstLong {
			return nil
		}
		k.began <- job.ID
		select {
		case <-k.goOn:
			return nil
		case <-ctx.Done():
			return work.Release(ctx.Err())
		}
	})
	k.sent = k.TamperWith(k.pool, &pooltest.Tampered{Tamper: func(
		ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
	) ([]redisconn.Reply, error) {
		name := pooltest.NameOf(calls[0])
		if name == "note_prefetch" && k.refuse.Load() {
			return nil, pooltest.ErrLuck
		}
		replies, err := pass(ctx, calls...)
		if name == "release" && err == nil {
			// a survey may find what ends just then, and give back what is gone
			if gone, _ := replies[0].Value.([]any); len(gone) == 0 {
				k.released.Add(1)
			}
		}
		return replies, err
	}})
	return k
}

// line enqueues one and waits until both processors have a long job. It returns the ids of the long ones.
func (k *aheadKit) line() []string {
	k.EnqueueNumbers("n", 0, shortJobs)
	ids := pooltest.IdsOf(k.EnqueueNumbers("n", firstLong, firstLong+longJobs))
	pooltest.Receive(k.T, k.began)
	pooltest.Receive(k.T, k.began)
	return ids
}

// ends lets the rest of a line end.
func (k *aheadKit) ends() {
	for range longJobs {
		k.goOn <- struct{}{}
	}
	for range longJobs - 2 {
		pooltest.Receive(k.T, k.began)
	}
	k.Drained(k.pool)
}

// ahead works lines off until one is met with jobs fetched ahead, which stay so, and returns the ids of its long jobs.
func (k *aheadKit) ahead() []string {
	for {
		ids := k.line()
		if pooltest.Parts(k.pool).Slots.Queued() > 0 {
			k.Until("the short ones are settled", func() bool { return k.Number("HLEN", "claimed") == k.held() })
			return ids
		}
		k.ends()
	}
}

// held is how many long jobs are given to the two processors.
func (k *aheadKit) held() int { return 2 + pooltest.Parts(k.pool).Slots.Queued() }

// TestShortJobsAreFetchedAhead, and who dies with such a job that has not begun is no crash of it, nor of any other.
func TestShortJobsAreFetchedAhead(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAheadKit(t, s, 0)
		pooltest.Times(k.pool).Ahead = time.Hour
		k.Start(k.pool)
		id := pooltest.WorkerID(k.pool)
		ids := k.ahead()
		assert.LessOrEqual(t, k.held(), 2+2*12, "so many for each processor")
		assert.Equal(t, "24", k.Text("HGET", "worker:"+id+":info", "prefetch"), "Redis was told before")
		k.Crash(k.pool)
		k.Start(work.NewWorkerPool(nil, 1, k.Another(k.Spy)).Job("other", func() error { return nil }))
		pooltest.Await(t, k.Spy, func(e event.WorkerReaped) bool { return e.Worker == id })
		k.Until("all are back", func() bool { return k.Number("HLEN", "claimed") == 0 })
		assert.Equal(t, ids, k.InLine("n"), "in their order")
		for _, id := range ids {
			assert.Empty(t, k.DiedWith(id))
		}
	})
}

// TestWhatNoProcessorComesToGoesBack, in order and before the rest, where jobs turn out to be long.
func TestWhatNoProcessorComesToGoesBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAheadKit(t, s, 0)
		k.Start(k.pool)
		for {
			before := k.released.Load()
			ids := k.line()
			k.Until("no more are held than run", func() bool { return k.Number("HLEN", "claimed") == 2 })
			assert.Equal(t, ids[2:], k.InLine("n"))
			k.ends()
			if k.released.Load() > before {
				return
			}
		}
	})
}

// TestAFixedPrefetchWaits for processors, as long as it takes.
func TestAFixedPrefetchWaits(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAheadKit(t, s, 10)
		pooltest.Times(k.pool).Ahead = time.Millisecond
		k.Start(k.pool)
		k.line()
		k.Until("all are held", func() bool { return k.Number("HLEN", "claimed") == 12 })
		k.sent.UntilSent(t, "beat", 2)
		assert.Equal(t, 10, pooltest.Parts(k.pool).Slots.Queued())
		assert.Zero(t, k.released.Load())
		k.ends()
	})
}

// TestNothingIsFetchedAhead that is not wanted, or of which Redis cannot be told.
func TestNothingIsFetchedAhead(t *testing.T) {
	t.Parallel()
	for name, prefetch := range map[string]int{"by the option": work.NoPrefetch, "since Redis knows nothing of it": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newAheadKit(t, s, prefetch)
				k.refuse.Store(true)
				pooltest.Times(k.pool).Ahead = time.Hour
				k.Start(k.pool)
				for range 3 {
					k.line()
					assert.Equal(t, 2, k.held())
					k.ends()
				}
				asked := slices.MaxFunc(pooltest.Seen[event.JobsFetched](k.Spy),
					func(a, b event.JobsFetched) int { return a.Asked - b.Asked })
				assert.Equal(t, 2, asked.Asked)
				require.NoError(t, k.Stop(k.pool))
			})
		})
	}
}
